"""A process is forked, and so starts in milliseconds, unless it was given what an interpreter reads when it starts.

So is what it spawns, its reader of reports for example.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import forked
import pytest

HAS_IMPORTS = [sys.executable, "-c", "import sys; print('pandas' in sys.modules)"]


@pytest.mark.parametrize(
    ("given", "is_forked"),
    [({}, True), ({"PYTHONHASHSEED": "6640"}, True), ({"PYTHONOPTIMIZE": "1"}, False)],
    ids=["as the tests began", "what Dask leaves behind", "another interpreter"],
)
def test_it_is_forked_where_an_interpreter_would_be_the_same(given, is_forked):
    found = forked.run(HAS_IMPORTS, env={**os.environ, **given}, capture_output=True, text=True, check=True)
    assert found.stdout == f"{is_forked}\n"


def test_the_process_that_others_are_forked_from_has_one_thread():
    """The locks of others would stay locked in what is forked from it: the C library is not told."""
    forked.run(HAS_IMPORTS, check=True, capture_output=True)
    assert len(list(Path(f"/proc/{forked.origin_pid()}/task").iterdir())) == 1


@pytest.fixture
def spawning(tmp_path):
    """`spawning(environment)`: what a process prints that spawns another one, and what that one says of itself."""
    (tmp_path / "tellers.py").write_text(
        "import os, sys\n"
        "def tell(pipe, number):\n"
        "    pipe.send(('pandas' in sys.modules, os.getppid(), os.getpgrp(), os.environ.get('LATE'), number))\n"
        "    os._exit(7)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, os, signal, tellers\n"
        "if __name__ == '__main__':\n"
        "    os.environ['LATE'] = 'set later'\n"
        "    if 'INTERRUPTED' in os.environ:\n"
        "        signal.signal(signal.SIGINT, lambda *_: None)\n"
        "        os.killpg(0, signal.SIGINT)\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    here, there = context.Pipe()\n"
        "    child = context.Process(target=tellers.tell, args=(there, 5))\n"
        "    child.start()\n"
        "    has_imports, parent, group, late, number = here.recv()\n"
        "    child.join()\n"
        "    ours = (parent, group) == (os.getpid(), os.getpgrp())\n"
        "    print(has_imports, ours, late, number, child.exitcode)\n"
    )

    def spawning(**environment: str) -> str:
        return forked.run(
            [sys.executable, script, "ingest"], env={**os.environ, **environment},
            capture_output=True, text=True, check=True, start_new_session=True,
        ).stdout  # fmt: skip

    return spawning


def test_a_forked_process_spawns_forked_children_that_are_given_what_spawned_ones_are(spawning):
    assert spawning() == "True True set later 5 7\n"


def test_a_forked_process_spawns_ordinary_children_where_that_is_asked_for(spawning):
    assert spawning(**forked.UNFORKED) == "False True set later 5 7\n"


def test_a_forked_process_that_survives_an_interrupt_of_its_group_spawns_forked_children_still(spawning):
    assert spawning(INTERRUPTED="1") == "True True set later 5 7\n"
