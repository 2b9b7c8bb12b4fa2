"""Opens a file of machine code as a recording in which each function was launched once, and nothing was counted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from profiler.measuring.tools.disassembly import disassemble
from profiler.measuring.tools.mangling import demangled
from profiler.store.runs.manifest import KernelCount, Manifest
from profiler.store.runs.run import Run
from profiler.store.tables.columns import TableBuilder
from profiler.store.tables.instruction_text import opcode_of
from profiler.store.tables.schema import SCHEMA_VERSION, TABLES


def open_code_file(path: Path) -> Run:
    """Returns the functions of a cubin, an object file, a fat binary or a folder of cubins."""
    listing = disassemble(path)
    builders = {name: TableBuilder(name, "") for name in TABLES}
    names = {
        mangled: " ".join([demangled(mangled.split(" ")[0]), *mangled.split(" ")[1:]]) for mangled in listing
    }
    for launch, (mangled, lines) in enumerate(listing.items()):
        kernel = names[mangled]
        builders["launches"].append(
            launch=launch, process=0, range=0, workload="kernel", function=kernel, kernel=kernel, mangled=mangled, nvtx=[]
        )  # fmt: skip
        for index, (offset, text) in enumerate(lines):
            builders["instructions"].append(
                launch=launch, function_index=0, index=index, offset=offset, opcode=opcode_of(text), sass=text
            )
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        run_id="",
        name=path.name,
        origin="ingested",
        recorded=datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(),
        reports=[],
        kernels=[KernelCount(kernel, 1) for kernel in dict.fromkeys(names.values())],
        tables={},
    )
    return Run(
        path, manifest, stored=False, _tables={name: builder.finish() for name, builder in builders.items()}
    )
