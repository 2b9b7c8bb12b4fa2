"""`prof show` of several recordings: all their kernels together, the one in which a change saves most first."""

import csv
import io
import json
import shlex
import shutil

import jsonschema
import pytest

from profiler.analyse.causes.headline import NOTHING_RECORDED
from profiler.analyse.recording.triage import Triage, TriagedKernel
from profiler.ask.named.settings import Settings
from profiler.ask.show import show_several
from profiler.present.documents.triage import triage_document
from profiler.present.render.terminal import Window, document_text
from profiler.text import report_name


@pytest.fixture(scope="module")
def pile(reports, tmp_path_factory):
    """A folder of three reports, one of which holds three kernels."""
    folder = tmp_path_factory.mktemp("pile")
    for name in ("gemm_5", "gemm_6", "several"):
        shutil.copy(reports / f"{name}.ncu-rep", folder)
    return folder


def index_of(prof_here, *words):
    return json.loads(prof_here("show", *words, "--format", "json").stdout)["index"]


def test_the_kernels_of_all_reports_are_listed_with_their_share_by_what_a_change_saves(prof_here, pile):
    index = index_of(prof_here, *sorted(pile.iterdir()))
    alone = {file: index_of(prof_here, file) for file in pile.iterdir()}
    assert len(index) == sum(map(len, alone.values())) == 5
    order = [(-(one.get("likely_saves_ns") or 0.0), -one["total_ns"]) for one in index]
    assert order == sorted(order)
    assert sum(one["share_pct"] for one in index) == pytest.approx(100, abs=0.01)
    for one in index:
        (same,) = [
            kernel
            for file, kernels in alone.items()
            for kernel in kernels
            if (str(file), kernel["kernel_name"]) == (one["source"], one["kernel_name"])
        ]
        assert (one["total_ns"], one["top_cause"]) == (same["total_ns"], same["top_cause"])


def test_one_begins_where_most_is_saved_and_not_where_most_time_goes(reports):
    """Several of these take longer than others in which more is to be saved."""
    chosen = [
        str(reports / f"{name}.ncu-rep") for name in ("gemm_6", "several", "triton_add_full", "triton_matmul")
    ]
    shown = show_several(chosen, Settings())
    found = shown.finding
    order = [(-(one.likely_saves_ns or 0.0), -one.total_ns) for one in found.index]
    assert order == sorted(order)
    assert [sheet.kernel for sheet in shown.sheets] == [one.kernel_name for one in found.index]
    times = [one.total_ns for one in found.index]
    assert times != sorted(times, reverse=True)
    assert found.headline.why.startswith(f"In {report_name(found.index[0].source)}, ")


def test_stored_runs_are_listed_together_as_reports_are(prof_recorded):
    found = json.loads(prof_recorded("show", "textbook-5", "6", "--format", "json").stdout)
    assert {one["source"] for one in found["index"]} == {"textbook-5", "6"}


def test_a_folder_means_its_reports(prof_here, pile):
    assert index_of(prof_here, f"{pile}/") == index_of(prof_here, *sorted(pile.iterdir()))


def test_the_answer_says_where_to_begin_and_the_command_that_it_gives_works(prof_here, pile):
    found = json.loads(prof_here("show", pile, "--format", "json").stdout)
    assert found["headline"]["what"].startswith("5 kernels of 3 recordings take ")
    assert found["headline"]["why"].startswith("In gemm_5, k5 takes ")
    assert f"`prof show {pile}/gemm_5.ncu-rep` shows all" in found["headline"]["next"]
    brief = prof_here("show", pile, "--brief").stdout
    assert "Why: In gemm_5" in brief
    assert "likely saves" not in brief


def test_the_command_that_the_answer_gives_names_the_kernel_and_is_quoted_for_a_shell(
    prof_here, pile, tmp_path
):
    for name in ("a report.ncu-rep", "other.ncu-rep"):
        shutil.copy(pile / "several.ncu-rep", tmp_path / name)
    found = json.loads(prof_here("show", tmp_path, "--format", "json").stdout)
    command = found["headline"]["next"].rpartition("`prof ")[2].partition("`")[0]
    assert command.startswith(f"show '{tmp_path}/a report.ncu-rep' -k ")
    shown = json.loads(prof_here(*shlex.split(command), "--format", "json").stdout)
    assert [one["kernel_name"] for one in shown["index"]] == [found["index"][0]["kernel_name"]]


