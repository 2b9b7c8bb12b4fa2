"""Python processes that have their imports behind them: each is forked from one that has imported what most of them need.

`Popen` and `run` take what `subprocess`'s do. The process is a child of the one that starts it and has its own arguments,
environment, folder, streams and session; only /proc shows another command line. Where an interpreter would start otherwise for
what it was asked, an ordinary process is started.

The processes that `multiprocessing` spawns in them are forked too: readers of reports, and the workers that a nanny of Dask starts.
In a process of the tests, `spawned()` says so. /proc shows `spawn_main` as their name. So are the processes in which prof measures
functions.
"""

import atexit
import ctypes
import errno
import fcntl
import gc
import importlib
import json
import os
import platform
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from contextlib import contextmanager
from functools import partial
from glob import glob
from itertools import pairwise
from multiprocessing import util
from pathlib import Path
from typing import Any, NamedTuple

import code_once

# What takes most of the time of most processes.
_IMPORTED = (
    "dask.cli", "distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "pandas", "pyarrow.parquet",
    "mcp.server.lowlevel", "mcp.server.stdio", "rich.console", "rich.table",
    "profiler.cli", "profiler.commands.reading.mcp", "profiler.commands.measuring.collect", "profiler.commands.measuring.tune",
    "profiler.commands.reading.report", "profiler.commands.storing.ingest", "profiler.commands.storing.worker",
    "profiler.measuring.devices.on_cluster", "profiler.store.ingest.on_workers",
    "profiler.commands.reading.show", "profiler.present.render.terminal", "profiler.python.measuring",
    "pyarrow.acero", "pyarrow.dataset",
    "profiler.measuring.functions.arrays", "profiler.measuring.functions.measure", "profiler.measuring.functions.verify",
    "profiler.store.reports.extract", "profiler.store.reports.contained_reader",
)  # fmt: skip
# Whoever is asked for one of these may spawn processes. It is forked together with an origin of its own, which takes 7 ms.
_SPAWNING = {
    "check", "collect", "compare", "ingest", "mcp", "notebook", "report", "sass", "show", "tune", "worker",
}  # fmt: skip
# What pytest has to be told there: it complains that it cannot rewrite the assertions of plugins that are imported already.
PYTEST = ("-m", "pytest", "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
_SET_NAME = 15  # Linux's PR_SET_NAME
_CLONE, _CLONE_PARENT = {"x86_64": 56, "aarch64": 220}, 0x8000  # its call by architecture, and a flag
_COLLAPSE, _LARGE_PAGE = (
    25,
    2 << 20,
)  # Linux's MADV_COLLAPSE, and the bytes of such a page on either architecture
_SPAWNED = b"spawn_main"
_READ_AT_START = ("LANG", "LC_", "LD_", "PYTHON")  # variables that the loader and an interpreter read
# Of these, what `_become` does again or prof reads by itself, and what a nanny of Dask sets in the process that starts it and no test needs.
_SET_LATER = {"LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHON_CPU_COUNT"}
_LEFT_BEHIND = {"PYTHONHASHSEED"}
# So the libraries that are imported start no thread of their own.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
_MAY_BE_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)  # which is inherited; others are not

_GARBAGE = 70_000  # as in conftest.py: with Python's own threshold, 4 % of the time of these processes goes into looking for it
_MEASURES_FUNCTIONS = ("-m", "profiler.measuring.functions.child")

UNFORKED = {"PROF_TESTS_UNFORKED": "1"}  # the environment of a process that spawns others as ever
MEASURES = {"PROF_TESTS_MEASURES": "1"}  # and of one that measures functions
_origins = []  # one, from when it is needed first
_origins_lock = threading.Lock()
_generations = 0  # of processes that this one may spawn, if it was forked


