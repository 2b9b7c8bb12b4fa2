"""Whatever is decoded may be decoded by several threads at once, also for the first time of a process."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "profiler"

FIRST_AT_ONCE = """
import sys, threading
from pathlib import Path
from profiler.store.manifest import read_manifest

sys.setswitchinterval(1e-6)
together = threading.Barrier(8)

def read():
    together.wait()
    read_manifest(Path(sys.argv[1]))

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_may_be_the_first_to_read_a_manifest(recorded) -> None:
    """Before types were prepared, four of ten such processes crashed."""
    folder = recorded.root / recorded.find("6", "gemm").manifest.run_id
    words = [sys.executable, "-c", FIRST_AT_ONCE, str(folder)]
    for _ in range(4):
        started = [subprocess.Popen(words) for _ in range(3)]
        assert [one.wait(timeout=60) for one in started] == [0, 0, 0]


def test_every_type_that_is_decoded_is_prepared() -> None:
    modules = [ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")]
    decoded = {name for module in modules for name in types_decoded(module)}
    prepared = {
        one.name
        for module in modules
        for one in ast.walk(module)
        if isinstance(one, ast.ClassDef)
        and any(isinstance(by, ast.Name) and by.id == "decodable" for by in one.decorator_list)
    }
    assert {"Manifest", "PackIndex", "Plan", "SweptPoint", "BuildRecord"} <= decoded
    assert decoded <= prepared


def types_decoded(module: ast.Module) -> Iterator[str]:
    """The classes that calls of msgspec's `decode` and `convert` name."""
    for call in ast.walk(module):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func).startswith("msgspec.")):
            continue
        if ast.unparse(call.func).endswith((".decode", ".convert")):
            kinds = [word.value for word in call.keywords if word.arg == "type"] + call.args[1:]
            for name in (one for kind in kinds for one in ast.walk(kind) if isinstance(one, ast.Name)):
                if name.id[0].isupper():
                    yield name.id
