"""A test whose tool is not installed is skipped with the reason, and counted in one line; in CI it fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
NEEDS_GIT = "tests/measuring/tools/test_git.py::test_the_commit_and_whether_the_tree_differs"
NEEDS_COMPILER = "tests/measuring/rungs/test_build.py::test_the_real_compiler_builds_a_program"


@pytest.fixture
def bare(tmp_path):
    """The environment of a machine that has this Python and nothing else."""
    return {name: value for name, value in os.environ.items() if name != "CI"} | {"PATH": str(tmp_path)}


def run_tests(environment, *words):
    return run_pytest(environment, *words, NEEDS_GIT, NEEDS_COMPILER)


def run_pytest(environment, *words):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_last_lines_say_what_was_skipped_for_want_of_which_package(bare):
    done = run_tests(bare, "-n", "1")

    assert done.returncode == 0, done.stdout
    *_, lacking, _ = done.stdout.splitlines()
    start, _, counts = lacking.partition(": ")
    assert start == "skipped for want of a tool"
    assert sorted(counts.split(", ")) == ["1 (g++: apt-get install g++)", "1 (git: apt-get install git)"]


def test_in_ci_a_test_that_lacks_a_tool_fails(bare):
    done = run_tests({**bare, "CI": "true"})

    assert done.returncode == 1
    assert "lacks git (apt-get install git)" in done.stdout
    assert "lacks g++ (apt-get install g++)" in done.stdout
    assert "skipped for want" not in done.stdout


def test_a_path_that_does_not_exist_is_named_before_workers_start(bare):
    done = run_pytest(bare, "-n", "1", "tests/test_text.py", "tests/nowhere.py")

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.strip() == "ERROR: there is no tests/nowhere.py"


def test_workers_that_find_no_test_say_so(bare):
    done = run_pytest(bare, "-n", "1", "tests/test_text.py::test_of_nothing")

    assert done.returncode == 5
    assert "no test has this name or marker, so nothing was tested" in done.stdout


def test_in_ci_a_session_without_one_passed_test_fails(bare, tmp_path):
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_sessionfinish\n")
    (tmp_path / "test_skipped.py").write_text("import pytest\ndef test_it(): pytest.skip('no')\n")
    found = f"pythonpath={ROOT / 'tests' / 'processes'}"  # as in the pyproject.toml that is not read here
    words = (f"--rootdir={tmp_path}", "-c", os.devnull, "-o", found, tmp_path / "test_skipped.py")

    assert run_pytest(bare, *words).returncode == 0
    assert run_pytest({**bare, "CI": "true"}, *words).returncode == 5