def test_where_no_time_is_recorded_the_answer_says_so_of_all_recordings(tmp_path, make_run):
    for name in ("one", "other"):
        make_run({"kernel": name, "metrics": {"made": 1.0}}, name=name, root=tmp_path / "runs")
    ids = [path.name for path in (tmp_path / "runs").iterdir() if (path / "run.json").exists()]
    found = show_several(ids, Settings(runs=tmp_path / "runs")).finding
    assert (
        found.headline.what
        == "How long the 2 kernels of 2 recordings take in their 2 launches is not recorded."
    )
    assert found.headline.why == NOTHING_RECORDED


@pytest.mark.parametrize("width", [60, 80, 100])
def test_however_narrow_the_window_each_kernel_has_its_top_cause(reports, width):
    """One of these kernels has a name of several lines."""
    chosen = [str(reports / f"{name}.ncu-rep") for name in ("gemm_5", "hostile", "several")]
    text = document_text(triage_document(show_several(chosen, Settings()).finding), Window(width=width))
    assert "top cause" in text
    assert text.count("launch-too-short") >= 4


def test_at_80_columns_the_table_says_what_each_change_is_likely_to_save_rather_than_the_total(reports):
    """Where to begin follows from it, and the share says already how long each kernel takes."""
    chosen = [str(reports / f"{name}.ncu-rep") for name in ("gemm_6", "hostile", "several")]
    text = document_text(triage_document(show_several(chosen, Settings()).finding), Window(width=80))
    assert all(len(line) <= 80 for line in text.splitlines())
    (first,) = [line for line in text.splitlines() if " k6<" in line]
    assert first.split()[:5] == ["99.9", "%", "3.885", "ms", "gemm_6"]
    assert "no room for the columns total, launches" in text


@pytest.mark.parametrize("width", [60, 80])
def test_in_a_narrow_window_each_kernel_has_its_recording_and_what_its_change_saves(reports, width):
    chosen = [str(path) for path in sorted(reports.glob("*.ncu-rep"))]
    lines = document_text(triage_document(show_several(chosen, Settings()).finding), Window(width=width))
    assert {"hostile", "several", "processes"} <= set(lines.split())
    table = lines.split("\n\n")[1]
    assert "k6<128" in table
    assert "3.885 ms" in table


def test_a_kernel_with_hardly_any_share_of_the_time_has_not_none(prof_here, pile):
    text = prof_here("show", pile).stdout
    assert "< 0.1 %" in text
    assert " 0.0 %" not in text


def test_what_a_change_is_likely_to_save_is_that_part_of_the_total(prof_here, pile):
    (one,) = [one for one in index_of(prof_here, pile) if "k5" in one["kernel_name"]]
    (sheet,) = json.loads(prof_here("show", one["source"], "--format", "json").stdout)["kernels"]
    part = sheet["causes"][0]["saves_pct"]["expected"] / 100
    assert one["likely_saves_ns"] == pytest.approx(part * one["total_ns"], rel=1e-3)


def test_of_launches_that_are_too_short_one_stays(prof_here, pile):
    found = {
        one["kernel_name"].partition("(")[0]: one
        for one in index_of(prof_here, pile / "several.ncu-rep", pile)
    }
    once, thrice = found["calls_a_function"], found["scale"]
    assert once["top_cause"] == thrice["top_cause"] == "launch-too-short"
    assert (once["launches"], once["likely_saves_ns"]) == (1, None)
    (sheet,) = json.loads(prof_here("show", thrice["source"], "-k", "scale", "--format", "json").stdout)[
        "kernels"
    ]
    part = sheet["causes"][0]["saves_pct"]["expected"] / 100 * 2 / 3
    assert thrice["likely_saves_ns"] == pytest.approx(part * thrice["total_ns"], rel=1e-3)


