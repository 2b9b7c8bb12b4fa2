"""Decodes reports in processes that may read the report they were handed and write to their pipe, nothing else.

A reader of `sandbox.py` imports what it needs and forks these processes, which then give up their rights (see
`containment.py`). A report comes to them as memory that they share with the reader, since they can open no file.

Each run gets a new process for all its figures: one that has read no report before, whose answer therefore depends on
no other report. (NVIDIA's library remembers the units of the first report that it reads.) Machine code is read by one
process for all runs, because the library takes 0.6 s to prepare its disassembler, and a fork cannot inherit that. So
a report that takes over a process can falsify its own figures and, in later runs, only the machine code.

An answer is untrusted: Arrow's columns and JSON, both checked, and never a pickle. When a process crashes, the reader
ends in the same way, so that a crash looks the same wherever these processes exist or not: only Linux has what they
need.
"""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
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

from profiler.errors import ReaderFailed, ReportDamaged, ReportUnreadable, ResourcesShort, RunDamaged
from profiler.machine import find_shortage
from profiler.store.reports.containment import restrict
from profiler.store.reports.identity import ReportFile
from profiler.store.reports.nvidia_reader import PACKAGES, DecodedReport, Source, decode_reports
from profiler.store.reports.request import OUT_OF_FILES, OUT_OF_MEMORY, Omitted, ReportPart
from profiler.store.tables.schema import TABLES, check_table

_PR_SET_PDEATHSIG = 1
_CHUNK_BYTES = 1 << 22
_ONE_MORE = b"+"  # a launch was read
_DESCRIPTORS = Path("/proc/self/fd")
_SECOND_LIBRARY = PACKAGES / "ncu_report" / "libnvperf_host.so"
# NVIDIA's second library is opened with the first report, and Python imports some modules when they are used.
_READABLE = [PACKAGES, Path(os.__file__).parent]
_OF_REPORTS = [name for name in TABLES if name != "timings"]
_TABLES = {ReportPart.ALL: _OF_REPORTS, ReportPart.FIGURES: _OF_REPORTS, ReportPart.CODE: ["instructions"]}


class _Task(msgspec.Struct):
    run_id: str
    omitted: Omitted
    part: ReportPart
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
    """A process that runs `serve` with hardly any rights, and how to ask it. `end` kills it."""

    def __init__(self, serve: Callable[[Connection, Path], None] | None = None) -> None:
        self._serve, self.has_ended = serve or _serve, False
        self._memory = os.memfd_create("report")
        self._pipe, its_end = Pipe()
        parent = os.getpid()
        self.process = os.fork()
        if self.process == 0:
            self._live(its_end, parent)
        its_end.close()

    def decode(
        self,
        files: Sequence[ReportFile],
        run_id: str,
        omitted: Omitted,
        part: ReportPart,
        count: Callable[[], None] = lambda: None,
    ) -> DecodedReport:
        """Decodes the reports, calls `count` for each launch, and checks the answer; ends this process when the reader ends."""
        try:
            answer, tables = self._ask(_Task(run_id, omitted, part, len(files)), files, count)
        except (EOFError, OSError):
            self._end_alike()
        except (ReportUnreadable, ResourcesShort):
            self.end()  # what else it says would be taken for the next answer
            raise
        except (msgspec.DecodeError, pa.ArrowException, RunDamaged) as error:
            self.end()
            raise ReaderFailed(f"{files[0].path}: NVIDIA's reader answered nonsense: {error}") from error
        os.ftruncate(self._memory, 0)
        if answer.failure:
            raise (ReportDamaged if answer.damaged else ReaderFailed)(answer.failure)
        return DecodedReport(tables, answer.sections)

    def end(self) -> None:
        if self.has_ended:
            return
        self.has_ended = True
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        self._pipe.close()
        os.close(self._memory)

    def __enter__(self) -> ContainedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _ask(
        self, task: _Task, files: Sequence[ReportFile], count: Callable[[], None]
    ) -> tuple[_Answer, dict[str, pa.Table]]:
        self._send(task)
        data = b""
        for file in files:
            self._fill(file)
            self._send(_Report(str(file.path), file.envelope.results))
            while (data := self._pipe.recv_bytes()) == _ONE_MORE:
                count()
            if data:  # a failure; else it wants the next report
                break
        answer = msgspec.json.decode(data or self._pipe.recv_bytes(), type=_Answer)
        names = () if answer.failure else _TABLES[task.part]
        return answer, {name: _checked(name, self._pipe.recv_bytes()) for name in names}

    def _send(self, message: msgspec.Struct) -> None:
        self._pipe.send_bytes(msgspec.json.encode(message))

    def _fill(self, report: ReportFile) -> None:
        os.ftruncate(self._memory, 0)
        os.lseek(self._memory, 0, os.SEEK_SET)
        try:
            with report.plain.open("rb") as file, open(self._memory, "wb", closefd=False) as memory:
                shutil.copyfileobj(file, memory, _CHUNK_BYTES)
        except OSError as error:
            if shortage := find_shortage(error):  # of this process: the report is not to blame
                raise shortage from error
            raise ReportUnreadable(f"{report.path}: cannot be read: {error.strerror}") from error

    def _end_alike(self) -> NoReturn:
        _, status = os.waitpid(self.process, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            with suppress(OSError):  # SIGKILL has no handler
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)

    def _live(self, pipe: Connection, parent: int) -> None:
        """Restricts this process, the new one, and serves until the pipe is closed."""
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
        except (MemoryError, OSError) as error:
            if find_shortage(error):
                os._exit(OUT_OF_MEMORY if isinstance(error, MemoryError) else OUT_OF_FILES)
        finally:
            os._exit(1)


