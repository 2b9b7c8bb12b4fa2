"""The page of `prof sass`: what a person reads of two hot loops."""

import csv
import dataclasses
import io

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from profiler.analyse.code.called_functions import CalledFunction
from profiler.analyse.code.hot_loop import LoopAsHot, Overhead
from profiler.analyse.code.machine_code import view_machine_code
from profiler.analyse.code.opcodes import is_plumbing
from profiler.analyse.recording.profile import profile_kernel
from profiler.present.document import Document, Records, Table
from profiler.present.documents.code import code_document, figures_table, load_blocks, scope_text, side_titles
from profiler.present.documents.parts.code_rows import count_code, count_records, waits_at_exit
from profiler.present.render.csv import records_csv
from profiler.present.render.markdown import document_markdown
from profiler.present.render.terminal import Window, document_text
from profiler.present.render.terminal_code import width_style
from profiler.present.render.terminal_table import styled
from profiler.store.runs.unstored import open_report
from tests.profiles import profiles_in

PLAIN = Window()


def view_of(store, *names, **options):
    return view_machine_code(profiles_in(store, *names), **options)


def text_of(view, window=PLAIN, **options):
    return document_text(code_document(view, **options), window)


def heading_text(view):
    return text_of(view).split("\n\n")[0]


def figures_text(view):
    table = figures_table(view.finding, side_titles(view.finding))
    return document_text(Document("", [[table]], Records((), ())), PLAIN)


def loads_text(view, window=PLAIN):
    return document_text(Document("", [load_blocks(view.finding)]), window)


def counts_text(view, window=PLAIN):
    code = count_code(view.finding, view.counts(), at_exit=waits_at_exit(view.regions))
    return document_text(Document("", [code], Records((), ())), window)


def flat(text):
    return " ".join(text.split())


def every_block(view):
    return [block for section in code_document(view).sections for block in section]


def is_of_plumbing(block):
    """Whether it is the table of what the code adds up in one row."""
    return isinstance(block, Table) and block.columns[0].title.startswith("integer, moves, branches, per ")


@pytest.fixture(scope="module")
def view(recorded):
    return view_of(recorded, "5", "6")


# The head


def test_the_heading_says_which_loop_and_how_much_of_the_kernel_it_is(view):
    lines = heading_text(view).splitlines()
    assert lines[0].startswith("before  gemm 5: void gemm_05_tile_2d")
    assert lines[1].strip() == "loop at 05_tile_2d.cu:47, 256 iterations a warp, 99.95 % of all executed"
    assert lines[2].startswith("after   gemm 6")


def test_the_heading_cautions_that_launches_differ(store):
    assert "the launches have 3 shapes (grid, block, registers, shared memory)" in heading_text(
        view_of(store, "triton_add_full")
    )


def test_another_gpu_is_a_caution(recorded):
    view = view_of(recorded, "5", "6")
    first, second = view.finding.kernels
    other = replace(view.finding, kernels=[first, replace(second, gpu="NVIDIA A100")])
    assert "caution: the GPU differs: NVIDIA H200 against NVIDIA A100" in heading_text(
        dataclasses.replace(view, finding=other)
    )


def test_the_figures_stand_beside_each_other(view):
    rows = {line[:34].strip(): line[34:].split() for line in figures_text(view).splitlines()}
    assert rows["instructions per FMA"] == ["1.216", "1.104"]
    assert rows["FMA instructions, % of issue slots"] == ["82.25", "90.62"]
    assert rows["shared loads per k-step"] == ["10", "4"]
    assert rows["FMAs per shared element of 4 bytes"] == ["4", "4"]


def test_a_kernel_on_tensor_cores_shows_no_figure_about_fmas(store):
    view = view_of(store, "triton_matmul")
    assert "MMA" in counts_text(view)
    assert view.finding.kernels[0].is_tensor
    assert "FMA" not in figures_text(view)
    assert "instructions per iteration" in figures_text(view)


