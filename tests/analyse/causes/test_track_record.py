"""The diagnosis on kernels with a known change: it answers as the published record says, whatever the names are."""

import hashlib
import json
import random
import re
import tarfile
import tomllib
from collections import Counter
from pathlib import Path

import cause_record
import pyarrow as pa
import pytest
import track_record
from pairs import read_pairs

from profiler.analyse.causes.diagnose import diagnose
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.causes import BY_NAME
from profiler.store.runs.run import Run
from profiler.store.runs.run_store import RunStore
from tests.made_causes import cause_of

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "data" / "causes"
LISTED = read_pairs()
WAITING = tomllib.loads((DATA / "samples.toml").read_text()).get("pair", [])
RECORD = json.loads(track_record.RECORD.read_text())
SAMPLE = random.Random(20261122).sample(LISTED["pair"], 8)


@pytest.fixture(scope="module")
def like():
    return RunStore(ROOT / "tests" / "data" / "runs").find("gemm-4", "gemm")


@pytest.fixture(scope="module")
def sampled_runs():
    names = {pair[side] for pair in SAMPLE for side in ("before", "after")}
    return {name.lower(): run for name, run in track_record.open_kernels(names).items()}


def recorded(pair):
    (row,) = [row for row in RECORD["pairs"] if (row["before"], row["after"]) == (pair["before"], pair["after"])]  # fmt: skip
    return {key: value for key, value in row.items() if key != "full"}


@pytest.mark.parametrize("pair", SAMPLE, ids=lambda pair: f"{pair['before']}-{pair['after']}")
def test_a_pair_is_diagnosed_as_recorded(pair, sampled_runs, like):
    (row,) = track_record.judge_pairs([pair], sampled_runs, {}, like)
    assert json.loads(json.dumps(row)) == recorded(pair), "run tests/data/causes/track_record.py"


@pytest.mark.campaign
def test_the_whole_record_is_current(tmp_path):
    runs = track_record.read_store(track_record.PACKS, tmp_path / "source")
    full = track_record.read_store(["full"], tmp_path / "full")
    assert track_record.as_text(track_record.measure(runs, full)) == track_record.RECORD.read_text()


def test_a_cause_that_a_rule_of_nvidia_names_too_has_its_estimate_in_the_evidence():
    (run,) = track_record.open_kernels(["tile_square"]).values()
    estimates = {
        one.cause: one.evidence.get("nvidia_rule_speedup_pct") for one in track_record.causes_of(run)
    }
    assert estimates.pop("bank-conflicts") > 10
    assert set(estimates.values()) <= {None}


# Figures of a sentence that are the same for every kernel: the lanes of a warp, the bytes of a sector, the bits of a number, and what is advised.
ALWAYS = re.compile(
    r"32 bytes a request|sectors of 32 bytes|of 64 bits|of 32 lanes|a tile of 8 x 8 results a thread, each feeds 16|8 x 8|128 x 128"
)
NEARLY_ALL = {"> 99 %": "100 %", "< 1 %": "0 %"}  # as such shares round
NEARLY = re.compile("|".join(NEARLY_ALL))
FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e\+\d+)?")


def is_in(figure, evidence):
    """Returns whether the figure is one of the evidence, rounded, in its unit, in thousands, KiB or GB/s; or what it leaves of 100."""
    shown = float(figure.replace(",", ""))
    digits = len(figure.partition(".")[2])
    values = [
        one
        for value in evidence.values()
        for one in (value, value / 1000, value / 1024, value / 1e9, 100 - value)
    ]
    return any(shown in (round(value, digits), float(f"{value:.3g}")) for value in values)


def test_every_figure_of_a_sentence_is_in_its_evidence(sampled_runs):
    lacking = [
        (name, cause.cause, figure)
        for name, run in sampled_runs.items()
        for cause in track_record.causes_of(run)
        for figure in FIGURE.findall(
            ALWAYS.sub("", NEARLY.sub(lambda said: NEARLY_ALL[said[0]], cause.sentence))
        )
        if not is_in(figure, cause.evidence)
    ]
    assert lacking == []


# What the record says


def test_the_record_has_every_pair_ceiling_and_decoy():
    assert [(row["before"], row["after"]) for row in RECORD["pairs"]] == [
        (pair["before"], pair["after"]) for pair in LISTED["pair"]
    ]
    for kind in ("ceiling", "decoy"):
        assert [row["kernel"] for row in RECORD[f"{kind}s"]] == [one["kernel"] for one in LISTED[kind]]
    assert [[removal["after"] for removal in row["removals"]] for row in RECORD["alone"]] == [
        [one["after"], *one["instead"]] for one in LISTED["alone"]
    ]


