"""Compiles rungs: only those that changed, in parallel, with a record beside each binary.

`build_command` returns nvcc's command; `build_kernels` runs it and yields each result at once. The record shows whether
a binary still belongs to its sources: it holds the command, the compiler's version and the hash of every file read.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.errors import BuildFailed, DiskFull, LadderInvalid, LibraryMissing, ProfError
from profiler.machine import available_cores, disk_full_text
from profiler.measuring.tools.process import Finished, command_details, end_all, run
from profiler.measuring.tools.ptxas import Resources, parse_resources
from profiler.measuring.tools.toolchain import Toolchain
from profiler.store.disk import sha256_of
from profiler.store.locks import locked
from profiler.store.tables.decoding import decodable

COMPILE_TIMEOUT_S = 600.0
_CLOCK_TICK_NS = 20_000_000  # a file's time may lag behind the clock by a tick of the kernel
# nvcc's options for fast math or a part of it. A value may also be a word of its own.
_FAST_MATH = re.compile(r"(?<!\S)--?(use_fast_math(=true)?|ftz[= ]true|prec-(div|sqrt)[= ]false)(?!\S)")
# nvcc would add the flags in these variables to ours, and the record would not show them.
_ENVIRONMENT = {"NVCC_PREPEND_FLAGS": "", "NVCC_APPEND_FLAGS": ""}
BuildStatus = Literal["built", "unchanged", "unavailable", "failed"]


@decodable
class BuildRecord(msgspec.Struct, frozen=True):
    arch: str
    command: list[str]
    nvcc_version: str
    without: list[str]  # optional libraries that were not found
    sources: dict[str, str]  # SHA-256 of each file read, without the toolkit's own headers
    binary_sha256: str
    seconds: float
    resources: list[Resources]

    @property
    def fast_math(self) -> bool:
        return _FAST_MATH.search(" ".join(self.command)) is not None


@dataclass(frozen=True)
class Built:
    """The result of building one kernel: a `record`, or an `error`."""

    kernel: Kernel
    status: BuildStatus
    binary: Path
    record: BuildRecord | None = None
    error: ProfError | None = None


def build_folder(ladder: Ladder, arch: str) -> Path:
    """Returns `build/<ladder>/<arch>/` beside the `kernels/` folder of the ladder, or else beside the ladder file."""
    folder = ladder.path.resolve().parent
    root = folder.parent.parent if folder.parent.name == "kernels" else folder
    return root / "build" / ladder.name / arch


def build_flags(kernel: Kernel, arch: str) -> list[str]:
    """Returns the flags that decide the machine code: line information, and fast math only if the ladder asks."""
    target = kernel.targets.get(arch, arch).removeprefix("sm_")
    return ["-lineinfo", f"-gencode=arch=compute_{target},code=sm_{target}", *kernel.flags]


def build_command(kernel: Kernel, arch: str, toolchain: Toolchain, binary: Path) -> list[str]:
    """Returns nvcc's command for one kernel."""
    command = [str(toolchain.nvcc), "-Xptxas=-v", *build_flags(kernel, arch)]
    if toolchain.link_folder is not None:
        command.append(f"-L{toolchain.link_folder}")
    if "cublas" in (*kernel.needs, *kernel.uses):
        command += _cublas_flags(toolchain)
    dependencies = ["-MMD", "-MF", str(_dependencies_path(binary))]
    return [*command, *dependencies, str(kernel.source), "-o", str(binary)]


def build_kernels(
    ladder: Ladder,
    kernels: Sequence[Kernel],
    arch: str,
    toolchain: Toolchain,
    jobs: int | None = None,
    within: str = "",
) -> Iterator[Built]:
    """Yields the results in the order in which they finish; a failure is yielded too, and stops nothing.

    `within` names a folder inside the build folder, for binaries that are not the ladder's own rungs.
    """
    folder = build_folder(ladder, arch) / within
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildFailed(
            f"{folder}: cannot be created: {error.strerror}", remedy="Check the folder's permissions."
        ) from None
    executor = ThreadPoolExecutor(jobs or available_cores())
    try:
        pending: list[Future[Built]] = [
            executor.submit(_build, kernel, arch, toolchain, folder / kernel.file_name) for kernel in kernels
        ]
        for future in as_completed(pending):
            yield future.result()
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        end_all()
        raise
    finally:
        executor.shutdown()


def read_record(binary: Path) -> BuildRecord | None:
    """Returns the record beside a binary, or None if there is none that can be read."""
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(_record_path(binary).read_bytes(), type=BuildRecord)
    return None


