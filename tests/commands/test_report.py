"""`prof report`: which recordings become a page, where it goes, and what is said of it."""

import os
import re
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from html import unescape

import pytest
from living import living, wait_until

import profiler
from profiler.errors import OutputNotWritable
from profiler.present.page.page import SIGNATURE
from profiler.store.process_timings import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings


@pytest.fixture
def report(prof_here, drawing, recorded, tmp_path):
    """`report(*arguments)`: what the command said, and the page that it wrote."""

    def run(*arguments, runs=recorded.root):
        path = tmp_path / "page.html"
        result = prof_here("report", "-o", path, "--runs", runs, *arguments)
        return result, path.read_text() if path.exists() else ""

    return run


def anchors(page):
    *views, last = re.findall(r'<section class="view" id="([^"]*)"', page)
    assert last == "names", "which explains the others"
    return views


def headings(page):
    *titles, last = (unescape(text) for text in re.findall(r"<h2 tabindex=[^>]*>(.*?)</h2>", page))
    assert last == "What the names mean"
    return titles


@pytest.mark.slow
def test_an_interrupt_while_charts_are_drawn_ends_it_and_leaves_no_page(shipped_runs, tmp_path):
    """It comes when the first of many charts is drawn, and those that wait are not drawn any more."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "DRAWN_FOR": str(tmp_path)}
    page, pictures = tmp_path / "page.html", tmp_path / "cache/prof/pictures"
    command = [sys.executable, "-c", "from profiler.cli import main; main()"]
    command += ["report", "-o", page, "--runs", shipped_runs.root]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as child:
        assert wait_until(lambda: pictures.exists() and any(pictures.iterdir()))
        os.killpg(child.pid, signal.SIGINT)
        _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said.endswith("prof: interrupted\n")
    assert "Traceback" not in said
    assert not page.exists()
    assert len(list(pictures.iterdir())) < 10, "all that were asked for by then are drawn"
    assert wait_until(lambda: not living(f"DRAWN_FOR={tmp_path}"), seconds=10)


# Which recordings


def test_one_operand_is_one_sheet(report):
    result, page = report("6")
    assert (result.returncode, result.stdout) == (0, "")
    assert re.fullmatch(r"Wrote \S+page\.html \([\d.]+ kB\): 1 kernel\n", result.stderr)
    assert anchors(page) == ["6"]
    assert headings(page) == ["6 vectorized"]


@pytest.mark.slow
def test_each_operand_is_compared_with_the_one_before(report):
    result, page = report("4", "5", "6")
    assert result.stderr.endswith(": 3 kernels, 2 comparisons\n")
    assert anchors(page) == ["ladder", "4-5", "5-6", "4", "5", "6"]
    assert headings(page)[2] == "5 tile_2d → 6 vectorized"
    assert re.search(r"gemm 6 is 1\.1\d\dx as fast as gemm 5", page)


def test_plain_reports_are_numbered_in_the_order_given(report, reports, tmp_path):
    before, after = reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep"
    _, page = report(before, after, runs=tmp_path)
    assert anchors(page) == ["ladder", "1-2", "1", "2"]
    assert headings(page)[1] == f"{before.name} → {after.name}"
    assert "four-way: confirmed" in page
    assert "rung" not in page.partition("<dialog")[2].partition("</dialog>")[0], "there is no ladder"


def test_the_page_names_a_plain_report_without_its_folder(report, reports, tmp_path):
    """A page is sent to others, who need not know how the folders of its sender are called."""
    folder = tmp_path / "for my eyes"
    folder.mkdir()
    shutil.copy(reports / "gemm_6.ncu-rep", folder / "mine.ncu-rep")
    _, page = report(folder / "mine.ncu-rep")
    assert "not stored: mine.ncu-rep" in page
    assert folder.name not in page


@pytest.mark.slow
def test_no_caution_on_the_page_holds_the_folders_of_its_author(report, reports, tmp_path, monkeypatch):
    """`processes` has launches of very different times, which a caution of each kernel says."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        shutil.copy(reports / "processes.ncu-rep", tmp_path / folder)
    _, alone = report(tmp_path / "a" / "processes.ncu-rep")
    assert "processes.ncu-rep: its 6 launches take from" in alone
    monkeypatch.chdir(tmp_path / "b")
    _, both = report(tmp_path / "a" / "processes.ncu-rep", "processes.ncu-rep")
    assert "a/processes.ncu-rep: its 6 launches take from" in both
    assert str(tmp_path) not in alone + both


