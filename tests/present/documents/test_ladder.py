"""The ladder's page: one row a rung, as wide as the window, honest about where a time is from."""

import csv
import io
from itertools import pairwise

import msgspec
import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from profiler.analyse.findings import Speedup
from profiler.analyse.ladder.ladder import LadderFinding, MissingRung, RungDelta, RungFinding, on_another_gpu
from profiler.present.documents.ladder import ladder_document
from profiler.present.render.csv import records_csv
from profiler.present.render.markdown import document_markdown
from profiler.present.render.terminal import Window, document_text
from profiler.present.short_answer import shorten_to_answer

markdown = MarkdownIt("commonmark").enable("table")

_METRICS = {
    "duration_ns": 3_177_708.8, "issue_active_pct": 71.44, "fma_pipe_pct": 65.47, "lsu_pipe_pct": 19.73,
    "stall_mio_throttle": 0.1239, "stall_short_scoreboard": 0.4625,
}  # fmt: skip


def rung(number, **fields):
    """A rung as one of the gemm ladder looks."""
    facts = {
        "kernel": number, "name": f"double_buffered_{number}"[:15], "duration_ns": 3_181_000.0, "basis": "unprofiled",
        "gflops": 43_205.0, "gbytes_per_s": 63.3, "reference_pct": 84.37, "reference": "cuBLAS fp32", "metrics": _METRICS,
        "before": None, "speedup": None, "verdict": None, "delta": {}, "refused": [], "warnings": [],
        "binding": "shared-memory-throughput-bound", "launches": 5, "run_id": f"run-{number}", "timed_run_id": None,
    }  # fmt: skip
    return RungFinding(**{**facts, **fields})


def ladder(*rungs, **fields):
    facts = {"schema_version": 1, "ladder": "gemm", "title": "C = A * B", "gpu": "NVIDIA H200"}
    return LadderFinding(**{**facts, "workload": {"m": 4096, "n": 4096}, **fields}, kernels=list(rungs))


def stepped(number, ratio, verdict, **deltas):
    return rung(
        number,
        before=number - 1,
        speedup=Speedup(ratio, None, "unprofiled"),
        verdict=verdict,
        delta={name: RungDelta(*given) for name, given in deltas.items()},
    )


def text(finding, width=None, others=(), reference=None):
    return document_text(ladder_document(finding, others, reference=reference), Window(width=width))


def in_markdown(finding):
    return document_markdown(ladder_document(finding, ()))


def in_csv(finding):
    return records_csv(ladder_document(finding, ()).records)


def table_of(page):
    return page.split("\n\n")[1].splitlines()


@pytest.mark.parametrize("reference", [0, 1])
@pytest.mark.parametrize(("pct", "is_said"), [(100.04, False), (99.6, True), (101.9, True), (97.0, False)])
def test_a_reference_that_is_not_at_100_percent_of_itself_is_explained(pct, is_said, reference):
    said = f"rung {reference} is that reference, timed in turns with itself"
    found = ladder(rung(reference, reference_pct=pct), rung(2, before=reference))
    assert (said in text(found, reference=reference)) == is_said
    assert "timed in turns with itself" not in text(found), "the ladder declares none"


def test_every_rung_is_one_row_below_what_all_share():
    page = text(ladder(rung(1), rung(2), rung(3)))
    assert page.splitlines()[0] == "gemm: C = A * B (NVIDIA H200, m=n=4096)"
    header, *rows = table_of(page)
    assert header.split() == [
        "rung", "name", "time", "GFLOP/s", "%", "ref", "step", "issue", "FMA", "LSU", "MIO", "short", "binding",
    ]  # fmt: skip
    assert [row.split()[0] for row in rows] == ["1", "2", "3"]
    assert "3.181 ms" in rows[0]
    assert "43,205" in rows[0]


def test_a_ladder_without_a_reference_has_no_column_for_it():
    alone = [rung(number, reference="", reference_pct=None) for number in (1, 2)]
    assert "% ref" not in table_of(text(ladder(*alone)))[0]
    assert "% ref" in table_of(text(ladder(*alone, rung(3))))[0]


@pytest.mark.parametrize("width", [80, 90, 100, 120])
def test_it_fits_the_window_and_keeps_time_percentage_and_what_binds(width):
    steps = [stepped(number, 12.345, "unclear", issue_active_pct=(1.0, "changed")) for number in range(1, 12)]
    header, *rows = table_of(text(ladder(*steps), width))
    assert max(map(len, [header, *rows])) <= width
    for title in ("name", "time", "% ref", "step", "binding"):
        assert title in header