def test_a_loop_on_tensor_cores_shows_what_an_mma_costs_beside_one_without(recorded):
    text = figures_text(view_of(recorded, "9", "10"))
    rows = {line.rsplit(maxsplit=2)[0]: line.rsplit(maxsplit=2)[1:] for line in text.splitlines()}
    assert rows["MMAs per iteration"] == ["-", "16"]
    assert rows["instructions per MMA"] == ["-", "13.62"]
    assert rows["operations of a warp per MMA"] == ["-", f"{2 * 64 * 256 * 16 // 4:,}"], "HGMMA.64x256x16"
    assert rows["other instructions, % of issue slots"] == ["-", "92.66"]
    assert rows["instructions per FMA"] == ["1.137", "-"]


def test_figures_that_neither_side_has_are_left_out(store):
    assert "FMA" not in figures_text(view_of(store, "triton_add_full"))


# The loads


def test_each_access_is_drawn_as_long_as_it_is_wide(view):
    assert loads_text(view).splitlines() == [
        "A operand: 8 LDS -> 2 LDS.128 per k-step",
        "  █ █ █ █ █ █ █ █  ->  ████ ████",
        "B operand: 2 LDS.128 per k-step, unchanged",
    ]


def test_one_kernel_alone_shows_its_own(recorded):
    assert loads_text(view_of(recorded, "5")).splitlines() == [
        "A operand: 8 LDS per k-step",
        "  █ █ █ █ █ █ █ █",
        "B operand: 2 LDS.128 per k-step",
        "  ████ ████",
    ]


def test_operands_that_cannot_be_named_are_not(recorded):
    text = loads_text(view_of(recorded, "4"))
    assert "one operand: 1 LDS per k-step" in text
    assert "the other: 2 LDS.128 per k-step" in text


def test_loads_are_not_drawn_when_a_step_holds_a_fraction_of_an_access(recorded):
    view = view_of(recorded, "3", "4")
    assert loads_text(view) == (
        "both operands: 1 LDS + 0.25 LDS.128 for 1 FMA -> 1 LDS + 2 LDS.128 for 8 FMAs per k-step"
    )


def test_widths_have_colours_of_their_own():
    styles = [width_style(bits) for bits in (8, 32, 64, 128)]
    assert len(set(styles)) == 4
    assert width_style(256) == width_style(128)
    assert width_style(None) == ""


def test_the_pieces_of_a_picture_have_the_colour_of_their_width(view):
    text = loads_text(view, Window(colour=True))
    assert text.count(styled("█", width_style(32), colour=True)) == 8
    assert text.count(styled("████", width_style(128), colour=True)) == 2


# The code


def test_the_loads_of_a_stand_alone_and_those_of_b_beside_their_like(view):
    lines = [line.split() for line in counts_text(view).splitlines()]
    assert ["128", "8", "LDS", "59", "│"] in lines
    assert ["32", "2", "LDS.128", "61", "│", "64", "4", "LDS.128", "66,", "64"] in lines
    assert ["1,024", "64", "FFMA", "62", "│", "1,024", "64", "FFMA", "67"] in lines


def test_addresses_counters_and_moves_are_one_row(view):
    text = counts_text(view)
    assert "integer, moves, branches" in text
    assert "IADD3" not in text


@pytest.mark.parametrize(("name", "waits"), [("several", True), ("triton_add_full", False)])
def test_exit_has_a_row_and_a_note_if_warps_wait_there(store, name, waits):
    """In 4.5 % of the samples of the one, and 1.8 % of the other. What is a row of its own is in no sum."""
    view = view_of(store, name, whole=True)
    rows = [line.split() for line in counts_text(view).splitlines()]
    assert any("EXIT" in row for row in rows) == waits
    text = flat(text_of(view))
    assert ("At EXIT, a warp waits for what it stored in memory, or added to it." in text) == waits
    (table,) = filter(is_of_plumbing, every_block(view))
    assert any("EXIT" in row.values[-1] for row in table.rows) != waits
    added_up = sum(float(row[0]) for row in rows if row[1:4] == ["integer,", "moves,", "branches"])
    assert added_up == pytest.approx(sum(row.values[1] for row in table.rows))


