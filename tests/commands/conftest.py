"""Fixtures that the tests of several verbs share."""

from pathlib import Path

import pytest

from profiler.measuring.tools import disassembly


@pytest.fixture(scope="package", autouse=True)
def disassembled_once():
    """NVIDIA's disassembler takes 0.4 s for the smallest file, and the tests give it the same few again and again."""
    known = {}

    def run(command, **options):
        key = (*command[:-1], Path(command[-1]).read_bytes())
        if key not in known:
            known[key] = disassembly_run(command, **options)
        return known[key]

    disassembly_run = disassembly.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disassembly, "run", run)
        yield
