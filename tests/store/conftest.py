"""Fixtures of the store's own tests."""

import logging
import os
import tempfile
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

_NOBODY = 65534


@pytest.fixture(autouse=True)
def about_reading(every_report_is_read):
    """All tests of the store are."""


@pytest.fixture
def open_folder():
    """A folder that every user may enter, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


@pytest.fixture
def as_nobody():
    """`with as_nobody():` runs without the rights of root, who may read everything."""

    @contextmanager
    def drop():
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(_NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    return drop


@pytest.fixture(scope="session")
def s3():
    """`s3()`: the URL of a folder in a fresh bucket of a real S3 server on this machine."""
    import moto.backends
    from moto.server import ThreadedMotoServer
    from s3fs import S3FileSystem

    services = list(moto.backends.list_of_moto_modules())
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    buckets = count()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        # It looks for its services in its folder at each request, and writes a line: a third of what the server does.
        patch.setattr(moto.backends, "list_of_moto_modules", lambda: services)
        patch.setattr(logging.getLogger("werkzeug"), "disabled", True)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "prof")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-prof")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        S3FileSystem.clear_instance_cache()

        def fresh():
            bucket = f"bucket-{next(buckets)}"
            S3FileSystem(use_listings_cache=False).mkdir(bucket)
            return f"s3://{bucket}/runs"

        yield fresh
        S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture(autouse=True, scope="session")
def state_at_home(tmp_path_factory):
    """Keeps what is under way for runs at a URL in a folder of this test session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
