"""For `dask worker --preload`: a worker whose temporary folder is gone, so that it can read no report."""

import tempfile

tempfile.tempdir = "/nowhere"
