"""A sweep in words, tables and a picture."""

from pathlib import Path

import pytest

from profiler.analyse.tuning import derive_tuning
from profiler.present.charts import render, tuning_chart
from profiler.present.charts.render import title_of
from profiler.present.documents.sweep import (
    diff_lines,
    settings_text,
    short_names,
    sweep_document,
    tried_lines,
    verdict_lines,
)
from profiler.present.render.markdown import document_markdown
from profiler.present.render.terminal import Window, document_text
from profiler.store.runs.manifest import Provenance
from profiler.store.sweeps import StoredSweep, SweepFacts, SweepManifest, SweepRepeat, SweptPoint

CURRENT = {"GEMM_BM": 64, "GEMM_BK": 8}


def measured(number, bm, bk, ns, *, final=False):
    stages = [("screen", 0)] + [("final", process) for process in range(3)] * final
    repeats = [
        SweepRepeat(stage, process, ns + noise, 1_900_000.0)
        for stage, process in stages
        for noise in (-1000.0, 0.0, 1000.0 + 500 * process)
    ]
    return SweptPoint(number, {"GEMM_BM": bm, "GEMM_BK": bk}, "correct", "", 96, 8192, 0, 1e-7, repeats)


@pytest.fixture(scope="module")
def sweep():
    points = [
        measured(0, 128, 16, 2_000_000.0, final=True), measured(1, 64, 8, 2_100_000.0, final=True),
        measured(2, 64, 16, 2_400_000.0), measured(3, 128, 8, 9_000_000.0),
        SweptPoint(4, {"GEMM_BM": 256, "GEMM_BK": 8}, "failed", "too many \x1b[31mresources"),
    ]  # fmt: skip
    facts = SweepFacts({"GEMM_BM": [64, 128, 256], "GEMM_BK": [8, 16]}, ["x"], 6, {"x": 1}, None, 3, 20, 3, 5.0, 4, {})  # fmt: skip
    manifest = SweepManifest(
        2, "id", "gemm-7-tune", "timed", "2026-01-02T00:00:00Z", [], [], {}, ladder="gemm", kernel=7,
        workload={"m": 64, "n": 64}, gpus=["NVIDIA H200"], provenance=Provenance(reference="cuBLAS"), sweep=facts,
    )  # fmt: skip
    return StoredSweep(Path("id"), manifest, points)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["GEMM_BM", "GEMM_MIN_BLOCKS"], ["BM", "MIN_BLOCKS"]),
        (["GEMM_BM", "BM"], ["GEMM_BM", "BM"]),
        (["A_B_X", "A_B_Y", "A_C"], ["B_X", "B_Y", "C"]),
        (["GEMM_BM"], ["GEMM_BM"]),
        (["GEMM_A", "GEMM"], ["GEMM_A", "GEMM"]),
    ],
)
def test_names_lose_what_all_begin_with(names, short):
    assert short_names(names) == short


def test_a_point_is_written_as_one_would_say_it():
    assert settings_text(CURRENT) == "BM=64 BK=8"


def test_a_sweep_begins_with_what_it_found(sweep):
    text = document_text(sweep_document(derive_tuning(sweep, CURRENT)), Window())
    first, second, *_ = text.splitlines()
    assert first == "gemm 7 on NVIDIA H200, m=n=64"
    assert second == "The best is BM=128 BK=16: 2.000 ms, 95.0 % of cuBLAS."
    assert text.index("time  spread") < text.index("6 combinations") < text.index("What each value is worth")


def test_a_sweep_says_how_many_points_it_tried_and_what_became_of_the_others(sweep):
    lines = tried_lines(derive_tuning(sweep))
    assert lines[0] == "6 combinations, 5 within the constraints; 4 are correct"
    assert lines[-1] == "  1 point failed: too many \\x1b[31mresources"


def test_the_best_is_named_with_what_is_known_of_its_lead(sweep):
    lines = verdict_lines(derive_tuning(sweep, CURRENT))
    assert lines[0] == "The best is BM=128 BK=16: 2.000 ms, 95.0 % of cuBLAS."
    second = "BM=64 BK=8, which is what the source has now, is 5.00 % slower (95 % interval 4."
    assert lines[1].startswith(f"The second, {second}")
    assert lines[2] == "The reference's own median moved by 0.00 % over the sweep, from lowest to highest."
    assert lines[3] == "BM is worth most: with BM=64, the fastest point is 5.00 % slower."
    best = verdict_lines(derive_tuning(sweep, {"GEMM_BM": 128, "GEMM_BK": 16}))
    assert "It is what the source has now." in best