def test_a_pattern_leaves_out_recordings_without_such_a_kernel(prof_here, pile):
    assert {one["source"] for one in index_of(prof_here, pile, "-k", "k[56]")} == {
        f"{pile}/gemm_5.ncu-rep",
        f"{pile}/gemm_6.ncu-rep",
    }
    none = prof_here("show", pile, "-k", "nothing")
    assert none.returncode == 33
    assert "no kernel in these 3 recordings matches 'nothing'" in none.stderr


def test_a_person_gets_the_one_kernel_that_is_meant_and_a_program_the_index(prof_here, pile):
    """An index of one kernel says that it takes all of the time; a script gets one shape, however many match."""
    for format in ("table", "markdown"):
        text = prof_here("--format", format, "show", pile, "-k", "k5").stdout
        assert text == prof_here("--format", format, "show", pile / "gemm_5.ncu-rep", "-k", "k5").stdout
    (one,) = index_of(prof_here, pile, "-k", "k5")
    assert one["source"] == f"{pile}/gemm_5.ncu-rep"
    assert len(prof_here("show", pile, "-k", "k5", "--format", "csv").stdout.splitlines()) == 2


def test_a_report_that_cannot_be_read_is_named_and_hides_no_other(prof_here, pile, tmp_path):
    shutil.copy(pile / "gemm_5.ncu-rep", tmp_path)
    (tmp_path / "cut.ncu-rep").write_bytes((pile / "gemm_6.ncu-rep").read_bytes()[:200_000])
    done = prof_here("show", tmp_path, "--format", "json")
    assert done.returncode == 14
    found = json.loads(done.stdout)
    assert [one["source"] for one in found["index"]] == [f"{tmp_path}/gemm_5.ncu-rep"]
    assert found["cautions"][0].startswith(f"left out: {tmp_path}/cut.ncu-rep: damaged")
    assert "left out: " in " ".join(prof_here("show", tmp_path, "--brief").stdout.split())
    assert (
        json.loads(prof_here("show", tmp_path, "--brief", "--format", "json").stdout)["cautions"]
        == found["cautions"]
    )
    lacking = prof_here("show", tmp_path, "-k", "nothing")
    assert "no kernel in this recording matches 'nothing'" in lacking.stderr
    (tmp_path / "gemm_5.ncu-rep").unlink()
    (tmp_path / "other.ncu-rep").write_bytes(b"NVR")
    none = prof_here("show", tmp_path, "--format", "json")
    assert none.returncode in (13, 14)
    assert "error" in json.loads(none.stdout)


def test_what_else_lies_beside_a_missing_report_is_said_once(prof_here, pile):
    done = prof_here("show", pile / "gemm_5.ncu-rep", pile / "xyz.ncu-rep")
    assert done.returncode == 11
    assert f"left out: {pile}/xyz.ncu-rep: no such file; " in " ".join(done.stdout.split())
    assert "holds 3 reports: " in " ".join(done.stdout.split())
    assert done.stderr == "prof: 1 of 2 recordings is left out, as the cautions say\n"


@pytest.fixture
def bad(tmp_path, pile):
    """A folder of reports that cannot be read, and what is wrong with each."""
    (tmp_path / "cut.ncu-rep").write_bytes((pile / "gemm_6.ncu-rep").read_bytes()[:200_000])
    (tmp_path / "empty.ncu-rep").touch()
    (tmp_path / "text.ncu-rep").write_text("hello")
    wrong = {
        "cut": "damaged or cut short",
        "empty": "the file is empty",
        "text": "not an Nsight Compute report",
    }
    return tmp_path, {f"{tmp_path}/{name}.ncu-rep: {what}": 1 for name, what in wrong.items()}


def _said_of(text, wrong):
    words = " ".join(text.split())
    return (
        {what: words.count(what) for what in wrong},
        words.count("Give a .ncu-rep file"),
        words.count("Copy the report"),
    )


