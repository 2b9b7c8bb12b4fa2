"""Presets are data: what each asks ncu for, and that it covers what a comparison reads."""

import hashlib
import json
import re
import runpy
from pathlib import Path

import pytest

from profiler.analyse.compare.four_way import EXPECTED
from profiler.catalog import metrics, presets
from profiler.catalog.metrics import BY_NAME, CATALOGUE, HEADLINE, MEMORY_HEADLINE, Metric
from profiler.catalog.presets import MEASURED_ON, PRESETS, find_preset, what_records_all
from profiler.errors import MetricNotFound, PresetNotFound
from profiler.measuring.collect.target import Target, collection_key
from profiler.measuring.tools.ncu import Ncu, NcuOptions, Selection
from profiler.store.runs.manifest import Provenance

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "transcripts"
NEEDED_BY_ATTRIBUTION = (
    "duration_ns", "cycles", "sm_frequency_hz", "inst_issued", "issue_rate", "issue_active_pct", "active_warps",
    "warp_latency", "dram_bytes_read", "dram_bytes_written", "dram_bytes_per_s", "dram_throughput_pct",
    "fma_pipe_pct", "alu_pipe_pct", "lsu_pipe_pct", "tensor_pipe_pct",
)  # fmt: skip
every_preset = pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)


def test_the_names():
    assert [preset.name for preset in PRESETS] == ["default", "counters", "four-way", "memory", "full"]


@every_preset
def test_each_can_name_a_run_says_what_it_is_for_and_what_it_costs(preset):
    assert re.fullmatch(r"[a-z0-9-]+", preset.name)
    assert preset.doc.endswith(".")
    assert preset.passes > 0
    assert preset.required == ()
    assert len(set(preset.metrics)) == len(preset.metrics)
    assert MEASURED_ON.startswith("NVIDIA H200, ncu ")


@pytest.mark.parametrize("name", ["default", "counters", "four-way"])
def test_the_passes_are_those_that_ncu_counted(name):
    """On the GPU that `MEASURED_ON` names, where the transcripts come from."""
    call = json.loads((TRANSCRIPTS / f"{name}.json").read_text())
    said = "".join(text for _, _, text in call["events"])
    assert set(re.findall(r"- (\d+) passes", said)) == {str(find_preset(name).passes)}
    asked = call["command"][call["command"].index("--metrics") + 1]
    assert set(asked.split(",")) <= set(find_preset(name).metrics)
    sections = [word for before, word in zip(call["command"], call["command"][1:], strict=False) if before == "--section"]  # fmt: skip
    assert sections == list(find_preset(name).sections)


def requests_of(presets):
    """For each preset a hash of what it asks ncu for, which is part of the key of every run made with it."""
    asked = {one.name: (one.sections, one.metrics, one.set, one.import_source) for one in presets}
    return {
        name: hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16] for name, facts in asked.items()
    }


def test_a_preset_asks_for_what_it_always_asked_for():
    """Another hash makes every run of that preset stale, and its passes need to be counted again on a GPU."""
    assert requests_of(PRESETS) == {
        "default": "5b7bf376cece3fa8",
        "counters": "8de16f8d7bdd3a39",
        "four-way": "e25615002842a361",
        "memory": "b8c69b317c3d648e",
        "full": "b2ba808188ce68de",
    }


def test_a_new_metric_of_the_catalogue_changes_no_preset_and_makes_no_run_stale(monkeypatch):
    new = Metric("l2_new_pct", ("lts__new.sum",), "%", "memory", "A metric that somebody adds.")
    monkeypatch.setattr(metrics, "CATALOGUE", (new, *CATALOGUE))
    monkeypatch.setattr(metrics, "BY_NAME", {new.name: new, **BY_NAME})
    presets_with_it = runpy.run_path(presets.__file__)
    assert presets_with_it["find_metric"]("lts__new.sum") is new
    assert requests_of(presets_with_it["PRESETS"]) == requests_of(PRESETS)
    assert [one.passes for one in presets_with_it["PRESETS"]] == [one.passes for one in PRESETS]
    keys = [
        [
            collection_key(Target("mine", Selection(), 1, program=("./mine",)), NcuOptions(preset), provenance=Provenance(),
                           gpu="NVIDIA H200", ncu=Ncu(Path("ncu"), "2025.3.1.0"), processes=3, timed=None)
            for preset in one_catalogue
        ]
        for one_catalogue in (PRESETS, presets_with_it["PRESETS"])
    ]  # fmt: skip
    assert keys[0] == keys[1]


@every_preset
def test_each_metric_asked_for_is_in_the_catalogue_by_its_newest_name(preset):
    newest = {metric.ncu[0] for metric in CATALOGUE if metric.ncu}
    assert [name for name in preset.metrics if name not in newest] == []


@pytest.mark.parametrize("name", ["default", "counters", "full"])
def test_nothing_that_a_verdict_or_an_explanation_needs_is_missing(name):
    needed = {*HEADLINE, *MEMORY_HEADLINE, *NEEDED_BY_ATTRIBUTION, *EXPECTED}
    asked = set(find_preset(name).metrics)
    assert [one for one in needed if BY_NAME[one].ncu and BY_NAME[one].ncu[0] not in asked] == []