@pytest.mark.slow
def test_runs_of_the_same_rung_are_distinguished_by_their_names(report, shipped_runs):
    result, page = report("20261123t093034z-gemm-5-2c738f239bef", "gemm-5-source", runs=shipped_runs.root)
    assert result.returncode == 0
    assert headings(page)[2:] == ["5 tile_2d", "gemm-5-source"]
    assert anchors(page) == ["ladder", "1-2", "1", "2"]
    assert "different sections were recorded" in page


@pytest.mark.slow
def test_two_measured_differently_are_refused_and_among_several_their_pair_says_why(report, shipped_runs):
    result, page = report("gemm-5", "copy-1", runs=shipped_runs.root)
    assert (result.returncode, page) == (31, "")
    result, page = report("gemm-5", "copy-1", "gemm-6", runs=shipped_runs.root)
    assert result.returncode == 0
    assert page.count("The two were measured in different ways") == 2
    assert " and 6 vectorized are not compared: the workload differs: " in page, (
        "the overview says why a step is empty"
    )


@pytest.mark.slow
def test_the_page_of_several_recordings_opens_with_how_much_faster_the_last_is(report):
    """They are versions to compare, and no parts of a whole: their times are not added up."""
    _, page = report("3", "4", "5", "6")
    assert "<h1>4 recordings: 3 shared → … → 6 vectorized</h1>" in page
    assert re.search(r"6 vectorized is [\d.]+x as fast as 3 shared \([\d.]+.ms.→.[\d.]+.ms without", page)
    assert re.search(r"The largest of 3 steps: gemm \d is [\d.]+x as fast as gemm \d", page)
    assert "kernels take" not in page
    assert "share, %" not in page, "each is all of its recording"
    assert page.index("3 shared</a>") < page.index("4 tile_1d</a>")  # in the order named


@pytest.mark.slow
def test_every_kernel_of_a_report_has_a_sheet_and_a_regular_expression_leaves_some(report, reports):
    _, page = report(reports / "several.ncu-rep")
    assert headings(page)[1:] == ["offset", "scale", "calls_a_function"], (
        "numbered as the table lists them, what takes most of the time first"
    )
    _, page = report(reports / "several.ncu-rep", "--kernel-name", "scale")
    assert headings(page) == ["scale"]


@pytest.mark.slow
def test_the_page_compares_the_kernels_that_both_reports_have(report, reports):
    result, page = report(reports / "several.ncu-rep", reports / "several.ncu-rep")
    assert result.stderr.endswith(": 6 kernels, 3 comparisons\n")
    assert anchors(page)[1:4] == ["1-4", "2-5", "3-6"]
    slowest_first = ["offset", "scale", "calls_a_function"]
    assert [one for one in headings(page) if one in slowest_first] == 2 * slowest_first
    assert [one for one in headings(page) if "→" in one and one.split()[0] in slowest_first] == [
        f"{name} → {name}" for name in slowest_first
    ]


@pytest.mark.slow
def test_recordings_without_a_kernel_in_common_are_a_page_that_compares_what_it_can(report, reports):
    files = [reports / f"{name}.ncu-rep" for name in ("several", "graph", "triton_matmul")]
    result, page = report(*files, "--force")
    assert result.returncode == 0
    several, graph, matmul = (file.name for file in files)
    assert f"<h1>{several}, {graph}, {matmul}</h1>" in page  # an arrow stands between what is compared
    assert f"{several} and {graph} have no kernel of the same name, so they are not compared." in page
    assert "At a glance" in page
    _, page = report(*files)
    assert f"no kernel of the same name: {several} and {graph}; {graph} and {matmul}. " in page


@pytest.mark.slow
def test_a_page_calls_reports_by_their_names_and_never_by_the_folders_of_their_author(
    report, reports, tmp_path
):
    mixed = tmp_path / "a-private-folder" / "mixed.ncu-rep"
    mixed.parent.mkdir()
    shutil.copy(reports / "triton_add_full.ncu-rep", mixed)
    _, page = report(mixed, reports / "triton_add_full.ncu-rep")
    assert "the launches have 3 shapes" in page
    assert "a-private-folder" not in page


