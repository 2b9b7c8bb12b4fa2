"""Every command that an answer or an error suggests works as it is pasted, whatever the files are called."""

import re
import shlex
import shutil

import pytest

FILES = {
    "several kernels.ncu-rep": "several",
    "it's his.ncu-rep": "hostile",
    "of monday/processes.ncu-rep": "processes",
    "before it.ncu-rep": "gemm_5",
    "after.ncu-rep": "gemm_6",
}
QUESTIONS = (
    "show .",
    "show 'of monday'",
    "show 'before it.ncu-rep' after.ncu-rep",
    "show 'several kernels.ncu-rep' after.ncu-rep",
    "show 'several kernels.ncu-rep'",
    """show "it's his.ncu-rep" """,
    "compare 'before it.ncu-rep' after.ncu-rep",
    "compare 'several kernels.ncu-rep' 'of monday/processes.ncu-rep'",
    "compare . after.ncu-rep",
    "compare 'of monday/processes.ncu-rep'",
    "show 'before it'",
    "show 'several kernels.ncu-rep' -k nothing",
    "check --baseline 'before it.ncu-rep' after.ncu-rep",
    "ladder 'several kernels.ncu-rep'",
    "'several kernels.ncu-rep'",
    "report 'of monday' . -o page.html",
)
# Words that a reader replaces by their own, as in `prof show RECORDING`, and what stands for any file.
_PLACEHOLDER = re.compile(r"\b[A-Z]{1,}\b|\.\.\.|\b(?:mine|[ab])\.ncu-rep")
_NEEDS_A_GPU = ("collect", "tune", "time", "verify")


@pytest.fixture
def my_reports(reports, tmp_path):
    folder = tmp_path / "my reports"
    for name, of in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(reports / f"{of}.ncu-rep", folder / name)
    return folder


def commands_in(text):
    """The whole commands in backticks that need no word of the reader's; `prof compare` alone is a name and no command."""
    quoted = re.findall(r"`prof ([^`]+)`", " ".join(text.split()))
    hinted = re.findall(r"(?:do with the report|look at them with): prof (.+)", text)
    return [
        one
        for one in (*quoted, *hinted)
        if " " in one and not _PLACEHOLDER.search(one) and one.split()[0] not in _NEEDS_A_GPU
    ]


@pytest.mark.slow
def test_each_command_that_an_answer_suggests_works_as_it_is_pasted(prof, my_reports):
    suggested = {}
    for question in QUESTIONS:
        asked = prof(*shlex.split(question), cwd=my_reports)
        suggested |= dict.fromkeys(commands_in(asked.stdout + asked.stderr), question)
    assert len(suggested) >= 6
    done = {command: prof(*shlex.split(command), cwd=my_reports) for command in suggested}
    failed = {command: (suggested[command], ran.stderr) for command, ran in done.items() if ran.returncode}
    assert failed == {}


def test_what_is_no_whole_command_is_not_tried():
    assert commands_in("`prof show a.ncu-rep` shows one, `prof compare` two; `prof show RECORDING`.") == []
    assert commands_in("`prof show 'before it.ncu-rep'\n  -k scale` shows it.") == [
        "show 'before it.ncu-rep' -k scale"
    ]