@pytest.mark.parametrize(("reason", "waits"), [("drain", True), ("barrier", False), ("wait", False)])
def test_what_warps_wait_for_that_go_on_behind_an_exit_is_no_wait_for_stores(make_run, reason, waits):
    """At the first EXIT are 10 % of the samples, for this reason; at the last, 2 % wait for stores."""
    code = ["@!P0 EXIT", "BAR.SYNC.DEFER_BLOCKING 0x0", "STG.E [R2.64], R4", "EXIT"]
    samples = [(10, reason), (44, "barrier"), (44, "barrier"), (2, "drain")]
    sampled = {
        place: {"samples": count, "stalls": [(why, count)]} for place, (count, why) in enumerate(samples)
    }
    launch = {"kernel": "k", "instructions": [(one, 5) for one in code], "sampled": sampled}
    view = view_machine_code([profile_kernel(make_run(launch), "k")], whole=True)
    assert waits_at_exit(view.regions) == waits
    assert ("At EXIT, a warp waits" in flat(text_of(view))) == waits


@pytest.mark.parametrize(("load_samples", "is_named"), [(40, True), (60, False)])
def test_integers_and_moves_for_which_a_loop_waits_most_have_their_line(make_run, load_samples, is_named):
    code = [("LDG.E R1, [R4.64]", 1), ("LOP3.LUT R2, R1, 0x1, RZ, 0xc0, !PT", 1), ("STG.E [R6.64], R2", 1)]
    run = make_run({"kernel": "masks", "instructions": code})
    view = view_machine_code([profile_kernel(run, "masks")], whole=True)
    sampled = {"LDG.E": load_samples, "LOP3.LUT": 100 - load_samples, "STG.E": 0}
    weights = {"masks.cu:9": (1, 5.0), "masks.cu:8": (3, 1.0), "masks.cu:7": (9, 1.0)}
    stretches = [
        [
            tuple(replace(one, samples_pct=float(sampled[one.opcode]), weights=weights) for one in row)
            for row in stretch
        ]
        for stretch in view.counts()
    ]
    block = count_code(view.finding, stretches, at_exit=False)[0]
    (row,) = [
        side for stretch in block.stretches for (side,) in stretch if side[2].text.startswith("integer")
    ]
    assert row[3].text == ("masks.cu:7, masks.cu:8, …" if is_named else "")  # what waits most, first


def test_the_overhead_of_a_loop_is_listed_by_kind_with_its_opcodes(view):
    (table,) = filter(is_of_plumbing, every_block(view))
    kinds = {row.values[0]: row.values[1:] for row in table.rows}
    assert {"address and integer arithmetic", "moves", "branches"} <= kinds.keys()
    for kind, (before, after, opcodes) in kinds.items():
        sides = [
            sum(one.count for one in sheet.overhead if one.kind == kind) / sheet.steps
            for sheet in view.finding.kernels
        ]
        assert [before or 0.0, after or 0.0] == pytest.approx(sides)
        assert opcodes
    assert kinds["moves"][2] == "MOV 0.2500 -> 0", "counts that differ"
    assert kinds["branches"][2] == "BRA 0.06250", "and that are alike"


def test_the_kinds_add_up_to_the_row_that_they_break_down(view):
    """What has rows of its own, as conversions have, is no part of it."""
    converts = Overhead("conversions", 8.0, {"I2FP.F32.S32": 8.0})
    sheets = [replace(one, overhead=[*one.overhead, converts]) for one in view.finding.kernels]
    with_conversions = dataclasses.replace(view, finding=replace(view.finding, kernels=sheets))
    (table,) = filter(is_of_plumbing, every_block(with_conversions))
    assert "conversions" not in {row.values[0] for row in table.rows}
    for place, sheet in enumerate(view.finding.kernels, 1):
        added_up = sum(row.values[place] or 0.0 for row in table.rows) * sheet.steps
        whole = sum(
            one.count
            for stretch in view.counts()
            for row in stretch
            if (one := row[place - 1]) and is_plumbing(one.opcode)
        )
        assert added_up == pytest.approx(whole)