@pytest.mark.slow
def test_a_pile_of_reports_opens_with_where_to_begin_and_claims_no_step_between_strangers(report, reports):
    """Neighbours in a folder are no versions: a transpose that ends its list is not 80 times as fast as a product."""
    names = ("gemm_5", "gemm_6", "triton_matmul", "triton_add_full", "several")
    files = [reports / f"{name}.ncu-rep" for name in names]
    result, page = report(*files)
    assert (
        ": 7 kernels, 1 comparison\nnot compared: 3 pairs without a kernel of the same name; --force"
        in result.stderr
    )
    assert "7 kernels of 5 recordings take " in page
    assert "In gemm_5, k5 takes " in page
    assert "gemm_6 is 1.879x as fast as gemm_5" in page, "these two share a word, and are compared"
    assert not re.search(r"(triton_)?matmul(\.ncu-rep)? is [\d.]+x as fast", page)
    assert str(reports) not in page, "it is sent to others"
    rows = re.findall(r"<td class=\"folds\"><a [^>]*>(\w+)\.ncu-rep</a>", page.replace("<wbr>", ""))
    assert rows == ["gemm_5", "gemm_6", "triton_matmul", "triton_add_full", *["several"] * 3], (
        "what takes most of the time first"
    )


@pytest.mark.slow
def test_a_folder_means_its_reports(report, reports, tmp_path):
    pile = tmp_path / "pile"
    pile.mkdir()
    for name in ("gemm_5", "several"):
        shutil.copy(reports / f"{name}.ncu-rep", pile)
    result, page = report(pile)
    assert result.returncode == 0, result.stderr
    assert headings(page) == headings(report(*sorted(pile.iterdir()))[1])
    assert "gemm_5.ncu-rep" in page
    navigated = re.findall(r'<span class="name">(.*?)</span>', page)
    assert navigated[0] == "gemm_5", "all are reports, and a long name would be cut in its middle"


def test_a_report_that_cannot_be_read_is_left_out_named_and_ends_the_command(report, reports, tmp_path):
    """As in `prof show`: the page is made of the others, and nobody takes it for a page of all."""
    pile = tmp_path / "pile"
    pile.mkdir()
    shutil.copy(reports / "several.ncu-rep", pile)
    (pile / "empty.ncu-rep").touch()
    (pile / "text.ncu-rep").write_text("hello")
    result, page = report(pile)
    shown = unescape(page).split("left out: ")[1:]
    assert [one.split(":")[0] for one in shown] == ["empty.ncu-rep", "text.ncu-rep"]
    assert str(pile) not in page, "it is sent to others"
    assert anchors(page) == ["ladder", "1", "2", "3"]
    assert result.returncode == 13
    said = " ".join(result.stderr.split())
    for name in ("empty", "text"):
        assert f"left out: {pile}/{name}.ncu-rep: " in said
    assert ": 3 kernels prof: " in said
    assert f"prof: {pile}/empty.ncu-rep: the file is empty" in said


def test_the_page_of_the_one_report_that_could_be_read_says_which_others_it_lacks(report, reports, tmp_path):
    (tmp_path / "cut.ncu-rep").write_bytes((reports / "gemm_5.ncu-rep").read_bytes()[:5000])
    pair = [tmp_path / "cut.ncu-rep", reports / "gemm_6.ncu-rep"]
    result, page = report(*pair)
    assert result.returncode == 14
    assert anchors(page) == ["ladder", "1"]
    assert "left out: cut.ncu-rep: damaged" in unescape(page)
    assert "No two of these recordings are compared" not in page
    with pytest.warns(UserWarning, match=r"left out: .*cut\.ncu-rep: damaged") as warned:
        profiler.report(*pair, output=tmp_path / "python.html")
    assert warned[0].filename == __file__, "the line that asked for the page"


@pytest.mark.slow
def test_versions_with_names_that_share_nothing_are_compared_where_a_pattern_asks_for_it(report, reports):
    files = [reports / f"{name}.ncu-rep" for name in ("gemm_5", "triton_matmul", "gemm_6")]
    result, _ = report(*files, "--force", "--kernel-name", "k[56]|matmul")
    assert result.stderr.endswith(": 3 kernels, 2 comparisons\n")