class Popen(subprocess.Popen[Any]):
    def _execute_child(self, *parts):
        words, executable, preexec, _, pass_fds, cwd, env, _, _, shell = parts[:10]
        *pipes, _, gid, gids, uid, umask, leads, group = parts[10:]
        environment = dict(os.environ if env is None else env)
        leash, words = _off_leash(words)
        inherited = () if leash is None else (leash,)
        plain = (executable, preexec, pass_fds, shell) == (None, None, inherited, False)
        ours = (gid, gids, uid, umask, group) == (None, None, None, -1, -1)
        if not (plain and ours and _is_forkable(words, environment)):
            super()._execute_child(*parts)  # private: all of `subprocess` but the start is wanted as it is
            return
        streams = [default if fd == -1 else fd for default, fd in enumerate((pipes[0], pipes[3], pipes[5]))]
        given = dict(enumerate(streams)) | {one: one for one in inherited}
        self.pid = _fork(words, os.path.abspath(cwd or "."), environment, given, leads, leash)
        self._child_created = True
        self._close_pipe_fds(*pipes)


class _Measuring(Popen):
    """Forks the processes in which prof measures functions, and starts a user's programs and all else as ever."""

    def _execute_child(self, words, *parts):
        start = super() if tuple(_off_leash(words)[1][1:3]) == _MEASURES_FUNCTIONS else super(Popen, self)
        start._execute_child(words, *parts)  # private: as above


def _off_leash(words):
    """Returns the descriptor of the leash that these words put a program on, and the program's own words."""
    leash = sys.modules.get("profiler.measuring.tools.leash")
    if leash is None or isinstance(words, str):
        return None, words
    start = (*leash._PYTHON, leash._START)  # private: how a program is put on it
    if tuple(words[:5]) != start:
        return None, words
    return int(words[5]), words[7:]


def run(
    words, *, input = None, timeout = None, check = False,
    capture_output = False, **options
):  # fmt: skip
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


@contextmanager
def spawned():
    """Processes that `multiprocessing` spawns in here are forked."""
    plain = util.spawnv_passfds
    util.spawnv_passfds = partial(_spawn, plain)
    try:
        yield
    finally:
        util.spawnv_passfds = plain


def _spawn(plain, program, words, descriptors):
    # Python hands -B on from a process that was told so by a variable, which the tests take away.
    texts = [text for text in map(os.fsdecode, words) if text != "-B"]
    environment = dict(os.environ)
    as_ever = UNFORKED.items() <= environment.items() or "--multiprocessing-fork" not in texts
    if not as_ever and _is_forkable(texts, environment):
        with open(os.devnull, "r+b", buffering=0) as nowhere:
            given = {fd: fd if _is_open(fd) else nowhere.fileno() for fd in (0, 1, 2, *descriptors)}
            return _fork(texts, os.getcwd(), environment, given, leads=False)
    return plain(program, words, descriptors)


def _is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def is_spawned(pid):
    """Returns whether `multiprocessing` has spawned this process, or would have, were it not forked."""
    try:
        name, words = (Path("/proc", str(pid), what).read_bytes() for what in ("comm", "cmdline"))
    except OSError:  # it has ended
        return False
    return name.strip() == _SPAWNED or _SPAWNED in words


class _Job(NamedTuple):
    words: list[str]  # after the interpreter
    folder: str
    environment: dict[str, str]
    places: list[int]  # the numbers of the descriptors that it is given
    leads: bool  # a session of its own
    generations: int  # of processes that it may spawn: with a nanny of Dask, workers and their readers
    blocked: list[int]  # signals
    ignored: list[int]
    leash: int | None = None  # the descriptor by which the process says that it has begun


def _fork(
    words, folder, environment, descriptors, leads,
    leash = None
):  # fmt: skip
    """Returns the process's id; `descriptors` are those that it is given, by their numbers there."""
    after = [os.fspath(word) for word in words[1:]]
    nanny = "worker" in after and "--no-nanny" not in after
    most = 0 if UNFORKED.items() <= environment.items() else 2 if nanny else 1
    spawns = leash is None and (_SPAWNING.intersection(after) or MEASURES.items() <= environment.items())
    generations = max(_generations - 1, most if spawns else 0)
    blocked = [int(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, ())]
    ignored = [int(one) for one in _MAY_BE_IGNORED if signal.getsignal(one) is signal.SIG_IGN]
    job = _Job(after, folder, environment, list(descriptors), leads, generations, blocked, ignored, leash)
    try:
        return _origin().fork(job, list(descriptors.values()))
    except ConnectionError:  # it has ended, as when memory is short, and has not read what it was asked
        print("The process that others are forked from has ended. Another is started.", file=sys.__stderr__)
    try:
        return _origin().fork(job, list(descriptors.values()))
    except ConnectionError as error:
        raise RuntimeError("no process can be forked: the one to fork from ends as it starts") from error


