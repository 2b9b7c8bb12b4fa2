"""Whatever is decoded may be decoded by several threads at once, also for the first time of a process."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "profiler"
# A module without these words decodes nothing.
DECODES = ("msgspec", "decodable", "read_manifest", "decode_manifest", "_read")
OURS = ("read_manifest", "decode_manifest", "_read_sealed", "self._read")  # they take the type to decode

FIRST_AT_ONCE = """
import sys, threading
import msgspec
from profiler.store.tables.decoding import decodable

sys.setswitchinterval(1e-6)
text = b'{"one": {"number": 1}, "many": [{"number": 2}], "named": {"a": {"number": 3}}}'

def read(kind, together):
    together.wait()
    msgspec.json.decode(text, type=kind)

for _ in range(300):
    inner = msgspec.defstruct("Inner", [("number", int)])
    kind = decodable(msgspec.defstruct("Kind", [("one", inner), ("many", list[inner]), ("named", dict[str, inner])]))
    together = threading.Barrier(4)
    threads = [threading.Thread(target=read, args=(kind, together)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def test_threads_may_be_the_first_to_decode_a_type_that_is_prepared():
    """Each type is as new as those of a process that has just started. Unprepared ones crash it before long."""
    assert subprocess.run([sys.executable, "-c", FIRST_AT_ONCE], timeout=120, check=False).returncode == 0


def test_every_type_that_is_decoded_is_prepared():
    texts = [path.read_text() for path in PACKAGE.rglob("*.py")]
    modules = [ast.parse(text) for text in texts if any(word in text for word in DECODES)]
    decoded = {name for module in modules for name in types_decoded(module)}
    prepared = {
        one.name
        for module in modules
        for one in ast.walk(module)
        if isinstance(one, ast.ClassDef)
        and any(isinstance(by, ast.Name) and by.id == "decodable" for by in one.decorator_list)
    }
    # A decoder that a module makes when it is imported has inspected its type by then.
    made = (one for module in modules for one in module.body if isinstance(one, ast.Assign))
    prepared |= {name for one in made for name in types_decoded(one)}
    assert {"Manifest", "SweepManifest", "PackIndex", "UnfinishedPlan", "SweptPoint", "BuildRecord"} <= decoded  # fmt: skip
    assert decoded <= prepared


def types_decoded(module):
    """The classes that calls of msgspec's `decode`, `convert` and `Decoder` name, and the callers of our own."""
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in OURS:
            yield from (kind.id for kind in call.args if isinstance(kind, ast.Name) and kind.id[0].isupper())
        if isinstance(call, ast.FunctionDef) and call.name == "decode_manifest":
            yield from (kind.id for kind in call.args.defaults if isinstance(kind, ast.Name))
        if not (isinstance(call, ast.Call) and ast.unparse(call.func).startswith("msgspec.")):
            continue
        if ast.unparse(call.func).endswith((".decode", ".convert", ".Decoder")):
            first = 0 if ast.unparse(call.func).endswith(".Decoder") else 1
            kinds = [word.value for word in call.keywords if word.arg == "type"] + call.args[first:]
            for name in (one for kind in kinds for one in ast.walk(kind) if isinstance(one, ast.Name)):
                if name.id[0].isupper():
                    yield name.id