def test_a_difference_within_the_noise_is_called_none(sweep):
    near = StoredSweep(sweep.path, sweep.manifest, [sweep.points[0], measured(1, 64, 8, 2_000_100.0, final=True)])  # fmt: skip
    assert verdict_lines(derive_tuning(near))[1].endswith(": no certain difference.")


def test_the_table_shows_every_parameter_and_marks_the_source(sweep):
    def text_of(width):
        return document_text(sweep_document(derive_tuning(sweep, CURRENT)), Window(width=width))

    text = text_of(None)
    assert " BM  BK      time" in text
    (row,) = [line for line in text.splitlines() if line.endswith("the source's")]
    assert row.split()[:4] == ["64", "8", "2.100", "ms"]
    narrow = text_of(60)
    assert "in every row: shared bytes" in narrow
    assert ", :" not in " ".join(text_of(40).split())  # the mark of the source has no title
    assert narrow.count("shared bytes") == 1
    assert "2.100 ms" in narrow


def test_programs_get_whole_names_and_plain_numbers(sweep):
    records = sweep_document(derive_tuning(sweep, CURRENT)).records
    first = dict(zip(records.header, records.rows[0], strict=True))
    assert (first["GEMM_BM"], first["time_ns"], first["stage"]) == (128, 2_000_000.0, "final")
    assert [row[-1] for row in records.rows] == [False, True, False, False]


def test_markdown_holds_the_same(sweep):
    text = document_markdown(sweep_document(derive_tuning(sweep, CURRENT)))
    assert "| 128 | 16 | 2.000 ms |" in text
    assert "| BK | 8 |" in text
    assert "\x1b" not in text


def test_a_diff_shows_the_lines_that_change():
    assert diff_lines("a\nb\nc\nd\n", "a\nB\nc\nd\n", "tile.cu") == [
        "--- tile.cu", "+++ tile.cu", "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c",
    ]  # fmt: skip


# The picture


def test_every_point_stands_under_each_parameter_unless_it_is_far_behind(sweep, rows_of):
    chart = tuning_chart(derive_tuning(sweep, CURRENT))
    rows = [row for row in rows_of(chart) if "point" in row]
    assert len(rows) == 3 * 2
    best = [row for row in rows if row["role"] == "the best"]
    assert [(row["value"], row["pct"], row["timed"]) for row in best] == [(128, 100, "timed in full"), (16, 100, "timed in full")]  # fmt: skip
    assert {round(row["pct"], 2) for row in rows if row["timed"] == "timed briefly"} == {83.33}
    spec = chart.to_dict()
    assert spec["title"]["subtitle"][-1] == "1 point at less than 50 % of its speed is not drawn"
    assert title_of(chart) == "BM is worth most: with BM=64, the fastest point is 5.00 % slower"


@pytest.mark.slow
def test_the_values_in_the_source_are_marked_beside_the_best_and_in_the_text(sweep, rows_of):
    own, slow = CURRENT, {"GEMM_BM": 128, "GEMM_BK": 8}
    marked = {
        (row["value"], round(row["pct"], 1))
        for row in rows_of(tuning_chart(derive_tuning(sweep, own)))
        if row.get("role") == "what the source has now"
    }
    assert marked == {(64, 95.2), (8, 95.2)}

    def told(current):
        return tuning_chart(derive_tuning(sweep, current)).to_dict()["title"]["subtitle"][1:]

    best = "BM=128 BK=16, 2.000 ms; line: the best with each value"
    unseen = "1 point at less than 50 % of its speed is not drawn"
    assert told(None) == [f"diamond: the best, {best}", unseen]
    assert told(own) == [
        f"diamond: the best, {best}", "open diamond: what the source has now, BM=64 BK=8, 2.100 ms", unseen,
    ]  # fmt: skip
    assert (
        told({"GEMM_BM": 128, "GEMM_BK": 16})[0] == f"diamond: the best, and what the source has now, {best}"
    )
    assert told(slow) == [f"diamond: the best, {best}", f"{unseen}, what the source has now among them"]


def test_the_line_goes_through_the_best_of_each_value(sweep, rows_of):
    rows = [row for row in rows_of(tuning_chart(derive_tuning(sweep))) if "point" not in row]
    assert [(row["value"], round(row["pct"], 1)) for row in rows] == [(64, 95.2), (128, 100.0), (8, 95.2), (16, 100.0)]  # fmt: skip


def test_a_single_point_can_be_drawn(sweep):
    alone = StoredSweep(sweep.path, sweep.manifest, sweep.points[:1])
    chart = tuning_chart(derive_tuning(alone))
    assert title_of(chart) == "No parameter makes a difference"
    assert render(chart, ".svg").startswith(b"<svg")