def test_the_counters_are_the_default_without_samples_and_source_files():
    default, counters = find_preset("default"), find_preset("counters")
    assert default.sections == (*counters.sections, "SourceCounters")
    assert (default.metrics, default.import_source) == (counters.metrics, not counters.import_source)


def test_the_default_has_the_executed_instructions_that_derived_metrics_come_from():
    assert {"MemoryWorkloadAnalysis", "WarpStateStats", "InstructionStats"} <= set(find_preset("default").sections)  # fmt: skip


def test_four_way_is_the_confirmation_and_the_duration():
    metrics = find_preset("four-way").metrics
    needed = {BY_NAME[name].ncu[0] for name in (*EXPECTED, "duration_ns")}
    assert needed <= set(metrics)
    assert len(metrics) == 6


@pytest.mark.parametrize("name", ["default", "counters", "memory", "full"])
def test_the_five_figures_of_memory_are_collected(name):
    """As Nsight Compute 2025.3 calls what its section MemoryWorkloadAnalysis prints."""
    elapsed = "avg.pct_of_peak_sustained_elapsed"
    assert {
        "dram__bytes.sum.per_second",
        f"gpu__compute_memory_request_throughput.{elapsed}",
        "l1tex__t_sector_hit_rate.pct",
        "lts__t_sector_hit_rate.pct",
        f"sm__memory_throughput.{elapsed}",
    } <= set(find_preset(name).metrics)


def test_the_headline_is_in_every_preset_but_memory():
    """`prof collect` prints it."""
    wanted = {BY_NAME[name].ncu[0] for name in HEADLINE if BY_NAME[name].ncu}
    for preset in PRESETS:
        assert wanted <= set(preset.metrics) or preset.name == "memory"


# Adding to one


def test_without_anything_more_it_is_the_preset_itself():
    preset = find_preset("default")
    assert preset.with_more([], [], None) is preset
    assert preset.with_more(["WarpStateStats"], [], None) is preset


def test_metrics_added_by_hand_are_required_and_make_the_number_of_passes_unknown():
    more = find_preset("four-way").with_more(["SourceCounters"], ["dram_bytes_read", "lts__x.sum"], "basic")
    assert more.name == "four-way"
    assert more.passes is None
    assert more.sections == ("SourceCounters",)
    assert more.set == "basic"
    assert more.required == ("dram__bytes_read.sum", "lts__x.sum")
    assert more.metrics == (*find_preset("four-way").metrics, *more.required)


def test_a_metric_that_the_preset_has_is_required_once_it_is_asked_for():
    more = find_preset("four-way").with_more([], ["duration_ns"], None)
    assert more.required == ("gpu__time_duration.sum",)
    assert more.metrics == find_preset("four-way").metrics


@pytest.mark.parametrize(
    "words", [["a__x.sum,b__y.sum"], ["a__x.sum", "b__y.sum"], [" a__x.sum , b__y.sum,", "a__x.sum"]]
)
def test_metrics_may_come_with_commas_as_ncu_takes_them(words):
    assert find_preset("memory").with_more([], words, None).required == ("a__x.sum", "b__y.sum")


def test_sections_are_asked_for_once():
    preset = find_preset("default")
    more = preset.with_more(["A", "WarpStateStats", "A"], [], None)
    assert more.sections == (*preset.sections, "A")


def test_an_older_name_of_ncus_is_asked_for_as_it_is():
    metric = next(metric for metric in CATALOGUE if len(metric.ncu) > 1)
    assert find_preset("memory").with_more([], [metric.ncu[1]], None).required == (metric.ncu[1],)


def test_a_name_that_is_neither_ours_nor_ncus_is_refused_before_anything_runs():
    with pytest.raises(MetricNotFound):
        find_preset("default").with_more([], ["durration_ns"], None)


def test_a_metric_that_is_derived_says_where_from():
    derived = next(metric.name for metric in CATALOGUE if not metric.ncu)
    with pytest.raises(MetricNotFound, match="--section InstructionStats"):
        find_preset("four-way").with_more([], [derived], None)


# Finding one


@every_preset
def test_each_is_found_by_its_name(preset):
    assert find_preset(preset.name) is preset


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("fourway", "; nearest: four-way; there are "),
        ("count", "; nearest: counters; there are "),
        ("source", "; 'default' records what it did; there are "),
        ("xyz", "no preset 'xyz'; there are default, counters, "),
    ],
)
def test_a_missing_preset_is_an_error_that_lists_those_there_are(name, hint):
    with pytest.raises(PresetNotFound, match=hint) as caught:
        find_preset(name)
    assert caught.value.exit_code == 61


@pytest.mark.parametrize(
    ("preset", "sections", "said"),
    [
        (None, [], "`prof collect` records it, and so does"),
        (
            "default",
            ["InstructionStats"],
            "An older version of prof made this recording; `prof collect` of this version",
        ),
        ("default", ["InstructionStats", "SourceCounters"], "`prof collect` records it, and so does"),
        ("counters", [], "It was recorded with `--preset counters`; `prof collect` without that records it"),
    ],
)
def test_a_run_that_prof_recorded_with_less_is_not_said_to_lack_what_prof_records(preset, sections, said):
    assert what_records_all(preset, sections).startswith(said)