def test_the_meaning_of_counters_is_printed_where_they_are_shown():
    finding = ladder(rung(1), stepped(2, 1.5, "better"))
    assert "% of their peak" in text(finding, 120)
    assert "% of their peak" not in text(finding, 70)


def test_a_table_of_another_gpu_below_does_not_bring_back_the_meaning_of_counters_that_had_no_room():
    finding = ladder(rung(1), stepped(2, 1.5, "better"))
    page = text(replace(finding, elsewhere=[on_another_gpu(replace(finding, gpu="NVIDIA H100"))]), 70)
    assert "On NVIDIA H100:" in page
    assert "no room for the columns GFLOP/s, issue" in page
    assert "% of their peak" not in page


def test_a_view_that_was_asked_for_keeps_its_counters_in_a_narrow_window():
    counters = {"dram_bytes_per_s": 1.5e12, "max_bandwidth_pct": 45.0, "l2_hit_pct": 80.0}
    finding = ladder(rung(1, metrics=counters), stepped(2, 1.5, "better"), view="memory")
    chosen = table_of(text(finding, 70))[0]
    assert ("binding" in chosen, "DRAM" in chosen) == (True, False)
    asked = table_of(document_text(ladder_document(finding, (), view_was_asked=True), Window(width=70)))[0]
    assert ("binding" in asked, "DRAM" in asked, "max bw" in asked) == (False, True, True)


def test_a_wider_window_never_shows_less():
    finding = ladder(*(stepped(number, 1.5, "better") for number in range(1, 4)))
    shown = [set(table_of(text(finding, width))[0].split()) for width in range(70, 140, 5)]
    assert all(narrow <= wide for narrow, wide in pairwise(shown))
    assert shown[0] < shown[-1]


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ((2.5, "changed"), "71.4 ↑"),
        ((-2.5, "changed"), "71.4 ↓"),
        ((-2.5, "better"), "71.4 ↓"),
        ((2.5, "worse"), "71.4 ↑"),
        ((2.5, "same"), "71.4 ="),
        ((2.5, "unclear"), "71.4 ?"),
    ],
)
def test_a_counter_says_where_it_went_and_whether_that_is_sure(given, mark):
    page = text(ladder(rung(1), stepped(2, 1.5, "better", issue_active_pct=given)))
    assert mark in table_of(page)[2]


@pytest.mark.parametrize(
    ("verdict", "cell"),
    [("better", "1.143x "), ("worse", "1.143x "), ("same", "1.143x ="), ("unclear", "1.143x ?")],
)
def test_a_step_says_whether_it_is_sure(verdict, cell):
    assert cell in table_of(text(ladder(rung(1), stepped(2, 1.1428, verdict))))[2]


def test_steps_from_another_rung_than_the_one_above_name_that_rung():
    rungs = [rung(1), stepped(2, 2.0, "better"), *(stepped(number, 3.0, "better") for number in (3, 4, 5))]
    straight = " ".join(text(ladder(*rungs)).split())
    assert "times as fast as the rung before, =" in straight
    rungs[3:] = [replace(rungs[3], before=2), replace(rungs[4], before=2)]
    branched = " ".join(text(ladder(*rungs)).split())
    assert "times as fast as the rung before (4, 5: rung 2), =" in branched


def test_a_refused_step_is_printed_with_its_reason():
    page = text(ladder(rung(1), rung(2, before=1, refused=["clock control differs: none against base"])))
    assert "refused" in table_of(page)[2]
    assert "2 against 1 refused: clock control differs: none against base" in page


def test_a_caution_of_every_step_is_printed_once_and_one_of_some_steps_with_their_numbers():
    steps = [
        msgspec.structs.replace(
            stepped(number, 1.5, "better"), warnings=["of all", *(["of 3"] if number == 3 else [])]
        )
        for number in (2, 3)
    ]
    found = ladder(rung(1), *steps)
    lines = text(found).splitlines()
    assert lines.count("caution: of all") == 1
    assert "caution: rung 3: of 3" in lines
    assert shorten_to_answer(found).cautions == ["of all", "rung 3: of 3"]
    assert [block.text for block in ladder_document(found, []).brief.sections[-1]] == [
        "of all",
        "rung 3: of 3",
    ]


# Where a time is from


def test_times_of_the_profiler_are_marked_as_such():
    page = text(ladder(rung(1, basis="profiled"), rung(2, basis="profiled")))
    assert "time: under the profiler" in page
    assert "*" not in "".join(table_of(page))


def test_times_under_the_profiler_are_marked_when_other_rungs_were_timed():
    page = text(ladder(rung(1), rung(2, basis="profiled")))
    first, second = table_of(page)[1:]
    assert "3.181 ms " in first
    assert "3.181 ms*" in second
    assert "* marks a time under the profiler" in page