def test_a_loop_does_not_stand_beside_a_function_without_one(recorded, make_run):
    straight = make_run(
        {"kernel": "straight", "instructions": [("LDG.E", 1), ("FADD", 1), ("STG.E", 1), ("EXIT", 1)]}
    )
    view = view_machine_code([*profiles_in(recorded, "5"), profile_kernel(straight, "straight")])
    assert [one.scope for one in view.finding.kernels] == ["function", "function"]
    assert "has no hot loop, so that the whole functions stand beside each other" in heading_text(view)
    assert "iteration" not in figures_text(view)


def test_a_graph_is_said_to_hold_more_than_the_function_that_is_shown(reports):
    run = open_report(reports / "graph.ncu-rep")
    said = " ".join(heading_text(view_machine_code([profile_kernel(run, "graph")])).split())
    assert "this is one of 2 functions; other kernels of a graph or a range are not shown" in said


def test_a_stretch_of_plumbing_alone_is_no_stretch_of_its_own(view):
    stretches = view.counts()
    rules = [line for line in counts_text(view).splitlines() if "┼" in line]
    assert (len(stretches), len(rules)) == (3, 1)


def test_one_iteration_is_no_plural(view):
    sheet = view.finding.kernels[0]
    assert ", 256 iterations a warp, " in scope_text(sheet)
    assert ", 1 iteration a warp, " in scope_text(replace(sheet, iterations_per_warp=1.0))


def test_the_copies_of_an_unrolled_loop_are_shown_once(make_run):
    copy = [("LDS R1, [R0]", 1), ("FADD R2, R2, R1", 1), ("MOV R0, R3", 1), ("BAR.SYNC 0x0", 1)]
    other = [("LDS R1, [R0]", 1), ("FMUL R2, R2, R1", 1), ("BAR.SYNC 0x0", 1)]
    run = make_run({"kernel": "sums", "instructions": [*copy * 2, *other, *copy, ("STG.E [R4], R2", 1)]})
    text = text_of(view_machine_code([profile_kernel(run, "sums")], whole=True))
    assert [flat(line) for line in text.splitlines() if line.endswith(("FADD", "FMUL", "branches"))] == [
        "3 x 1 FADD",
        "3 integer, moves, branches",
        "1 FMUL",
    ]
    assert "Stretches that are alike" in text


def test_a_loop_without_copies_does_not_speak_of_any(view):
    assert "Stretches that are alike" not in text_of(view)


def test_nothing_executed_is_missing_from_the_rows(recorded):
    view = view_of(recorded, "9")
    (sheet,) = view.finding.kernels
    lines = counts_text(view).splitlines()[2:]
    counts = [float(line.split()[0].replace(",", "")) for line in lines if line[0] != "─"]
    assert sum(counts) == pytest.approx(sheet.instructions, rel=1e-3)


def test_a_step_that_is_an_iteration_has_one_column(store):
    view = view_of(store, "gemm_5", "gemm_6")
    assert "iteration" not in counts_text(view)


def test_samples_are_shown_where_they_were_taken(shipped_runs):
    view = view_of(shipped_runs, "gemm-5-source", "gemm-6-source")
    text = counts_text(view)
    assert "samples" in text.splitlines()[1]
    shares = [float(word) for word, unit in zip(text.split(), text.split()[1:], strict=False) if unit == "%"]
    assert sum(shares) == pytest.approx(200, abs=1)


def test_sampled_code_explains_on_which_instruction_a_sample_falls(shipped_runs, view):
    said = "A sample falls on the instruction that waits, not on the load that it waits for."
    document = code_document(view_of(shipped_runs, "gemm-5-source"))
    texts = [document_text(document, Window(width=200)), document_markdown(document)]
    assert all(said in text for text in texts)
    assert said not in text_of(view)  # nothing was sampled there


def test_the_listing_says_what_each_sampled_instruction_waits_for(shipped_runs):
    view = view_of(shipped_runs, "gemm-5-source")
    lines = text_of(view, Window(width=100), listing=True).splitlines()
    reasons = {one.main_stall for one in view.regions[0].body if one.samples}
    assert len(reasons) > 2
    assert all(any(line.endswith(f"  {reason}") for line in lines) for reason in reasons)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("width", [60, 80, 100, 120, None])