def test_where_no_report_can_be_read_each_is_named_with_its_remedy(prof_here, bad):
    folder, wrong = bad
    done = prof_here("show", folder)
    assert (done.returncode, done.stdout) == (14, "")
    assert _said_of(done.stderr, wrong) == (wrong, 2, 1)
    (folder / "empty.ncu-rep").unlink()
    (folder / "text.ncu-rep").unlink()
    alone = prof_here("show", folder).stderr
    assert "none of these" not in alone
    assert alone.count("Copy the report") == 1


def test_of_some_reports_that_cannot_be_read_each_is_named_once_with_its_remedy(prof_here, pile, bad):
    folder, wrong = bad
    shutil.copy(pile / "gemm_5.ncu-rep", folder)
    done = prof_here("show", folder)
    assert done.returncode == 14
    assert _said_of(done.stdout, wrong) == (wrong, 2, 1)
    assert done.stderr == "prof: 3 of 4 recordings are left out, as the cautions say\n"
    rows = prof_here("show", folder, "--format", "csv")  # which has no cautions
    assert "cut.ncu-rep" not in rows.stdout
    assert _said_of(rows.stderr, wrong) == (wrong, 2, 1)


def test_a_bad_report_with_the_longest_name_hides_no_other(prof_here, pile, tmp_path):
    (bad := tmp_path / f"{'n' * 235}.ncu-rep").write_bytes(b"no report")
    done = prof_here("show", pile / "gemm_5.ncu-rep", bad, "--format", "json")
    assert done.returncode == 13
    found = json.loads(done.stdout)
    assert [one["source"] for one in found["index"]] == [f"{pile}/gemm_5.ncu-rep"]
    assert found["cautions"][0].startswith("left out: ")


def test_a_report_that_was_named_twice_counts_once(prof_here, pile):
    file = pile / "gemm_5.ncu-rep"
    assert len(index_of(prof_here, file, file)) == 1
    assert (
        len(index_of(prof_here, file, f"{pile}/../{pile.name}/gemm_5.ncu-rep", pile / "gemm_6.ncu-rep")) == 2
    )


def test_every_format_has_every_kernel_and_the_schema_describes_it(prof_here, pile):
    found = json.loads(prof_here("show", pile, "--format", "json", "--full").stdout)
    jsonschema.validate(found, json.loads(prof_here("show", "--schema").stdout))
    rows = list(csv.DictReader(io.StringIO(prof_here("show", pile, "--format", "csv").stdout)))
    assert [row["kernel_name"] for row in rows] == [one["kernel_name"] for one in found["index"]]
    table = prof_here("show", pile).stdout
    markdown = prof_here("show", pile, "--format", "markdown").stdout
    for name in ("gemm_5", "gemm_6", "several"):
        assert name in table
        assert name.replace("_", "\\_") in markdown


def test_the_kernels_that_are_left_out_have_as_many_digits_as_those_that_are_shown():
    index = [TriagedKernel("a", f"k{n}", "H200", 1, 100.0, 100 / 36, None, None, None) for n in range(36)]
    text = document_text(triage_document(Triage(None, index, 36, [])), Window(width=100))
    assert "8 more kernels take 22.2 % of the time; --full lists all." in text


def test_code_that_is_no_file_is_named_shortly_and_explained_below_the_kernels():
    row = TriagedKernel("a", "k", "H200", 1, 100.0, 100.0, "barriers", f"{40 * 'a'}.cubin.cu:45", None)
    text = document_text(triage_document(Triage(None, [row], 2, [])), Window(width=120))
    assert text.index("code that CuPy compiled") > text.index("barriers at <CuPy source>:45")
    brief = document_text(triage_document(Triage(None, [row], 2, [])).brief, Window(width=120))
    assert "CuPy" not in brief  # which names no line
    assert "cubin" not in text


def test_reports_of_one_name_in_two_folders_are_told_apart(prof_here, pile, tmp_path):
    shutil.copy(pile / "gemm_5.ncu-rep", tmp_path)
    table = prof_here("show", pile / "gemm_5.ncu-rep", tmp_path / "gemm_5.ncu-rep").stdout
    assert table.count("k5<128, 128, 8, 8, 8>") == 2
    assert f"prof compare {pile}/gemm_5.ncu-rep {tmp_path}/gemm_5.ncu-rep" in " ".join(table.split())