def test_each_reference_of_the_percentages_is_named_once():
    rungs = [rung(1), rung(2), rung(3, reference="cuBLAS bf16")]
    assert "% ref: speed in percent of the default call of cuBLAS fp32 (1 to 2), cuBLAS bf16 (3)" in " ".join(
        text(ladder(*rungs)).split()
    )
    assert "% ref: speed in percent of the default call of cuBLAS fp32\n" in text(ladder(*rungs[:2]))


def test_bytes_are_the_work_where_no_operations_are_declared():
    page = text(ladder(rung(1, gflops=None), rung(2, gflops=None)))
    assert "GB/s" in table_of(page)[0]
    assert "63.30" in table_of(page)[1]


def test_columns_that_nothing_fills_are_left_out():
    bare = {"gflops": None, "gbytes_per_s": None, "metrics": {}, "binding": None}
    header = table_of(text(ladder(rung(1, **bare), workload=None)))[0]
    assert header.split() == ["rung", "name", "time", "%", "ref", "step"]
    assert "the runs do not record their workload" in text(ladder(rung(1, **bare), workload=None))


def test_other_workloads_that_are_stored_are_named():
    page = text(ladder(rung(1)), others=["NVIDIA H200, m=1024", "NVIDIA A100, m=4096"])
    assert page.endswith("also stored (--size and --gpu choose): NVIDIA H200, m=1024; NVIDIA A100, m=4096")


def test_a_long_list_of_other_workloads_names_the_first_and_counts_the_rest():
    page = text(ladder(rung(1)), others=[f"NVIDIA H200, m={size}" for size in range(20)])
    assert page.endswith("NVIDIA H200, m=5; and 14 more")
    assert "m=6" not in page


# Kernels that move bytes

_MOVED = {
    "duration_ns": 519_000.0, "dram_bytes_per_s": 4.1234e12, "max_bandwidth_pct": 85.94, "l1_hit_pct": 0.0, "l2_hit_pct": 33.36,
    "mem_pipes_busy_pct": 9.12, "load_width_bits": 32.0, "store_width_bits": 32.0, "dram_throughput_pct": 85.9,
    "inst_per_byte": 1.1252, "bulk_loads": 0.0, "bulk_stores": 0.0,
}  # fmt: skip


def moving(*rungs, **fields):
    return ladder(*rungs, **{"view": "memory", **fields})


def moved(number=1, **metrics):
    return rung(
        number, gflops=None, gbytes_per_s=4138.0, metrics=_MOVED | metrics, binding="hbm-bound", name="coalesced_rows"
    )  # fmt: skip


def cell(finding, title, row=0):
    """Returns the cell below this title in the table as Markdown."""
    header, _, *rows = in_markdown(finding).split("\n\n")[1].splitlines()
    columns = [one.strip() for one in header.split("|")]
    return rows[row].split("|")[columns.index(title)].strip()


def test_kernels_that_move_bytes_show_how_they_move_them():
    header, first = table_of(text(moving(moved())))
    assert header.split("  ")[-1].strip() == "binding"
    for title in ("GB/s", "DRAM", "max bw", "L1 hit", "L2 hit", "pipes", "inst/B", "width"):
        assert title in header
    assert "FMA" not in header
    assert first.split() == [
        "1", "coalesced_rows", "3.181", "ms", "4,138", "84.4", "4,123", "85.9", "0.0", "33.4", "9.1", "1.125", "32", "hbm", "bound",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("accesses", "shown"),
    [
        ({}, "32"),
        ({"load_width_bits": 128.0}, "128/32"),
        ({"load_width_bits": 104.2}, "104/32"),
        ({"store_width_bits": None}, "32/-"),
        ({"load_width_bits": None, "bulk_loads": 64.0}, "bulk/32"),
        ({"bulk_loads": 64.0, "bulk_stores": 64.0}, "32+bulk"),
        ({"load_width_bits": None, "store_width_bits": None}, "-"),
    ],
)
def test_a_width_is_of_loads_and_stores_and_blocks_have_none(accesses, shown):
    found = moved(**accesses)
    metrics = {name: value for name, value in found.metrics.items() if value is not None}
    assert cell(moving(msgspec.structs.replace(found, metrics=metrics)), "width") == shown


def test_a_rung_that_was_only_timed_has_empty_cells_beside_others():
    finding = moving(rung(0, metrics={}, binding=None, gflops=None), moved(1))
    assert cell(finding, "GB/s") != ""
    assert [cell(finding, title) for title in ("DRAM", "L1 hit", "inst/B", "width", "binding")] == [""] * 5


