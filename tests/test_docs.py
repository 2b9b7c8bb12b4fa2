"""What `docs/` shows are commands that prof takes, limits that it reads and codes that it ends with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from markdown_it import MarkdownIt

from profiler import errors
from profiler.catalog.thresholds import find_thresholds
from profiler.cli import app

ROOT = Path(__file__).resolve().parent.parent
CI = ROOT / "docs" / "ci.md"
GROUP = typer.main.get_command(app)


def blocks(language):
    tokens = MarkdownIt("commonmark").parse(CI.read_text())
    return [token.content for token in tokens if token.type == "fence" and token.info == language]


def commands():
    """Every `prof` command of the shell examples and of the workflows."""
    lines = [line for block in (*blocks("sh"), *blocks("yaml")) for line in block.splitlines()]
    found = [re.search(r"(?:^\s*|run: )(prof .+)$", line) for line in lines]
    return [match[1] for match in found if match]


def options_of(command):
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)}


@pytest.mark.parametrize("command", commands())
def test_every_command_shown_is_a_verb_with_options_that_it_has(command):
    words = shlex.split(command, comments=True)[1:]
    verb = next(word for word in words if word in GROUP.commands)
    before, after = words[: words.index(verb)], words[words.index(verb) :]
    assert {word for word in before if word.startswith("-")} <= options_of(GROUP)
    assert {word for word in after if word.startswith("-")} <= options_of(GROUP.commands[verb])


def test_both_workflows_are_shown():
    collecting, reading = blocks("yaml")
    assert "self-hosted" in collecting
    assert "prof --runs" in collecting
    assert "runs-on: ubuntu-latest" in reading
    for workflow in (collecting, reading):
        assert "check --baseline" in workflow
        assert "\t" not in workflow


def test_the_limits_shown_are_read(tmp_path):
    (example,) = blocks("toml")
    (tmp_path / "prof.toml").write_text(example)
    shown = set(re.findall(r"^(\w+)\.\w+_pct", example, re.MULTILINE))
    assert {limit.metric.name for limit in find_thresholds(tmp_path).limits} == shown


def test_the_exit_codes_told_are_those_of_the_errors():
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", CI.read_text(), re.MULTILINE)}
    ours = (errors.NotComparable, errors.MetricNotFound, errors.CheckUndecided, errors.ThresholdsInvalid)
    assert told == {0, 1, *(error.exit_code for error in ours)}
