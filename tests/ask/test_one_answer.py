"""Whoever asks gets the same answer: the command line, MCP, the Python interface, the check, the page and the ladder.

Of two rungs of a ladder that computes, and of two of one that moves bytes, whose useful bytes its file declares.
"""

import json
from pathlib import Path

import pytest

import profiler
from profiler.ask.code import find_machine_code
from profiler.ask.ladder import climb_ladder
from profiler.ask.named.settings import Settings
from profiler.ask.report import report_ladder, report_named
from profiler.commands.reading.agent_tools import TOOLS
from profiler.commands.shared.options import VerbSettings
from profiler.present.render.json import to_json

PAIRS = {"gemm": (5, 6), "relu": (1, 2)}


def plain(finding):
    return json.loads(to_json(finding))


class Surfaces:
    """One pair of rungs, asked about in every way there is."""

    def __init__(self, ladder, store, prof_here):
        self.ladder, self.store, self._prof = ladder, store, prof_here
        self.numbers = PAIRS[ladder]
        self.before, self.after = map(str, self.numbers)
        self.settings = Settings(runs=store.root, ladder=ladder, ladder_given=True)

    def verb(self, *words, cwd=None):
        """The JSON that a verb prints."""
        shared = ["--runs", self.store.root, "--ladder", self.ladder, "--format", "json"]
        result = self._prof(*shared, *words, cwd=cwd)
        assert result.stderr == ""
        return json.loads(result.stdout)

    def tool(self, name, **arguments):
        """The JSON that a tool of MCP answers with."""
        (tool,) = [one for one in TOOLS if one.name == name]
        settings = VerbSettings(runs=self.store.root, ladder=self.ladder, ladder_given=True)
        return json.loads(tool.call({"full": True, **arguments}, settings))

    def runs(self):
        return [self.store.find(number, ladder=self.ladder) for number in (self.before, self.after)]

    def step(self):
        """Returns the ladder's step between the two rungs, which follow each other."""
        (step,) = [
            step
            for step in climb_ladder(self.settings).steps
            if (step.before.kernel.number, step.after.kernel.number) == self.numbers
        ]
        return step

    def page_of_both(self):
        named = [self.before, self.after]
        return report_named(named, self.settings, None, kernel_name=None, force=False)


@pytest.fixture(params=PAIRS)
def asked(request, recorded, prof_here):
    return Surfaces(request.param, recorded, prof_here)


# compare


def test_the_command_mcp_python_and_the_page_give_the_same_comparison(asked):
    printed = asked.verb("compare", asked.before, asked.after, "--full")
    (pair,) = asked.page_of_both().pairs
    assert asked.tool("compare", before=asked.before, after=asked.after) == printed
    assert plain(profiler.compare(*asked.runs())) == printed
    assert plain(pair.comparison) == printed


def test_the_ladders_step_has_the_metrics_that_a_comparison_has(asked):
    metrics = asked.verb("compare", asked.before, asked.after, "--full")["metrics"]
    assert plain(asked.step().change.metrics) == metrics
    (step,) = [
        one
        for one in profiler.ladder(asked.ladder, asked.store).steps
        if (one.before, one.kernel) == asked.numbers
    ]
    assert plain(step.metrics) == metrics
    (pair,) = [
        pair
        for pair in report_ladder(asked.settings, None).pairs
        if (pair.before, pair.after) == (asked.before, asked.after)
    ]
    assert plain(pair.comparison.metrics) == metrics


def test_every_metric_that_a_comparison_has_can_be_checked_and_is_as_large(asked, tmp_path):
    metrics = asked.verb("compare", asked.before, asked.after, "--full")["metrics"]
    limits = [f"{one['name']}.rise_pct = 1000" for one in metrics if one["name"] != "duration_ns"]
    (tmp_path / "prof.toml").write_text("\n".join(["[check]", *limits]))
    (pair,) = asked.verb("check", "--full", "--baseline", asked.before, asked.after, cwd=tmp_path)["pairs"]
    checked = {one["metric"]: one for one in pair["checks"] if one["basis"] == "profiled"}
    assert {one["name"] for one in metrics} - checked.keys() <= {"duration_ns"}
    for one in metrics:
        if one["name"] in checked:
            assert (checked[one["name"]]["before"], checked[one["name"]]["after"]) == (
                one["before"],
                one["after"],
            )


