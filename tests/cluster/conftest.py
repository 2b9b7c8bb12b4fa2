"""A real Dask on loopback: a scheduler, and workers in processes of their own, which tests may kill."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import work

_QUIET = {
    "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",  # 2 % of a core for each idle worker
}
_START_S = 60


@dataclass
class Cluster:
    """A cluster that `dask scheduler` and `dask worker` start; it ends with everything below it."""

    folder: Path
    words: Sequence[str] = ()  # for both, such as certificates
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None

    def start(self, *words):
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *words
        )
        self.address = self._wait_for(self.scheduler, rb"Scheduler at:\s+(\S+)").decode()

    def worker(self, name, *words, environment=None, nanny=False, threads=1, gpus=0):
        """Does not wait until it is there. Its folder is its own, as on a machine of its own."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        resources = ["--resources", f"GPU={gpus}"] if gpus else []
        return self._start(
            "worker", self.address, "--name", name, "--nthreads", str(threads), *resources, "--no-dashboard",
            "--nanny" if nanny else "--no-nanny", "--local-directory", str(folder), "--memory-limit", "0", *words,
            environment=environment, folder=folder,
        )  # fmt: skip

    def stop(self):
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()

    def log(self, process):
        return (self.folder / f"{self.processes.index(process)}.log").read_bytes()

    def _start(self, what, *words, environment=None, folder=None):
        with open(self.folder / f"{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", what, *words, *self.words],
                stdout=log, stderr=log, cwd=folder or self.folder, start_new_session=True,
                env={**os.environ, **_QUIET, **self.environment, **(environment or {})},
            )  # fmt: skip
        self.processes.append(process)
        return process

    def _wait_for(self, process, pattern):
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and process.poll() is None:
            if found := re.search(pattern, self.log(process)):
                return found[1]
            time.sleep(0.02)
        raise AssertionError(self.log(process).decode())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler without workers, for the tests of one file."""
    functions = {"PYTHONPATH": work.PYTHONPATH}  # `work`, which the scheduler unpacks too
    made = Cluster(tmp_path_factory.mktemp("cluster"), environment=functions)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def own_cluster(tmp_path):
    """Not started, nothing in its environment, for one test."""
    made = Cluster(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def two_clusters(tmp_path):
    """Started, without workers."""
    made = Cluster(tmp_path / "first"), Cluster(tmp_path / "second")
    for cluster in made:
        cluster.folder.mkdir()
        cluster.start()
    yield made
    for cluster in made:
        cluster.stop()