def _is_forkable(words, environment):
    if isinstance(words, str) or len(words) < 2 or words[0] != sys.executable:
        return False
    first = os.fspath(words[1])
    if os.geteuid() != os.getuid() or (first.startswith("-") and first not in ("-c", "-m")):
        return False
    started = _origin().started_with
    read = {name for name in environment.keys() | started.keys() if name.startswith(_READ_AT_START)}
    read -= _SET_LATER | _LEFT_BEHIND
    return all(environment.get(name) == started.get(name) for name in read)


class _Origin:
    """The process that others are forked from."""

    def __init__(self, pid, asked, started_with, wait):
        self.pid, self.started_with, self._socket, self._wait = pid, started_with, asked, wait
        self._lock = threading.Lock()

    def fork(self, job, descriptors):
        """Returns the id of the process, which is a child of this one."""
        with self._lock, tempfile.TemporaryFile() as request:
            request.write(json.dumps(job).encode("utf-8", "surrogateescape"))
            request.seek(0)
            try:
                socket.send_fds(self._socket, [b"?"], [request.fileno(), *descriptors])
                answer = self._socket.recv(32)
            except BaseException:  # also an interrupt: the answer to this request is none to the next one
                self.forget()
                raise
            if not answer:
                self.forget()
                raise RuntimeError(
                    "the process that others are forked from has ended while it was asked for one"
                )
        if (pid := int(answer)) < 0:
            raise OSError(-pid, f"cannot fork: {os.strerror(-pid)}")
        return pid

    def forget(self):
        """Has the next process forked from another origin."""
        self._socket.close()
        _origins[:] = [one for one in _origins if one is not self]

    def end(self):
        self._socket.close()
        self._wait()


def origin_pid():
    """Returns the process that this one's are forked from."""
    return _origin().pid


def _origin():
    with _origins_lock:
        if not _origins:
            _origins.append(_start_origin())
        return _origins[0]


def _start_origin():
    ours, theirs = socket.socketpair()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= _ONE_THREAD
    command = [sys.executable, __file__, str(theirs.fileno())]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment)
    theirs.close()
    made = _Origin(process.pid, ours, dict(os.environ), process.wait)
    atexit.register(made.end)
    return made


# In the process that others are forked from