def test_no_bound_was_broken_with_or_without_the_profiler():
    broken = [
        (row["before"], row["saved"], row["saved_alone"], row["at_most"])
        for row in RECORD["pairs"]
        if row["at_most"] is not None
        and max(row["saved"], row["saved_alone"]) > row["at_most"] + track_record.TOLERANCE
    ]
    assert broken == []


def test_what_is_named_first_was_removed_by_itself_and_no_removal_broke_a_bound():
    removals = {
        row["kernel"]: {name for one in row["removals"] for name in one["removed"]} for row in RECORD["alone"]
    }
    assert [row["kernel"] for row in RECORD["alone"] if row["first"] not in removals[row["kernel"]]] == []
    assert [one["after"] for row in RECORD["alone"] for one in row["removals"] if one["broken"]] == []


def test_each_cause_that_a_pair_leaves_in_place_was_removed_from_its_kernel():
    """By the change of another pair, or by a kernel that was written for it; `like` names kernels that this one stands in for."""
    removed = {
        (kernel, cause)
        for one in LISTED["alone"]
        for kernel in (one["before"].removesuffix(track_record.AGAIN), *one.get("like", ()))
        for cause in one["causes"]
    }
    left = {(row["before"], row["first"]) for row in RECORD["pairs"] if row["first_is"] == "left"}
    assert left - removed == set()


def test_what_was_removed_by_itself_for_this_counts_as_no_pair():
    pairs = {(row["before"], row["after"]) for row in RECORD["pairs"]}
    befores = {before for before, _ in pairs}
    written_for_it = [one for one in LISTED["alone"] if one["before"] not in befores]
    assert written_for_it
    assert pairs.isdisjoint((one["before"], one["after"]) for one in written_for_it)


def test_what_a_pair_of_a_kernel_removes_is_said_by_its_list_also_of_one_that_it_stands_in_for():
    pairs = [
        {"before": "a", "after": "b", "causes": ["barriers"]},
        {"before": "a", "after": "c", "causes": ["bank-conflicts"]},
        {"before": "x", "after": "y", "causes": ["idle-lanes"]},
    ]
    one = {"before": "a-again", "after": "new", "causes": ["too-little-reuse"], "instead": ["c-again", "b-again"]}  # fmt: skip
    assert [found["causes"][0] for found in track_record.removals_of(one, pairs)] == ["too-little-reuse", "bank-conflicts", "barriers"]  # fmt: skip
    other = {"before": "d", "after": "new", "causes": ["too-little-reuse"], "instead": ["e"], "like": ["x"]}
    assert [found["causes"][0] for found in track_record.removals_of(other, pairs)] == ["too-little-reuse", "idle-lanes"]  # fmt: skip


def removed_alone(first, **saved):
    """Returns a kernel of which each of these causes was removed by itself, which saved so much of 40 % that were expected."""
    removals = [{"removed": [name], "expected": 40.0, "saved": points} for name, points in saved.items()]
    return {"kernel": "a", "first": first, "removals": removals}


@pytest.mark.parametrize(
    ("barriers", "said"),
    [
        (43.0, "first in 1 of 1 kernels, or within 3 points of what does. "),
        (53.0, "first in 1 of 1 kernels, or within 3 points of what does. "),
        (53.4, "first in 1 of 1 kernels, or within 3 points of what does. "),
        (54.1, "first in 0 of 1 kernels, or within 3 points of what does; where not, it is up to 4 points behind. "),
    ],
)  # fmt: skip
def test_the_largest_saving_stands_first_or_is_behind(barriers, said):
    table = cause_record.alone_table([removed_alone("spills", spills=50.4, barriers=barriers, chains=3.0)])
    assert said in table
    assert f"| `a` | `spills` | 40 | 50 | `barriers` {barriers:.0f}, `chains` 3 |" in table
    assert f"wrong by {(10.4 + abs(barriers - 40) + 37) / 3:.1f} points" in table


def test_of_several_kernels_those_whose_largest_saving_is_behind_are_told_from_the_others():
    listed = [
        removed_alone("a", a=50.0, b=40.0),
        removed_alone("a", a=40.0, b=52.0),
        removed_alone("b", a=47.0, b=40.0),
    ]
    assert "in 1 of 3 kernels, or within 3 points of what does; where not, it is up to 12 points behind" in cause_record.alone_table(listed)  # fmt: skip


def test_every_failure_is_explained_and_nothing_else_is():
    assert set(cause_record.explanations()) == {kernel for kernel, _ in cause_record.failures(RECORD)}


