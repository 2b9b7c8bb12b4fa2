"""Decodes reports in a process that may read the report it was handed and write to its pipe, nothing else.

A reader of `sandbox.py` imports what it needs and forks this process, which then gives up its rights (see
`containment.py`). A report comes to it as memory that both share, since it can open no file; so it serves report
after report, and starts NVIDIA's library once. Its answer is untrusted: Arrow's columns and JSON, both checked,
and never a pickle. When it crashes, its parent ends in the same way, so that a crash looks the same wherever
this process exists or not: only Linux has what it needs.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

import msgspec
import pyarrow as pa

from profiler.errors import ReaderFailed, ReportDamaged, ReportUnreadable, RunDamaged
from profiler.store.reports.containment import restrict
from profiler.store.reports.identity import ReportFile
from profiler.store.reports.nvidia_reader import PACKAGES, Decoded, Source, decode_reports
from profiler.store.reports.request import OUT_OF_MEMORY, Omitted
from profiler.store.tables.schema import TABLES, check_table

_PR_SET_PDEATHSIG = 1
_CHUNK_BYTES = 1 << 22
_ONE_MORE = b"+"  # a launch was read
_DESCRIPTORS = Path("/proc/self/fd")
# NVIDIA's second library is loaded with the first report, and Python imports some modules when they are used.
_READABLE = [PACKAGES, Path(os.__file__).parent]
_TABLES = [name for name in TABLES if name != "timings"]  # those are of no report


class _Task(msgspec.Struct):
    run_id: str
    omitted: Omitted
    reports: int


class _Report(msgspec.Struct):
    path: str  # for messages
    results: int


class _Answer(msgspec.Struct):
    """A failure, or the names of the sections; then the tables follow."""

    failure: str = ""
    damaged: bool = False
    sections: list[str] = []


class ContainedReader:
    """A process that runs `serve` with hardly any rights, and how to ask it."""

    def __init__(self, serve: Callable[[Connection, Path], None] | None = None) -> None:
        self._serve = serve or _serve
        self._memory = os.memfd_create("report")
        gc.freeze()  # pages that the collector does not write to stay shared
        self._start()

    def decode(
        self,
        files: Sequence[ReportFile],
        run_id: str,
        omitted: Omitted,
        count: Callable[[], None] = lambda: None,
    ) -> Decoded:
        """Decode the reports, and check the answer; `count` is called after each launch. Ends this process when the reader ends."""
        try:
            answer, tables = self._ask(files, run_id, omitted, count)
        except (EOFError, OSError):
            self._end_alike()
        except (ReportUnreadable, msgspec.DecodeError, pa.ArrowException, RunDamaged) as error:
            os.kill(self.process, signal.SIGKILL)  # what else it says would be taken for the next answer
            os.waitpid(self.process, 0)
            self._start()
            if isinstance(error, ReportUnreadable):
                raise
            raise ReaderFailed(f"{files[0].path}: NVIDIA's reader answered nonsense: {error}") from error
        finally:
            os.ftruncate(self._memory, 0)
        if answer.failure:
            raise (ReportDamaged if answer.damaged else ReaderFailed)(answer.failure)
        return Decoded(tables, answer.sections)

    def _ask(
        self, files: Sequence[ReportFile], run_id: str, omitted: Omitted, count: Callable[[], None]
    ) -> tuple[_Answer, dict[str, pa.Table]]:
        self._send(_Task(run_id, omitted, len(files)))
        data = b""
        for file in files:
            self._fill(file)
            self._send(_Report(str(file.path), file.envelope.results))
            while (data := self._pipe.recv_bytes()) == _ONE_MORE:
                count()
            if data:  # a failure; else it wants the next report
                break
        answer = msgspec.json.decode(data or self._pipe.recv_bytes(), type=_Answer)
        tables = {} if answer.failure else {name: _checked(name, self._pipe.recv_bytes()) for name in _TABLES}
        return answer, tables

    def _send(self, message: msgspec.Struct) -> None:
        self._pipe.send_bytes(msgspec.json.encode(message))

    def _fill(self, report: ReportFile) -> None:
        os.ftruncate(self._memory, 0)
        os.lseek(self._memory, 0, os.SEEK_SET)
        try:
            with report.plain.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    os.write(self._memory, chunk)
        except OSError as error:
            raise ReportUnreadable(f"{report.path}: cannot be read: {error.strerror}") from error

    def _end_alike(self) -> NoReturn:
        _, status = os.waitpid(self.process, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            with suppress(OSError):  # SIGKILL has no handler
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)

    def _start(self) -> None:
        self._pipe, its_end = Pipe()
        parent = os.getpid()
        self.process = os.fork()
        if self.process == 0:
            self._live(its_end, parent)
        its_end.close()

    def _live(self, pipe: Connection, parent: int) -> None:
        """Restrict this process, the new one, and serve until the pipe is closed."""
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                return
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            kept = {0, 1, 2, pipe.fileno(), self._memory}
            for descriptor in map(int, os.listdir(_DESCRIPTORS)):
                if descriptor not in kept:
                    with suppress(OSError):  # the one of the listing itself
                        os.close(descriptor)
            restrict(_READABLE)
            with suppress(EOFError):
                self._serve(pipe, _DESCRIPTORS / str(self._memory))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        finally:
            os._exit(1)


_reader: ContainedReader | None = None


def start_reader() -> None:
    """Fork the contained process, where this system has what it needs; call this while there is one thread."""
    global _reader  # noqa: PLW0603
    if sys.platform == "linux" and _DESCRIPTORS.exists():
        _reader = ContainedReader()


def decode_contained(
    files: Sequence[ReportFile], run_id: str, omitted: Omitted, count: Callable[[], None] = lambda: None
) -> Decoded:
    """Decode the reports in the contained process, or in this one where there is none; `count` each launch."""
    if _reader is not None:
        return _reader.decode(files, run_id, omitted, count)
    sources = (Source(file.path, file.plain, file.envelope.results) for file in files)
    return decode_reports(sources, run_id, omitted, count)


def _serve(pipe: Connection, memory: Path) -> None:
    while True:
        task = msgspec.json.decode(pipe.recv_bytes(), type=_Task)
        try:
            sources = _sources(pipe, memory, task)
            decoded = decode_reports(sources, task.run_id, task.omitted, lambda: pipe.send_bytes(_ONE_MORE))
        except (ReaderFailed, ReportDamaged) as error:
            failure = _Answer(error.message, isinstance(error, ReportDamaged))
            pipe.send_bytes(msgspec.json.encode(failure))
            continue
        pipe.send_bytes(msgspec.json.encode(_Answer(sections=decoded.sections)))
        for table in (decoded.tables[name] for name in _TABLES):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            pipe.send_bytes(sink.getvalue())


def _sources(pipe: Connection, memory: Path, task: _Task) -> Iterator[Source]:
    for _ in range(task.reports):
        report = msgspec.json.decode(pipe.recv_bytes(), type=_Report)
        yield Source(Path(report.path), memory, report.results)
        pipe.send_bytes(b"")  # the next report may replace this one


def _checked(name: str, data: bytes) -> pa.Table:
    table = pa.ipc.open_stream(data).read_all()
    table.validate(full=True)
    return check_table(table, name, f"table '{name}' of the reader")