_code_reader: ContainedReader | None = None


def start_reader() -> None:
    """Forks the process for machine code, where this system has what it needs; call this while there is one thread."""
    global _code_reader  # noqa: PLW0603
    if sys.platform == "linux" and _DESCRIPTORS.exists():
        # Another release may call it otherwise: every process then takes 0.1 s to load it.
        with suppress(OSError):
            ctypes.CDLL(str(_SECOND_LIBRARY))
        gc.freeze()  # pages that the collector does not write to stay shared
        _code_reader = ContainedReader()


def decode_contained(
    files: Sequence[ReportFile], run_id: str, omitted: Omitted, count: Callable[[], None] = lambda: None
) -> DecodedReport:
    """Decodes the reports of a run in contained processes, or in this one where there are none; calls `count` for each launch."""
    if _code_reader is None:
        sources = (Source(file.path, file.plain, file.envelope.results) for file in files)
        return decode_reports(sources, run_id, omitted, ReportPart.ALL, count)
    with ContainedReader() as fresh:
        decoded = fresh.decode(files, run_id, omitted, ReportPart.FIGURES, count)
    if omitted is not Omitted.ALL_CODE:
        decoded.tables |= decode_code(files, run_id, omitted)
    return decoded


def decode_code(files: Sequence[ReportFile], run_id: str, omitted: Omitted) -> dict[str, pa.Table]:
    """Returns the table of the machine code, read by the process for it; none on systems that have no such process."""
    global _code_reader  # noqa: PLW0603
    if _code_reader is None:
        return {}
    if _code_reader.has_ended:
        _code_reader = ContainedReader()
    return _code_reader.decode(files, run_id, omitted, ReportPart.CODE).tables


def _serve(pipe: Connection, memory: Path) -> None:
    while True:
        task = msgspec.json.decode(pipe.recv_bytes(), type=_Task)
        try:
            sources = _sources(pipe, memory, task)
            decoded = decode_reports(
                sources, task.run_id, task.omitted, task.part, lambda: pipe.send_bytes(_ONE_MORE)
            )
        except (ReaderFailed, ReportDamaged) as error:
            failure = _Answer(error.message, isinstance(error, ReportDamaged))
            pipe.send_bytes(msgspec.json.encode(failure))
            continue
        pipe.send_bytes(msgspec.json.encode(_Answer(sections=decoded.sections)))
        for table in (decoded.tables[name] for name in _TABLES[task.part]):
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