@pytest.mark.slow
def test_a_total_is_shown_only_beside_another_time(report, make_run, tmp_path):
    titles = re.compile("<th[^>]*>(?:<button[^>]*>)?total<")
    launches = [{"kernel": name, "ns": 1e6} for name in ("one", "other")]
    make_run(*launches, name="made", root=tmp_path)
    _, once = report("made", runs=tmp_path)
    _, again = report("3", "4", "5", "6")
    assert (len(titles.findall(once)), len(titles.findall(again))) == (0, 1)


def test_timings_alone_are_a_page_of_their_own(report):
    result, page = report("gemm-6-timed")
    assert result.returncode == 0
    assert "of its speed reached" in page
    assert "Other metrics" not in page
    assert "What the names mean" not in page, "there are none"


def test_a_title_is_the_readers(report):
    _, page = report("6", "--title", "Mine & <b>yours</b>")
    assert "<h1>Mine &amp; &lt;b&gt;yours&lt;/b&gt;</h1>" in page
    assert "<title>Mine &amp; &lt;b&gt;yours&lt;/b&gt;</title>" in page


# A ladder of one's own


_LADDER = 'title = "Mine <i>"\nreference = 0\ncommand = ["true"]\nbytes = "8 * n"\n[workload]\nn = 1000\n'
_RUNG = '[[kernel]]\nnumber = {}\nname = "{}"\nidea = "idea {}"\nregex = "k"\n'
_RUNGS = ("copy", "plain", "wide", "library")


@pytest.fixture
def own_ladder(tmp_path, make_run, monkeypatch):
    """Makes a ladder of somebody's program: two profiled kernels between a copy and a library that were only timed."""
    folder = tmp_path / "kernels" / "mine"
    folder.mkdir(parents=True)
    rungs = [_RUNG.format(number, name, number) for number, name in enumerate(_RUNGS)]
    (folder / "ladder.toml").write_text(_LADDER + "".join(rungs))
    store, workload = RunStore(tmp_path / "runs"), {"n": 1000}
    for number, ns in ((1, 200.0), (2, 100.0)):
        launches = [{"kernel": "k", "ns": ns + repeat} for repeat in range(3)]
        rung = {"name": f"mine-{number}", "ladder": "mine", "kernel": number, "workload": workload}
        make_run(*launches, root=store.root, timings=[ns, ns + 1, ns + 2], **rung)
    day = datetime(2026, 1, 1, tzinfo=UTC)
    for number, ns in ((0, 90.0), (3, 95.0)):
        timings = [Timing(0, repeat, ns + repeat, None) for repeat in range(3)]
        timed = TimedRun("mine", number, workload, day, "NVIDIA H200", "", Provenance(), timings)
        commit_timings(store, [timed])
    monkeypatch.chdir(tmp_path)
    return store.root


def test_a_ladder_of_ones_own_is_drawn_whole(report, own_ladder):
    result, page = report("--ladder", "mine", runs=own_ladder)
    assert result.stderr.endswith(": 4 kernels, 2 comparisons\n")
    assert anchors(page) == ["ladder", "1-2", "2-3", "0", "1", "2", "3"]
    assert "<h1>mine: Mine &lt;i&gt;</h1>" in page
    assert headings(page)[1:4] == ["1 plain → 2 wide", "2 wide → 3 library", "0 copy"]
    assert page.count("idea 2") == 2, "at the rung, and at the step to it"
    assert "The last step: mine 3 is 1.052x as fast as mine 2" in page[: page.index('id="1-2"')]


def test_a_step_to_what_was_only_timed_says_how_much_faster_and_no_more(report, own_ladder):
    _, page = report("--ladder", "mine", runs=own_ladder)
    step = page[page.index('id="2-3"') :]
    assert "mine 3 is 1.052x as fast as mine 2 (" in step
    assert "<h3>Counters</h3>" not in step


def test_a_rung_that_is_left_out_is_named_on_the_page_and_beside_it(report, own_ladder, make_run):
    rung = {"name": "mine-0", "ladder": "mine", "kernel": 0, "workload": {"n": 1000}}
    make_run({"kernel": "other"}, {"kernel": "another"}, root=own_ladder, **rung)
    result, page = report("--ladder", "mine", runs=own_ladder)
    said = "left out (0): mine 0: no kernel name matches 'k'"
    assert said in result.stderr.splitlines()
    assert said in unescape(page)
    assert anchors(page) == ["ladder", "1-2", "2-3", "1", "2", "3"]