def _use_large_pages():
    """Gathers the memory of this process in large pages, of which a fork copies one entry for 512.

    It halves the time that a short process takes, to 11 ms. A kernel before Linux 6.1 has no such call, and all stays as it is.
    """
    system = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        places, rights, _, _, _, *file = line.split(maxsplit=5)
        if rights == "rw-p" and file in ([], ["[heap]"]):
            start, end = (int(place, 16) for place in places.split("-"))
            for place in range(-(-start // _LARGE_PAGE) * _LARGE_PAGE, end - _LARGE_PAGE + 1, _LARGE_PAGE):
                system.madvise(ctypes.c_void_p(place), ctypes.c_size_t(_LARGE_PAGE), _COLLAPSE)


def _serve(asked):
    """Returns in each process that was forked what it is to do."""
    while True:
        message, descriptors, *_ = socket.recv_fds(asked, 1, 64)
        if not message:
            os._exit(0)
        try:
            pid = _fork_beside()
        except OSError as error:  # too many processes, or no memory: who asked is told, and may ask again
            pid = -(error.errno or errno.EAGAIN)
        if pid == 0:
            with os.fdopen(descriptors[0], "rb", closefd=False) as request:
                job = _Job(*json.loads(request.read().decode("utf-8", "surrogateescape")))
            asked.detach()  # its number may be that of another descriptor now
            _keep(dict(zip(job.places, descriptors[1:], strict=True)))
            return job
        asked.sendall(str(pid).encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _fork_beside():
    """Forks as `os.fork` does, but makes a child of this process's parent, which has asked for it.

    The C library is not told. That does no harm in a process of one thread.
    """
    python, system = ctypes.pythonapi, ctypes.PyDLL(None, use_errno=True)
    python.PyOS_BeforeFork()
    pid = system.syscall(_CLONE[platform.machine()], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    after = python.PyOS_AfterFork_Child if pid == 0 else python.PyOS_AfterFork_Parent
    after()
    if pid < 0:
        raise OSError(ctypes.get_errno(), "cannot fork")
    return int(pid)


def _keep(descriptors):
    """Leaves these descriptors open, under the numbers that they shall have, and nothing else."""
    numbers = sorted(descriptors)
    moved = {number: fcntl.fcntl(descriptors[number], fcntl.F_DUPFD, numbers[-1] + 1) for number in numbers}
    for number, descriptor in moved.items():
        os.dup2(descriptor, number)
    for before, after in pairwise([*numbers, 1 << 16]):
        os.closerange(before + 1, after)


def _become(job):
    """Sets what an interpreter sets when it starts."""
    if job.leads:
        os.setsid()
    if job.leash is not None:
        os.write(job.leash, b"+%d\n" % os.getpid())
        os.close(job.leash)
    for number in job.ignored:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, job.blocked)
    name = _SPAWNED if "--multiprocessing-fork" in job.words else b"python"
    ctypes.CDLL(None).prctl(_SET_NAME, name, 0, 0, 0)
    os.chdir(job.folder)
    known_places, known_to_dask = os.environ.get("LD_LIBRARY_PATH", ""), _of_dask(os.environ)
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
    if _of_dask(job.environment) != known_to_dask:
        sys.modules["dask.config"].refresh()  # reading it takes 6 ms


def _of_dask(environment):
    return {name: value for name, value in environment.items() if name.startswith("DASK_")}


def _split(job, started_with):
    """Makes this process two: the one that was asked for, and one from which what it spawns is forked.

    Returns what there is to do in each process that is forked from the second, and None in the first.
    """
    global _generations  # noqa: PLW0603 - it is this process's own
    ours, theirs = socket.socketpair()
    signal.pthread_sigmask(signal.SIG_BLOCK, _MAY_BE_IGNORED)  # as in the first origin, below
    if (pid := os.fork()) == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        _keep({0: nowhere, 1: nowhere, 2: nowhere, 3: theirs.fileno()})
        theirs.detach()
        ours.detach()
        ctypes.CDLL(None).prctl(_SET_NAME, b"origin", 0, 0, 0)
        return _serve(socket.socket(fileno=3))
    signal.pthread_sigmask(signal.SIG_SETMASK, job.blocked)
    theirs.close()
    _generations = job.generations
    _origins[:] = [_Origin(pid, ours, started_with, lambda: None)]
    util.spawnv_passfds = partial(_spawn, util.spawnv_passfds)
    subprocess.Popen = _Measuring
    return None


def _open_streams():
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)
        by_line = 1 if name == "stderr" or os.isatty(number) else -1
        new = open(  # noqa: SIM115 - it stays open
            number, mode, buffering=by_line, encoding=old.encoding, errors=old.errors, closefd=False
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _main(words):
    first, *rest = words
    sys.path[0] = {"-c": "", "-m": os.getcwd()}.get(first, os.path.dirname(os.path.abspath(first)))
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    elif first == "-m":
        sys.argv = rest
        if not hasattr(sys.modules.get(rest[0]), "__path__"):
            sys.modules.pop(
                rest[0], None
            )  # what is imported already is not run as the program without a warning
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    gc.disable()
    # A signal to the whole group is for those that are forked, each of which is given the mask of who asked for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _MAY_BE_IGNORED)
    _started_with = dict(os.environ)
    for _name in _IMPORTED:
        importlib.import_module(_name)
    code_once.install()
    # private: every reader loads this library as well, and each of them is forked from here.
    ctypes.CDLL(str(sys.modules["profiler.store.reports.contained_reader"]._SECOND_LIBRARY))
    gc.freeze()
    _use_large_pages()
    _job = _serve(socket.socket(fileno=int(sys.argv[1])))
    while _job is not None:
        _mine = _job
        _become(_mine)
        _job = _split(_mine, _started_with) if _mine.generations else None
    gc.set_threshold(_GARBAGE)
    gc.enable()
    try:
        _main(_mine.words)
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