def test_no_line_is_wider_than_the_window_and_no_number_is_cut(view, width):
    text = counts_text(view, Window(width=width))
    assert max(map(len, text.splitlines())) <= (width or 200)
    assert "1,024" in text or " 64  FFMA" in text
    assert "BAR.SYNC.DEFER_BLOCKING" in text


def test_the_listing_has_every_instruction_with_its_operands_and_line(view):
    text = text_of(view, listing=True)
    first = view.regions[0].body[0]
    assert f"{first.offset:x}  {first.text}" in text
    for region in view.regions:
        assert all(one.text in text for one in region.body)


# For documents and programs


def test_csv_has_a_row_for_each_row_and_values_in_full(view):
    stretches = view.counts()
    rows = list(csv.DictReader(io.StringIO(records_csv(count_records(view.finding, stretches)))))
    assert len(rows) == sum(len(stretch) for stretch in stretches)
    (lds,) = (row for row in rows if row["before_opcode"] == "LDS")
    assert (lds["before_count"], lds["before_per_step"], lds["before_bits"]) == ("128.0", "8.0", "32")
    assert lds["before_source"] == "05_tile_2d.cu:59"
    assert lds["after_opcode"] == ""
    assert sum(float(row["after_count"] or 0) for row in rows) == view.finding.kernels[1].instructions


def test_the_listing_as_csv(view):
    rows = list(csv.DictReader(io.StringIO(records_csv(code_document(view, listing=True).records))))
    before = [row for row in rows if row["before_instruction"]]
    texts = [row["before_instruction"].removeprefix("'") for row in before]  # a predicate's @ is no formula
    assert texts == [one.text for one in view.regions[0].body]
    assert {row["before_executed"] for row in before} == {"2097152.0"}


def test_one_kernel_alone_has_plain_names(recorded):
    assert code_document(view_of(recorded, "5")).records.header == [
        "stretch",
        "opcode",
        "bits",
        "count",
        "per_step",
        "samples_pct",
        "source",
    ]


def test_markdown_is_tables_and_sentences(view):
    text = document_markdown(code_document(view))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert sum(token.type == "table_open" for token in tokens) == 4
    assert "* A operand: 8 LDS -&gt; 2 LDS.128 per k-step" in text


def test_a_called_function_that_is_as_hot_as_the_loop_is_named_with_a_way_to_see_it(store):
    view = view_of(store, "gemm_5")
    (sheet,) = view.finding.kernels
    assert "The function that" not in text_of(view), "nothing is called"
    division = CalledFunction(["mine.cu:58", "mine.cu:57"], 0xEF0, 0x1360, 76.06, 64.61)
    called = replace(view.finding, kernels=[replace(sheet, called=[division])])
    text = " ".join(text_of(dataclasses.replace(view, finding=called)).split())
    assert (
        "The function that mine.cu:58 calls, from 0xef0, executes 76.06 % of all and has 64.61 % of the samples; it does not "
        "count as a part of the loop. --full shows it." in text
    )


def test_loops_that_are_as_hot_are_named_with_a_way_to_see_them(store):
    view = view_of(store, "gemm_5")
    (sheet,) = view.finding.kernels
    assert "loops, of which" not in text_of(view), "one loop multiplies"
    others = [LoopAsHot("mine.cu:12", 0x30, 0x50, 14.0), *[LoopAsHot(None, 0x60, 0x80, 9.0)] * 3]
    several = replace(view.finding, kernels=[replace(sheet, loops=6, as_hot=others)])
    text = " ".join(text_of(dataclasses.replace(view, finding=several)).split())
    assert (
        "This is one of 6 loops, of which 4 others do at least half as much work: mine.cu:12 from 0x30 (14 %), the one "
        "from 0x60 (9 %), the one from 0x60 (9 %) and 1 more. --full shows the whole function." in text
    )
    assert text.index("This is one of 6 loops") < text.index("hot loop, per thread")