@pytest.mark.slow
def test_reports_of_rungs_are_a_page_though_nobody_said_their_workload(prof_here, report, reports, tmp_path):
    """The page cannot say then how much of the speedup is less work; it says the rest."""
    store = tmp_path / "runs"
    for number in ("5", "6"):
        path = reports / f"gemm_{number}.ncu-rep"
        prof_here("ingest", path, "--ladder", "gemm", "--kernel", number, "--runs", store)
    result, page = report(runs=store)
    assert result.stderr.endswith(": 2 kernels, 1 comparison\n")
    assert "four-way: confirmed" in page


# What goes wrong


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["no-such-run"], 21), (["gemm-5", "copy-1"], 31), (["5", "gemm-6-timed"], 25), (["gone.ncu-rep"], 11)],
)
def test_what_cannot_be_read_or_compared_writes_no_page(report, shipped_runs, tmp_path, arguments, code):
    result, page = report(*arguments, runs=shipped_runs.root)
    assert result.returncode == code
    assert page == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.html.png", "page.\x1b[31mpdf"])
def test_a_page_is_not_written_into_a_file_that_says_it_is_something_else(prof_here, tmp_path, name):
    result = prof_here("report", "no-such-run", "-o", tmp_path / name)
    assert result.returncode == 2
    assert "should end in .html or .htm: it is a page, which a browser can print as PDF" in result.stderr
    assert "\x1b" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_chooses_launches_needs_a_recording_to_choose_from(prof_here, tmp_path):
    for option in ("--launch", "--nvtx", "-k"):
        refused = prof_here("report", option, "4", "-o", tmp_path / "page.html")
        assert refused.returncode == 2
        assert "name the recordings that -k, --nvtx or --launch choose from" in refused.stderr


def test_a_file_that_cannot_be_written_is_an_error_at_once(prof_here, tmp_path):
    result = prof_here("report", "no-such-run", "-o", tmp_path / "no" / "page.html")
    assert result.returncode == 82
    assert f"cannot be written: there is no folder {tmp_path / 'no'}" in result.stderr
    assert f"Make the folder first: `mkdir -p {tmp_path / 'no'}`." in result.stderr


def test_a_failure_leaves_the_old_page(report, tmp_path):
    (tmp_path / "page.html").write_text(f"{SIGNATURE} old")
    result, page = report("5", "no-such-run")
    assert result.returncode == 21
    assert page.endswith(" old")


def test_a_page_replaces_an_older_page_but_no_file_of_another_origin(report, tmp_path):
    mine = tmp_path / "page.html"
    mine.write_text("<!doctype html><title>My notes</title>")
    refused, page = report("gemm-6-timed")
    assert refused.returncode == 82
    assert page.endswith("My notes</title>")
    assert "exists already, and prof did not write it" in refused.stderr
    assert "Name another file with --output, or write over this one with --overwrite." in " ".join(
        refused.stderr.replace("`", "").split()
    )
    _, page = report("gemm-6-timed", "--overwrite")
    assert "My notes" not in page
    again, _ = report("gemm-6-timed")
    assert again.returncode == 0
    mine.write_text("")
    empty, _ = report("gemm-6-timed")
    assert empty.returncode == 0


def test_python_spares_the_same_files(reports, tmp_path):
    mine = tmp_path / "page.html"
    mine.write_text("my notes")
    with pytest.raises(OutputNotWritable) as refused:
        profiler.report(reports / "gemm_6.ncu-rep", output=mine)
    assert "`output`, or write over this one with `overwrite=True`" in str(refused.value.remedy)
    assert mine.read_text() == "my notes"


def test_quiet_says_nothing(report):
    result, page = report("gemm-6-timed", "--quiet")
    assert (result.stdout, result.stderr) == ("", "")
    assert page


def test_python_writes_the_page_that_the_command_writes(report, reports, tmp_path):
    pair = [reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep"]
    page = profiler.report(*pair, output=tmp_path / "python.html")
    assert page == tmp_path / "python.html"
    _, same = report(*pair)
    assert page.read_text() == same
    with pytest.raises(OutputNotWritable, match=r"should end in \.html"):
        profiler.report(*pair, output=tmp_path / "page.pdf")


def test_where_there_is_no_ladder_the_error_says_to_name_recordings(prof_here, tmp_path):
    done = prof_here("report", cwd=tmp_path)
    assert done.returncode == 44
    assert "Name what the page is about, such as `prof report mine.ncu-rep`." in done.stderr
