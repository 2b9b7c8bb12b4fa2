"""For `dask worker --preload`: a worker that is killed when it has a certain report in hand, as by a lack of memory."""

import os
import signal

from profiler.store.ingest import worker as reading

_read = reading._read  # private: the worker must die with this very report in hand


def _read_or_die(task, sandbox):
    if "poison" in task.request.shown:
        os.kill(os.getpid(), signal.SIGKILL)
    return _read(task, sandbox)


reading._read = _read_or_die  # private: as above