def test_the_limit_of_one_kernel_of_a_step_is_marked_as_its_part():
    part = msgspec.structs.replace(moved(), is_part_of_step=True)
    assert cell(moving(part), "binding") == "hbm bound (its part)"
    assert cell(moving(msgspec.structs.replace(part, binding=None), moved(2)), "binding") == ""


@pytest.mark.parametrize("width", [80, 100, 120, 140])
def test_a_narrow_window_drops_columns_from_the_right_and_never_the_time(width):
    finding = moving(*(moved(number) for number in range(1, 9)))
    page = text(finding, width)
    header = table_of(page)[0]
    assert max(map(len, table_of(page))) <= width
    assert all(title in header for title in ("time", "GB/s", "% ref", "step", "width", "binding"))
    assert ("L2 hit" in header) == (width >= 100)
    assert ("inst/B" in header) == (width >= 120)
    assert max(map(len, page.splitlines())) <= width


def test_only_what_is_shown_is_explained():
    finding = moving(moved(1), moved(2))
    wide, narrow = (text(finding, width).split("\n\n")[2] for width in (140, 70))
    for meaning in (
        "GB/s of device memory",
        "Max Bandwidth",
        "Mem Pipes Busy",
        "per useful byte",
        "arrows, = and ?: compared",
    ):
        assert meaning in " ".join(wide.split())
        assert meaning not in narrow
    assert "width: bits of a thread's global loads/stores" in " ".join(narrow.split())


def test_the_view_decides_which_work_is_shown_where_both_are_known():
    both = rung(1, gflops=43_205.0, gbytes_per_s=63.3)
    assert "GFLOP/s" in table_of(text(ladder(both)))[0]
    assert "GFLOP/s" not in table_of(text(moving(both)))[0]


def test_the_views_columns_are_in_csv_as_well():
    (row,) = csv.DictReader(io.StringIO(in_csv(moving(moved()))))
    assert float(row["dram_bytes_per_s"]) == 4.1234e12
    assert float(row["inst_per_byte"]) == 1.1252
    assert "fma_pipe_pct" not in row


# Other formats


def test_markdown_is_a_table_with_the_same_rows():
    page = in_markdown(ladder(rung(1), stepped(2, 1.5, "better")))
    tokens = markdown.parse(page)
    assert sum(token.type == "tr_open" for token in tokens) == 3
    assert "1.500x" in page


def test_csv_has_a_row_a_rung_with_figures_in_full():
    finding = ladder(rung(1), stepped(2, 1.142857142857, "better", lsu_pipe_pct=(-22.776, "changed")))
    first, second = csv.DictReader(io.StringIO(in_csv(finding)))
    assert (first["kernel"], first["before"], first["speedup"]) == ("1", "", "")
    assert float(second["speedup"]) == 1.142857142857
    assert float(second["profiled_duration_ns"]) == _METRICS["duration_ns"]
    assert (float(second["lsu_pipe_pct_delta"]), second["lsu_pipe_pct_verdict"]) == (-22.776, "changed")
    assert second["duration_ns_delta"] == ""


def test_names_from_anywhere_stay_text(hostile_names):
    for name in hostile_names:
        finding = ladder(rung(1, reference=name, binding=name), title=name, gpu=name)
        for page in (text(finding), in_markdown(finding), in_csv(finding)):
            assert all(character == "\n" or character.isprintable() for character in page)
        types = {token.type for token in markdown.parse(in_markdown(finding))}
        assert not types & {"html_block", "fence", "code_block", "hr"}


def test_missing_rungs_are_listed_together_by_their_reason():
    missing = [MissingRung(number, "any", "no run is stored") for number in (0, 1, 2, 4, 7, 8)]
    unclear = MissingRung(3, "any", "several kernels fit")
    page = text(ladder(rung(5), rung(6), missing=[*missing, unclear]))
    assert "left out (0 to 2, 4, 7 to 8): no run is stored\nleft out (3): several kernels fit\n" in page


def test_the_legend_says_what_explains_the_largest_step():
    page = " ".join(text(ladder(rung(1), stepped(2, 1.1, "better"), stepped(3, 2.5, "better"))).split())
    assert "? if unclear; `prof compare 2 3` says why that one is faster" in page
    other = " ".join(text(ladder(rung(1), stepped(2, 1.1, "better"), ladder="mine")).split())
    assert "; `prof compare 1 2 --ladder mine` says why" in other
    assert "says why" not in text(ladder(rung(1), stepped(2, 0.5, "worse")))