def _build(kernel: Kernel, arch: str, toolchain: Toolchain, binary: Path) -> Built:
    obstacle = _obstacle(kernel, toolchain)
    if obstacle is not None:
        status: BuildStatus = "unavailable" if isinstance(obstacle, LibraryMissing) else "failed"
        return Built(kernel, status, binary, error=obstacle)
    try:
        if known := _read_fresh(kernel, arch, toolchain, binary):
            return Built(kernel, "unchanged", binary, known)
        # Another process may build it too, and no two outputs of nvcc are alike: keep binary and record together.
        with locked(binary.with_name(f".{binary.name}.lock")):
            if known := _read_fresh(kernel, arch, toolchain, binary):
                return Built(kernel, "unchanged", binary, known)
            return Built(kernel, "built", binary, _compile(kernel, arch, toolchain, binary))
    except ProfError as error:
        return Built(kernel, "failed", binary, error=error)
    except OSError as error:
        if full := disk_full_text(error):
            return Built(kernel, "failed", binary, error=DiskFull(f"{binary}: {full}"))
        failed = BuildFailed(f"{kernel}: {error.filename or binary}: {error.strerror}")
        return Built(kernel, "failed", binary, error=failed)


def _obstacle(kernel: Kernel, toolchain: Toolchain) -> ProfError | None:
    if kernel.source is None or not kernel.source.is_file():
        return LadderInvalid(
            f"{kernel}: its source {kernel.source} does not exist",
            remedy="Correct `source` in the ladder file; it is relative to that file.",
        )
    if "cublas" in kernel.needs and toolchain.cublas is None:
        return LibraryMissing(f"{kernel} needs cuBLAS, and there is none beside {toolchain.root}")
    return None


def _compile(kernel: Kernel, arch: str, toolchain: Toolchain, binary: Path) -> BuildRecord:
    """Compiles into a temporary file and renames it when it is complete: an interrupted build leaves the old binary."""
    unfinished = binary.with_name(f".{binary.name}.{os.getpid()}")
    dependencies = _dependencies_path(unfinished)
    started_ns = time.time_ns()
    try:
        _record_path(binary).unlink(missing_ok=True)
        finished = run(
            build_command(kernel, arch, toolchain, unfinished),
            timeout_s=COMPILE_TIMEOUT_S,
            environment=_ENVIRONMENT,
        )
        command = build_command(kernel, arch, toolchain, binary)
        if finished.exit_code:
            raise BuildFailed(
                f"{kernel} does not compile ({finished.how})",
                details=command_details(command, finished.stdout, finished.stderr),
            )
        record = _make_record(kernel, arch, toolchain, command, unfinished, finished)
        for path in map(Path, record.sources):
            if started_ns - _CLOCK_TICK_NS <= path.stat().st_mtime_ns <= time.time_ns():
                raise BuildFailed(f"{path}: changed while it was compiled", remedy="Build again.")
        os.replace(unfinished, binary)
        _record_path(binary).write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
        return record
    finally:
        unfinished.unlink(missing_ok=True)
        dependencies.unlink(missing_ok=True)


def _make_record(
    kernel: Kernel, arch: str, toolchain: Toolchain, command: list[str], made: Path, finished: Finished
) -> BuildRecord:
    sources = [kernel.source, *_files_read(made, _dependencies_path(made), toolchain)]
    return BuildRecord(
        arch=arch,
        command=command,
        nvcc_version=toolchain.version,
        without=[name for name in kernel.uses if name == "cublas" and toolchain.cublas is None],
        sources={str(path): sha256_of(path) for path in dict.fromkeys(sources) if path},
        binary_sha256=sha256_of(made),
        seconds=round(finished.seconds, 2),
        resources=parse_resources(finished.stderr),
    )


def _read_fresh(kernel: Kernel, arch: str, toolchain: Toolchain, binary: Path) -> BuildRecord | None:
    """Returns the record of a binary that is as it would be built now."""
    known, asked = read_record(binary), (build_command(kernel, arch, toolchain, binary), toolchain.version)
    if known is None or (known.command, known.nvcc_version) != asked:
        return None
    files = {**known.sources, str(binary): known.binary_sha256}
    with suppress(OSError):
        if all(sha256_of(Path(path)) == recorded for path, recorded in files.items()):
            return known
    return None


def _files_read(made: Path, dependencies: Path, toolchain: Toolchain) -> list[Path]:
    """Returns the files of the make rule that nvcc wrote, without the toolkit's own: its version stands for those.

    The rule begins with the path of the file that was `made`, which may hold colons.
    """
    _, rule = dependencies.read_text().removeprefix(str(made)).split(":", maxsplit=1)
    words = rule.replace("\\\n", " ").replace("\\ ", "\0").split()
    paths = [Path(os.path.abspath(word.replace("\0", " "))) for word in words]
    return [path for path in paths if not path.is_relative_to(toolchain.root)]


def _cublas_flags(toolchain: Toolchain) -> list[str]:
    library = toolchain.cublas
    if library is None:
        return ["-DPROF_NO_CUBLAS"]
    # Link by the full name: packages from PyPI hold no libcublas.so, and nvcc refuses a file that ends in .13.
    folder = library.file.parent
    return [
        f"-I{library.include}",
        f"-L{folder}",
        f"-l:{library.file.name}",
        f"-l:{library.file.name.replace('libcublas', 'libcublasLt')}",
        f"-Xlinker=-rpath={folder}",
        f"-Xlinker=-rpath-link={folder}",
    ]


def _dependencies_path(binary: Path) -> Path:
    return binary.with_name(f"{binary.name}.d")


def _record_path(binary: Path) -> Path:
    return binary.with_name(f"{binary.name}.json")
