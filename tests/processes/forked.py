"""Python processes that have their imports behind them: each is forked from one that has imported what most of them need.

`Popen` and `run` take what `subprocess`'s do. The process is a child of the one that starts it and has its own arguments,
environment, folder, streams and session; only /proc shows another command line. Where an interpreter would start otherwise for
what it was asked, an ordinary process is started.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Mapping, Sequence
from functools import cache
from glob import glob
from typing import Any, NamedTuple

# What takes most of the time of most processes.
_IMPORTED = (
    "dask.cli", "distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "pandas", "pyarrow.parquet",
    "mcp.server.lowlevel", "mcp.server.stdio", "rich.console", "rich.table",
    "profiler.cli", "profiler.commands.reading.mcp", "profiler.commands.measuring.collect", "profiler.commands.measuring.tune",
    "profiler.commands.reading.report", "profiler.commands.storing.ingest", "profiler.commands.storing.worker",
    "profiler.measure.devices.on_cluster", "profiler.store.ingest.on_workers",
)  # fmt: skip
# What pytest has to be told there: it complains that it cannot rewrite the assertions of plugins that are imported already.
PYTEST = ("-m", "pytest", "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
_SUBREAPER = 36  # Linux's PR_SET_CHILD_SUBREAPER
_READ_AT_START = ("LANG", "LC_", "LD_", "PYTHON")  # variables that the loader and an interpreter read
_SET_LATER = (
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE",
)  # of these, what `_become` does again
_LEFT_BEHIND = (
    "PYTHONHASHSEED",
)  # a nanny of Dask sets it in the process that starts it, and no test needs it


class Popen(subprocess.Popen[Any]):
    def _execute_child(self, *parts: Any) -> None:
        words, executable, preexec, _, pass_fds, cwd, env, _, _, shell = parts[:10]
        *pipes, _, gid, gids, uid, umask, leads, group = parts[10:]
        environment = dict(os.environ if env is None else env)
        plain = (executable, preexec, pass_fds, shell) == (None, None, (), False)
        ours = (gid, gids, uid, umask, group) == (None, None, None, -1, -1)
        if not (plain and ours and _is_forkable(words, environment)):
            super()._execute_child(*parts)  # private: all of `subprocess` but the start is wanted as it is
            return
        job = _Job([os.fspath(word) for word in words[1:]], os.path.abspath(cwd or "."), environment, leads)
        streams = (pipes[0], pipes[3], pipes[5])
        self.pid = _origin().fork(job, [default if fd == -1 else fd for default, fd in enumerate(streams)])
        self._child_created = True
        self._close_pipe_fds(*pipes)


def run(
    words: Sequence[Any], *, input: Any = None, timeout: float | None = None, check: bool = False,
    capture_output: bool = False, **options: Any,
) -> subprocess.CompletedProcess[Any]:  # fmt: skip
    if capture_output:
        options.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Popen(words, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


class _Job(NamedTuple):
    words: list[str]  # after the interpreter
    folder: str
    environment: dict[str, str]
    leads: bool  # a session of its own


def _is_forkable(words: Any, environment: Mapping[str, str]) -> bool:
    if isinstance(words, str) or len(words) < 2 or words[0] != sys.executable:
        return False
    first = os.fspath(words[1])
    if os.geteuid() != os.getuid() or (first.startswith("-") and first not in ("-c", "-m")):
        return False
    started = _origin().environment
    read = {name for name in environment.keys() | started.keys() if name.startswith(_READ_AT_START)}
    return all(
        environment.get(name) == started.get(name) for name in read.difference(_SET_LATER, _LEFT_BEHIND)
    )


class _Origin:
    """The process that others are forked from."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [sys.executable, __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment
        )
        theirs.close()

    def fork(self, job: _Job, streams: list[int]) -> int:
        """Returns the process's id. Its parent has ended at once, so that it became a child of this process."""
        with self._lock, tempfile.TemporaryFile() as request:
            request.write(json.dumps(job).encode("utf-8", "surrogateescape"))
            request.seek(0)
            _adopt(True)
            try:
                socket.send_fds(self._socket, [b"?"], [request.fileno(), *streams])
                return int(self._socket.recv(32))
            finally:
                _adopt(False)

    def end(self) -> None:
        self._socket.close()
        self._process.wait()