def test_a_cause_that_remains_is_no_mistake_and_no_hit():
    pair = {"before": "a", "after": "b", "file": "a.cu", "causes": ["barriers"], "also": ["bank-conflicts"]}
    causes = [cause_of("bank-conflicts", 50.0), cause_of("barriers", 10.0)]
    judged = track_record.judge(pair, causes, saved=20.0)
    assert (judged["first_is"], judged["rank"]) == ("left", 2)
    assert track_record.judge(pair | {"also": []}, causes, saved=20.0)["first_is"] == "wrong"
    assert track_record.judge(pair, causes[1:], saved=20.0)["first_is"] == "right"


@pytest.mark.parametrize(("saved", "broken"), [(63.0, False), (63.1, True)])
def test_a_bound_is_broken_by_more_than_three_points(saved, broken):
    pair = {"before": "a", "after": "b", "file": "a.cu", "causes": ["barriers"]}
    assert track_record.judge(pair, [cause_of("barriers", 10.0, 60.0)], saved)["broken"] == broken


# The list of pairs


def test_every_mark_and_every_cause_of_the_list_resolves():
    for pair in LISTED["pair"]:
        assert set(pair["causes"]) | set(pair.get("also", ())) <= set(BY_NAME)
        if "lines" in pair:
            first, last = pair["lines"]
            assert 1 <= first <= last <= len((DATA / pair["file"]).read_text().splitlines())
    for kind, asked in (("ceiling", "causes"), ("decoy", "never"), ("alone", "causes")):
        for one in LISTED[kind]:
            assert set(one[asked]) <= set(BY_NAME)


def test_every_kernel_of_the_list_was_recorded_and_timed():
    held = []
    for pack in track_record.PACKS:
        with tarfile.open(DATA / f"{pack}.tar.xz") as packed:
            held += [name.removesuffix(".ncu-rep") for name in packed.getnames()]
    assert [name for name, count in Counter(held).items() if count > 1] == []  # one would hide the other
    wanted = set(track_record.names_of(LISTED))
    assert wanted <= set(held)
    assert wanted <= set(track_record.times())


def test_every_cause_with_a_remedy_has_a_pair_and_every_ceiling_a_kernel():
    named = {name for pair in LISTED["pair"] for name in pair["causes"]}
    ceilings = {name for one in LISTED["ceiling"] for name in one["causes"]}
    waiting = {name for pair in WAITING for name in pair["causes"]} - named
    assert set(BY_NAME) == named | ceilings | waiting
    *_, after = (ROOT / "docs/causes.md").read_text().partition("not recorded yet")
    assert [name for name in waiting if f"`{name}`" not in after] == []


def test_a_pair_that_waits_to_be_recorded_has_no_recording():
    for pair in WAITING:
        assert {pair["before"], pair["after"]} & set(track_record.times()) == set()


# Names do not matter


def renamed(run):
    """Returns the run with other names for its kernel and files, and other text for its source."""
    tables = {name: run.table(name) for name in run.manifest.tables}
    columns = {"launches": ("function", "kernel", "mangled"), "instructions": ("file", "source"), "rules": ("file",)}  # fmt: skip
    for table, names in columns.items():
        for name in names:
            at = tables[table].schema.get_field_index(name)
            field = tables[table].schema.field(at)
            values = [value and another_name(name, value) for value in tables[table].column(at).to_pylist()]
            tables[table] = tables[table].set_column(at, field, pa.array(values).cast(field.type))
    return Run(run.path, run.manifest, stored=False, _tables=tables)


def another_name(column, value):
    """Returns another name that still says which language it is of, because advice comes in the words of that language."""
    name = hashlib.sha256(value.encode()).hexdigest()
    if column == "mangled":
        return f"_Z{name}" if value.startswith("_Z") else name
    return name + Path(value).suffix if column == "file" else name


def without_names(causes):
    return [
        (one.cause, one.sentence, one.try_, one.saves_pct, [(place.opcode, place.offset, place.line) for place in one.where])
        for one in causes
    ]  # fmt: skip


@pytest.mark.parametrize("name", [pair["before"] for pair in SAMPLE[:4]])
def test_names_of_kernels_and_files_have_no_influence(name, sampled_runs):
    run = sampled_runs[name.lower()]
    other = renamed(run)
    (kernel,) = set(other.table("launches").column("kernel").to_pylist())
    assert without_names(diagnose(profile_kernel(other, kernel)).causes) == without_names(
        track_record.causes_of(run)
    )


def test_the_part_that_the_preset_counters_records_has_no_samples_and_says_so(sampled_runs, like):
    run = track_record.as_counters(next(iter(sampled_runs.values())), like)
    unseen = diagnose(profile_kernel(run, track_record.kernel_of(run))).unseen
    assert any("where warps wait" in one for one in unseen)
    assert any("the sectors and passes of each access" in one for one in unseen)