def test_a_run_of_the_name_of_a_folder_stays_the_run(prof, prof_here, pile, tmp_path, make_run):
    make_run({"kernel": "k", "ns": 1.0}, name="pile", root=tmp_path / "runs")
    shutil.copytree(pile, tmp_path / "pile")
    stored = prof_here("show", "pile", cwd=tmp_path)
    assert stored.returncode == 0, stored.stderr
    assert "gemm_5" not in stored.stdout
    assert "gemm_5" in prof("show", "pile/", cwd=tmp_path).stdout


def test_a_stored_run_may_stand_before_reports(prof_recorded, pile):
    words = ("show", "6", pile / "gemm_5.ncu-rep", "--format", "json")
    index = json.loads(prof_recorded(*words).stdout)["index"]
    assert {one["source"] for one in index} == {"6", f"{pile}/gemm_5.ncu-rep"}


def test_a_chart_of_several_is_refused(prof_here, pile, tmp_path):
    done = prof_here("show", pile, "--chart", tmp_path / "chart.svg")
    assert done.returncode == 2
    assert "a chart shows one recording" in done.stderr


@pytest.mark.parametrize(
    ("first", "second", "pair"),
    [
        ([("k", "H200")], [("other", "H200")], "a.ncu-rep b.ncu-rep"),
        ([("k", "H200"), ("l", "H200")], [("l", "H200"), ("m", "H200")], "a.ncu-rep b.ncu-rep"),
        ([("k", "H200")], [("k", "H100")], "BEFORE AFTER"),  # which is refused
        ([("k", "H200"), ("l", "H200")], [("m", "H200")], "BEFORE AFTER"),  # which asks for -k
    ],
)
def test_two_recordings_are_named_where_they_can_be_compared_as_they_are(first, second, pair):
    index = [
        TriagedKernel(source, kernel, gpu, 1, 100.0, 25.0, None, None, None)
        for source, kernels in (("a.ncu-rep", first), ("b.ncu-rep", second))
        for kernel, gpu in kernels
    ]
    assert f"`prof compare {pair}`" in document_text(triage_document(Triage(None, index, 2, [])), Window())


def test_a_listing_writes_offsets_as_the_answer_does(prof_here, make_run, tmp_path):
    code = [("LDG.E R4, [R2.64]", 1e6), ("FADD R5, R4, R4", 1e6), ("STG.E [R6.64], R5", 1e6)]
    make_run({"kernel": "bare", "ns": 1e5, "instructions": code}, name="bare", root=tmp_path)
    listed = prof_here("--runs", tmp_path, "sass", "bare", "--listing").stdout
    assert " 0x10 FADD R5, R4, R4" in " ".join(listed.split())


def test_the_last_line_of_a_recording_names_the_shorter_answer_and_the_fuller_one(prof_here, reports):
    shown = prof_here("show", reports / "gemm_5.ncu-rep").stdout
    last = " ".join(shown[shown.rindex("`--full`") :].split())
    assert last.endswith("`--brief` shows the answer alone.")
    brief = prof_here("show", reports / "gemm_5.ncu-rep", "--brief").stdout
    assert brief.splitlines()[0] == shown.splitlines()[0]
    assert "`--brief`" not in brief


def test_the_kernels_of_one_recording_have_what_is_likely_saved_too(prof_here, reports):
    found = json.loads(prof_here("show", reports / "several.ncu-rep", "--format", "json").stdout)
    saves = {one["kernel_name"].partition("(")[0]: one.get("likely_saves_ns") for one in found["index"]}
    assert saves["scale"] > 0
    assert saves["calls_a_function"] is None, "it starts once"
    assert "likely saves" in prof_here("show", reports / "several.ncu-rep").stdout
    alone = json.loads(prof_here("show", reports / "gemm_5.ncu-rep", "--format", "json").stdout)
    assert "likely_saves_ns" not in alone["index"][0]