@cache
def _origin() -> _Origin:
    made = _Origin()
    atexit.register(made.end)
    return made


def _adopt(orphans: bool) -> None:
    ctypes.CDLL(None).prctl(_SUBREAPER, int(orphans), 0, 0, 0)


# In the process that others are forked from


def _serve(asked: socket.socket) -> _Job:
    """Returns in each process that was forked what it is to do."""
    while True:
        message, descriptors, *_ = socket.recv_fds(asked, 1, 64)
        if not message:
            os._exit(0)
        heard, says = os.pipe()
        between = os.fork()
        if between == 0:
            between = os.getpid()
            child = os.fork()
            if child == 0:
                while os.getppid() == between:
                    time.sleep(0.0005)
                with os.fdopen(descriptors[0], "rb", closefd=False) as request:
                    job = _Job(*json.loads(request.read().decode("utf-8", "surrogateescape")))
                _keep(descriptors[1:])
                return job
            os.write(says, str(child).encode())
            os._exit(0)
        os.close(says)
        os.waitpid(between, 0)
        asked.sendall(os.read(heard, 32))
        for descriptor in (heard, *descriptors):
            os.close(descriptor)


def _keep(streams: Sequence[int]) -> None:
    """Leaves the three streams open, under their usual numbers, and nothing else."""
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 3) for descriptor in streams]
    for number, descriptor in enumerate(moved):
        os.dup2(descriptor, number)
    os.closerange(3, 1 << 16)


def _become(job: _Job) -> None:
    """Sets what an interpreter sets when it starts."""
    if job.leads:
        os.setsid()
    os.chdir(job.folder)
    known_places = os.environ.get("LD_LIBRARY_PATH", "")
    os.environ.clear()
    os.environ.update(job.environment)
    tempfile.tempdir = None
    sys.dont_write_bytecode = bool(job.environment.get("PYTHONDONTWRITEBYTECODE"))
    _open_streams()
    sys.path[1:1] = [place for place in job.environment.get("PYTHONPATH", "").split(":") if place]
    if (places := job.environment.get("LD_LIBRARY_PATH", "")) != known_places:
        # The loader has read this variable; it finds a library by its name where one of that name is open.
        for library in (one for place in places.split(":") for one in glob(f"{place}/*.so*")):
            ctypes.CDLL(library)
    importlib.invalidate_caches()
    sys.modules["dask.config"].refresh()
    gc.enable()


def _open_streams() -> None:
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)
        by_line = 1 if name == "stderr" or os.isatty(number) else -1
        new = open(  # noqa: SIM115 - it stays open
            number, mode, buffering=by_line, encoding=old.encoding, errors=old.errors, closefd=False
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _main(words: list[str]) -> None:
    first, *rest = words
    sys.path[0] = {"-c": "", "-m": os.getcwd()}.get(first, os.path.dirname(os.path.abspath(first)))
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    elif first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    gc.disable()
    for _name in _IMPORTED:
        importlib.import_module(_name)
    gc.freeze()
    _job = _serve(socket.socket(fileno=int(sys.argv[1])))
    _become(_job)
    try:
        _main(_job.words)
        _code = 0
    except SystemExit as _end:
        if not isinstance(_end.code, int | None):
            raise
        _code = _end.code or 0
    # The interpreter's own end takes apart all that is imported, which takes longer than the fork.
    threading._shutdown()  # private: waits for the threads, as the interpreter does
    atexit._run_exitfuncs()  # private: the interpreter calls these next
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_code & 0xFF)