def test_the_work_that_a_ladder_declares_reaches_every_answer(recorded, prof_here, tmp_path, monkeypatch):
    asked = Surfaces("relu", recorded, prof_here)
    monkeypatch.chdir(tmp_path)  # the ladder is found beside the runs, wherever one asks
    (tmp_path / "prof.toml").write_text("[check]\ninst_per_byte.worse_pct = 5\n")
    (pair,) = asked.page_of_both().pairs
    answers = {
        "verb": asked.verb("compare", "1", "2", "--full"),
        "mcp": asked.tool("compare", before=1, after=2),
        "python": plain(profiler.compare(*asked.runs())),
        "page": plain(pair.comparison),
    }
    for who, answer in answers.items():
        assert "inst_per_byte" in [one["name"] for one in answer["metrics"]], who
        (moved,) = [one for one in answer["attribution"]["factors"] if one["name"] == "bytes_moved"]
        assert [one["name"] for one in moved["factors"]] == ["useful_bytes", "moved_per_useful_byte"], who
    (checked,) = asked.verb("check", "--baseline", "1", "2")["pairs"]
    assert [one["metric"] for one in checked["checks"]] == ["duration_ns", "inst_per_byte"]


# show, ladder, sass


def test_a_recording_is_the_same_on_the_command_line_over_mcp_and_on_the_page(asked):
    shown = asked.verb("show", asked.after, "--full")
    assert asked.tool("show", source=asked.after) == shown
    *_, kernel = asked.page_of_both().kernels
    assert [plain(kernel.sheet)] == shown["kernels"]
    catalogued = {
        one["name"]: one["mean"] for one in asked.verb("show", asked.after)["kernels"][0]["metrics"]
    }
    after = {
        one["name"]: one["after"]
        for one in asked.verb("compare", asked.before, asked.after, "--full")["metrics"]
    }
    common = catalogued.keys() & after.keys()
    assert common
    assert {name: after[name] for name in common} == pytest.approx(
        {name: catalogued[name] for name in common}, rel=1e-5
    )


def test_a_ladder_is_the_same_on_the_command_line_over_mcp_in_python_and_on_the_page(asked):
    printed = asked.verb("ladder", "--full")
    assert asked.tool("ladder") == printed
    assert plain(profiler.ladder(asked.ladder, asked.store).ladder) == printed
    report = report_ladder(asked.settings, None)
    assert plain(report.ladder.ladder) == printed
    assert plain(report.roofline) == plain(profiler.roofline(asked.ladder, asked.store))


def test_machine_code_is_the_same_on_the_command_line_over_mcp_and_on_the_page(asked):
    words = {"before": asked.before, "after": asked.after}
    assert asked.tool("sass", **words) == asked.verb("sass", *words.values(), "--full")
    assert asked.tool("sass", full=False, **words) == asked.verb("sass", *words.values())
    (pair,) = asked.page_of_both().pairs
    assert plain(pair.code.finding) == plain(find_machine_code(*words.values(), asked.settings).finding)


def test_a_report_file_is_answered_for_as_the_run_that_it_became(recorded, prof_here, reports):
    asked = Surfaces("gemm", recorded, prof_here)
    files = [str(reports / f"gemm_{number}.ncu-rep") for number in "56"]
    loose = plain(profiler.compare(*map(Path, files)))
    assert asked.verb("compare", *files, "--full") == loose
    assert asked.tool("compare", before=files[0], after=files[1]) == loose
    stored = asked.verb("compare", "textbook-5", "textbook-6", "--full")
    assert stored["metrics"] == loose["metrics"]
