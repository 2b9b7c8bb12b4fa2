"""Wrong turns that people take, each with the command that they meant."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

import profiler
from profiler.errors import ReportNotFound
from profiler.store.runs.file_names import holds_run


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("peer_5.ncu-rep", "prof show peer_5.ncu-rep"),
        ("a.ncu-rep b.ncu-rep", "prof compare a.ncu-rep b.ncu-rep"),
        ("diff 5 6", "prof compare 5 6"),
        ("show 6 --json", "--format json"),
        ("--json show 6", "--format json"),
        ("build 6", "prof build --kernel 6"),
        ("runs", "prof list"),
        ("explain a.ncu-rep", "prof show a.ncu-rep"),
        ("explain too-little-reuse", "prof causes too-little-reuse"),
        ("record ./mine", "prof collect ./mine"),
        ("history mine", "prof list mine"),
        ("check --baseline 6 5 --threshold 5", "--max-slower does that"),
        ("compare 5 6 --short", "--brief does that"),
        ("show a.ncu-rep --kernel softmax", "--kernel-name does that"),
        ("collect ./mine --rows 7", "prof collect -- ./mine --rows 7"),
        ("collect --times-only python train.py --steps=3", "prof collect --times-only -- python train.py --steps=3"),
        ("check before.ncu-rep after.ncu-rep", "prof check --baseline before.ncu-rep after.ncu-rep"),
        ("check 5 6 --format json", "prof check --baseline 5 6 --format json"),
        ("collect 4-6 --size 2048", "prof collect --kernel 4-6 --size 2048"),
        ("compare a.ncu-rep b.ncu-rep c.ncu-rep", "prof compare a.ncu-rep b.ncu-rep"),
        ("compare a.ncu-rep b.ncu-rep c.ncu-rep", "prof report a.ncu-rep b.ncu-rep c.ncu-rep -o report.html"),
        ("compare a.ncu-rep b.ncu-rep reduce", "prof compare a.ncu-rep b.ncu-rep -k reduce"),
        ("show a.ncu-rep -f json", "--format json"),
        ("analyze a.ncu-rep", "prof show a.ncu-rep"),
        ("push s3://bucket/runs", "prof ingest REPORT --runs s3://bucket/runs"),
        ("upload runs", "--runs says where runs are kept"),
        ("pull gemm-6", "prof export gemm-6"),
        ("compare 5 6 7", "prof report 5 6 7"),
        ("check after.ncu-rep", "give a baseline: `prof check --baseline RUN after.ncu-rep`"),
        ("compare a.ncu-rep", "as in `prof compare a.ncu-rep AFTER`; or compare two of its kernels"),
        ("compare 5 vs 6", "leave out the word between the two: prof compare 5 6"),
        ("show 5 vs 6", "leave out the word between the two: prof show 5 6"),
        ("report 5 and 6 -o pair.html", "leave out the word between the two: prof report 5 6"),
        ("compare a.ncu-rep with b.ncu-rep", "prof compare a.ncu-rep b.ncu-rep"),
        ("ladder 6", "prof show 6"),
        ("ladder --view memory 6", "prof show 6"),
        ("ladder sum copy", "prof ladder takes 1 word beside its options: leave out copy"),
        ("ladder sum --ladder copy", "two ladders are named, and prof ladder shows one: leave out --ladder"),
        ("ladder a.ncu-rep", "prof report a.ncu-rep"),
        ("ladder a.ncu-rep b.ncu-rep", "prof report a.ncu-rep b.ncu-rep"),
        ("collect sum --kernel 4-6", "prof collect --ladder sum --kernel 4-6"),
        ("verify sum", "prof verify --ladder sum"),
        ("verify --seed 7 sum", "prof verify --ladder sum --seed 7"),
        ("time --size 2048 4-6", "prof time --kernel 4-6 --size 2048"),
        ("time 6 --size 6", "prof time --kernel 6 --size 6"),
        ("check 6 --baseline 5 7 6", "prof check takes 1 word beside its options: leave out 7 6"),
        ("list a b --format bogus", "'bogus' is not one of"),
        ("build nosuch", "prof build takes no words beside its options: leave out nosuch"),
        ("sass 5 6 7", "prof sass takes 2 words beside its options: leave out 7"),
        ("compare --gpu h200 sum 1 3", "prof compare 1 3 --gpu h200 --ladder sum"),
        ("query --format csv select 1", "put the SQL into quotes, as one word: prof query"),
        ("version", "prof --version"),
        ("compare sum 1 2", "prof compare 1 2 --ladder sum"),
        ("show a.ncu-rep -o a.html", "write a page with `prof report a.ncu-rep -o page.html`"),
        ("compare 5 6 --output=b.md", "redirect it with `prof compare 5 6 --format markdown > FILE`"),
        ("show a.ncu-rep --html", "write a page with `prof report a.ncu-rep -o page.html`"),
        ("show --details a.ncu-rep", "--full shows everything"),
        ("show a.ncu-rep --page details", "--full --format csv every counter"),
        ("compare 5 6 --metrics duration_ns", "Possible options: --metric"),
        ("show -k softmax a.ncu-rep -o a.html", "`prof report ... -o page.html`"),
        ("show a.ncu-rep --format html", "`prof report` writes a page"),
        ("--format=md show 6", "give --format markdown"),
        ("show 6 --format yaml", "'yaml' is not one of"),
        ("show 6 --no-color", "the variable NO_COLOR does that, as in `NO_COLOR=1 prof show 6`"),
        ("--no-colour compare 5 6", "as in `NO_COLOR=1 prof compare 5 6`"),
        ("show --color=never 6", "as in `NO_COLOR=1 prof show 6`"),
        ("show 6 --color off", "as in `NO_COLOR=1 prof show 6`"),
        ("--color always show 6", "as in `FORCE_COLOR=1 prof show 6`"),
        ("show --color 6", "the variable FORCE_COLOR does that, as in `FORCE_COLOR=1 prof show 6`"),
        ("-i a.ncu-rep", "prof show a.ncu-rep"),
        ("show --import a.ncu-rep", "name a report without an option"),
        ("ingest", "missing argument 'REPORT...'. For example: `prof ingest before.ncu-rep after.ncu-rep`"),
        ("export", "For example: `prof export 6`"),
        ("list --name gemm", "name the runs without an option"),
        ("collect --force ./mine", "there is no --force: --again does that"),
        ("tune --kernel 7 --force", "there is no --force: --again does that"),
        ("export 6 --force", "there is no --force: --overwrite does that"),
        ("notebook 5 6 --force", "there is no --force: --overwrite does that"),
        ("compact --force", "there is no --force: --tracked does that"),
        ("collect --kernel-regex gemm ./mine", "there is no --kernel-regex: --kernel-name does that"),
        ("query select kernel from launches", "put the SQL into quotes, as one word: prof query"),
        ("query select(1) a.ncu-rep", "prof query reads stored runs alone: prof ingest a.ncu-rep && prof query 'select(1)'"),
        ("query select a.ncu-rep from launches", "put the SQL into quotes, as one word"),
    ],
)  # fmt: skip
def test_a_wrong_command_is_answered_with_the_one_that_was_meant(prof_here, typed, hint):
    done = prof_here(*typed.split())
    assert done.returncode == 2
    assert hint in done.stderr


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("5 vectorized", "`-k PATTERN` chooses a kernel by its name."), ("sum 3", "with `--ladder sum`")],
)
def test_a_word_beside_a_recording_is_answered_with_the_option_for_it(prof_here, shipped_runs, typed, hint):
    done = prof_here("--runs", shipped_runs.root, "show", *typed.split())
    assert done.returncode == 21
    assert hint in done.stderr


def test_a_folder_of_reports_in_the_place_of_a_command_is_shown(prof_here, tmp_path):
    (tmp_path / "mine").mkdir()
    assert "no such command 'mine'" in prof_here("mine", cwd=tmp_path).stderr
    (tmp_path / "mine" / "a.ncu-rep").touch()
    done = prof_here("mine", "--brief", cwd=tmp_path)
    assert done.returncode == 2
    assert "prof show mine --brief" in done.stderr


def test_two_of_the_reports_in_a_folder_are_named_for_a_comparison(prof_here, tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.ncu-rep").touch()
    told = " ".join(prof_here("compare", ".", cwd=tmp_path).stderr.split())
    assert "say which two of the 3 reports in .: `prof compare a.ncu-rep b.ncu-rep`" in told
    assert "`prof report .`" in told


@pytest.mark.parametrize("words", ["show 6", "compare 5 6", "check --baseline 5 6", "ladder"])
def test_all_of_an_answer_and_its_short_form_exclude_each_other(prof_recorded, words):
    both = prof_recorded(*words.split(), "--brief", "--full")
    assert (both.returncode, both.stdout) == (2, "")
    assert "leave out one of the two" in " ".join(both.stderr.split())
    assert prof_recorded(*words.split(), "--brief").returncode == 0


def test_help_is_printed_whatever_else_was_typed(prof_here):
    done = prof_here("list", "a", "b", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: prof list")


def test_sql_whose_star_the_shell_replaced_is_said_to_need_quotes(prof_here, tmp_path):
    (tmp_path / "notes.txt").touch()
    done = prof_here("query", "select", "notes.txt", "from", "launches", cwd=tmp_path)
    assert done.returncode == 2
    assert "the shell has put the names of files in place of a *" in done.stderr


@pytest.mark.parametrize("verb", ["show", "compare 5", "sass", "report", "export"])
def test_a_ladder_in_the_place_of_a_run_is_called_one(prof_here, shipped_runs, verb):
    done = prof_here("--runs", shipped_runs.root, *verb.split(), "sum")
    assert done.returncode == 21
    assert "'sum' is a ladder: `prof ladder sum`" in done.stderr
    nothing = prof_here("--runs", shipped_runs.root, *verb.split(), "sun")
    assert nothing.returncode == 21
    assert "is a ladder" not in nothing.stderr


@pytest.mark.parametrize(
    "place", [["--ladder", "", "ladder"], ["ladder", "--ladder", ""], ["list", "--ladder", ""]]
)
def test_an_empty_name_of_a_ladder_is_refused(prof_here, shipped_runs, place):
    """A shell variable that is not set leaves one behind."""
    done = prof_here("--runs", shipped_runs.root, *place)
    assert done.returncode != 0
    assert "no ladder ''" in done.stderr


@pytest.mark.parametrize(
    ("typed", "suggested"), [("--top", None), ("--formt", "--format"), ("--fo", "--format")]
)
def test_an_unknown_option_is_answered_with_one_that_is_near_or_with_none(prof_here, typed, suggested):
    told = prof_here("show", "a.ncu-rep", typed, "json").stderr
    assert typed in told
    assert ("Possible options" in told) is (suggested is not None)
    assert (suggested or "") in told


def test_a_pointer_of_git_lfs_is_called_one(prof_here, tmp_path):
    pointer = tmp_path / "a.ncu-rep"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
    done = prof_here("show", pointer)
    assert done.returncode == 13
    assert "pointer of Git LFS" in done.stderr
    assert "git lfs pull" in done.stderr


def test_help_is_a_command_too(prof_here):
    assert prof_here("help").stdout == prof_here("--help").stdout
    assert prof_here("help", "show").stdout == prof_here("show", "--help").stdout


def test_a_kernel_named_by_its_idea_is_given_with_its_number(prof_here, shipped_runs):
    done = prof_here("--runs", shipped_runs.root, "show", "vectorized")
    assert done.returncode != 0
    assert "6 (vectorized)" in done.stderr


@pytest.mark.parametrize("typed", ["severl.ncu-rep", "SEVERAL.ncu-rep"])
def test_a_misspelt_report_is_answered_with_the_nearest(prof_here, reports, tmp_path, typed):
    shutil.copy(reports / "several.ncu-rep", tmp_path)
    assert "no such file; nearest: several.ncu-rep" in prof_here("show", tmp_path / typed).stderr


def test_a_folder_of_folders_of_reports_is_answered_with_those_that_hold_any(prof_here, reports, tmp_path):
    for folder in ("old", "new", "empty"):
        (tmp_path / folder).mkdir()
    for name in ("new/a", "new/b", "old/a"):
        shutil.copy(reports / "several.ncu-rep", tmp_path / f"{name}.ncu-rep")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    held = "holds no reports, but folders in it do: new (2), old (1)\n"
    assert held in prof_here("show", tmp_path).stderr
    assert held in prof_here("show", tmp_path / "a.ncu-rep").stderr


def test_a_file_like_none_is_answered_with_what_the_folder_holds(prof_here, reports, tmp_path, monkeypatch):
    """The ending, which all reports have, makes no name alike."""
    monkeypatch.chdir(tmp_path)
    missing = tmp_path / "x.ncu-rep"
    assert f"no such file; {tmp_path} holds no reports\n" in prof_here("show", missing).stderr
    for name in "abcdefghi":
        shutil.copy(reports / "several.ncu-rep", tmp_path / f"{name}{name}.ncu-rep")
    (tmp_path / "x.ncu-repro").touch()
    (tmp_path / "k.cubin").touch()
    listed = ", ".join(f"{name}{name}.ncu-rep" for name in "abcdefgh")
    told = f"holds 9 reports: {listed} and 1 more"
    for words in (["show", missing], ["ingest", missing], ["check", "-b", missing, "aa.ncu-rep"]):
        assert f"; {tmp_path} {told}\n" in prof_here(*words).stderr
    assert (
        f"Give a report by its path: this folder, {tmp_path}, {told}." in prof_here("show", "nothing").stderr
    )
    elsewhere = tmp_path / "gone" / "aa.ncu-rep"
    assert f"there is no folder {elsewhere.parent}\n" in prof_here("show", elsewhere).stderr
    machine_code = prof_here("sass", "x.cubin").stderr
    assert f"no such file; this folder, {tmp_path}, holds 1 file of machine code: k.cubin\n" in machine_code


@pytest.mark.parametrize("typed", ["several", "several.ncu-rp"])
def test_a_report_that_lies_there_is_named(prof_here, reports, tmp_path, typed):
    shutil.copy(reports / "several.ncu-rep", tmp_path)
    assert "several.ncu-rep" in prof_here("sass", typed, cwd=tmp_path).stderr


def test_a_folder_in_the_place_of_a_report_is_answered_with_one_that_it_holds(prof_here, reports, tmp_path):
    shutil.copy(reports / "several.ncu-rep", tmp_path)
    shutil.copy(reports / "several.ncu-rep", tmp_path / "zeroth.ncu-rep")
    done = prof_here("sass", tmp_path)
    assert done.returncode == 13
    assert (
        f"such as {tmp_path}/several.ncu-rep; `prof show {tmp_path}` takes all, and `prof check --baseline OLD NEW`"
        in done.stderr
    )
    (tmp_path / "zeroth.ncu-rep").unlink()
    for verb in ("sass", "show"):
        assert prof_here(verb, tmp_path).stdout == prof_here(verb, tmp_path / "several.ncu-rep").stdout
    (tmp_path / "several.ncu-rep").unlink()
    assert f"prof: {tmp_path}: a folder that holds no reports\n" in prof_here("show", tmp_path).stderr


def test_a_folder_without_reports_is_one_mistake_with_one_answer(prof_here, reports, tmp_path, monkeypatch):
    """However it is typed, whichever verb reads it, and however deep the reports are that it does not hold itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "nest" / "a" / "b").mkdir(parents=True)
    shutil.copy(reports / "gemm_5.ncu-rep", tmp_path)
    for typed in ("empty", "empty/", "./empty"):
        for verb in ("show", "report", "sass", "ingest"):
            done = prof_here(verb, typed)
            assert (done.returncode, done.stderr) == (
                11,
                "prof: empty: a folder that holds no reports\n      Give a report, or a folder that holds some.\n",
            ), (verb, typed)
    assert prof_here("compare", "empty", "gemm_5.ncu-rep").returncode == 11
    assert prof_here("check", "--baseline", "gemm_5.ncu-rep", "empty").returncode == 11
    against = prof_here("check", "--baseline", "empty", "gemm_5.ncu-rep")
    assert (against.returncode, "empty: no runs are stored there" in against.stderr) == (21, True)

    shutil.copy(reports / "gemm_5.ncu-rep", tmp_path / "nest" / "a" / "b")
    for typed in ("nest", "nest/"):
        done = prof_here("show", typed)
        assert done.returncode == 11
        assert "nest: a folder that holds no reports, but folders in it do: a/b (1)\n" in done.stderr
        assert "such as nest/a/b." in done.stderr
    with pytest.raises(ReportNotFound, match="empty: a folder that holds no reports"):
        profiler.read("empty")


def test_a_pattern_that_matches_folders_alone_is_no_folder(prof_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    done = prof_here("ingest", "em*")
    assert (done.returncode, done.stderr.splitlines()[0]) == (11, "prof: no .ncu-rep file in em*")


def test_a_stored_run_is_not_ingested_again_but_shown(prof_here, recorded):
    run = next(path for path in sorted(Path(recorded.root).iterdir()) if holds_run(path))
    done = prof_here("ingest", run)
    assert done.returncode == 11
    assert f"prof: {run}: a stored run, and no report\n" in done.stderr
    (shown,) = re.findall("`prof (show .*)` shows it", done.stderr)
    assert prof_here(*shlex.split(shown)).returncode == 0


def test_a_link_to_nowhere_is_not_answered_with_its_own_name(prof_here, tmp_path):
    (tmp_path / "dangling.ncu-rep").symlink_to("gone.ncu-rep")
    for verb in ("show", "ingest"):
        done = prof_here(verb, tmp_path / "dangling.ncu-rep", "--runs", tmp_path)
        assert done.returncode == 11
        assert "dangling.ncu-rep: a link to gone.ncu-rep, and no such file is there\n" in done.stderr


def test_a_folder_of_runs_that_is_missing_is_the_mistake_whatever_a_name_means(prof_here, reports, tmp_path):
    shutil.copy(reports / "several.ncu-rep", tmp_path)
    named = prof_here("show", "several", "--runs", "nope", cwd=tmp_path)
    listed = prof_here("list", "--runs", "nope", cwd=tmp_path)
    assert (named.returncode, named.stderr) == (listed.returncode, listed.stderr)
    assert "nope: no such folder" in named.stderr


def test_two_folders_of_reports_are_checked_as_the_hint_says(prof_here, reports, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("main", "branch"):
        (tmp_path / folder).mkdir()
        shutil.copy(reports / "several.ncu-rep", tmp_path / folder)
    assert "prof check --baseline main branch" in prof_here("check", "main", "branch").stderr
    checked = prof_here("check", "--baseline", "main", "branch", "--all")
    assert checked.returncode == 0
    assert "no regression in 3 kernels" in checked.stdout


def test_a_folder_of_runs_is_called_one_with_what_to_type(prof_here, recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stored").symlink_to(recorded.root)
    told = prof_here("compare", "stored", "stored").stderr
    assert prof_here("show", "stored").stderr == prof_here("show", "stored/").stderr == told
    assert "stored: a folder of runs, not a run; " in told
    assert f"such as stored/{recorded.ids()[-1]}; " in told
    assert "prof check --baseline FOLDER OTHER" in told


def test_a_column_with_the_name_of_a_word_of_sql_is_quoted(prof_here, shipped_runs):
    runs = ("--runs", shipped_runs.root)
    assert 'write it as "offset"' in prof_here(*runs, "query", "select offset from instructions").stderr
    assert prof_here(*runs, "query", 'select "offset" from instructions limit 1').returncode == 0


def test_a_chart_of_several_kernels_asks_for_one(prof_here, reports, tmp_path):
    done = prof_here("show", reports / "several.ncu-rep", "--chart", tmp_path / "chart.svg")
    assert done.returncode == 32
    assert "-k PATTERN" in done.stderr


def test_build_without_a_gpu_names_the_option(prof_here, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "--arch sm_90" in prof_here("build", "--kernel", "5").stderr


def test_a_report_named_without_its_ending_is_found_and_not_read(prof_here, reports, tmp_path, monkeypatch):
    """When the report is stored, its run gets that name: it must not mean the file before, and the run afterwards."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(reports / "gemm_5.ncu-rep", tmp_path / "k1.ncu-rep")
    result = prof_here("show", "k1")
    assert result.returncode == 21
    assert "There is a report of that name: give k1.ncu-rep" in result.stderr


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["check", "5", "6", "-k", "f<int>"], "prof check --baseline 5 6 -k 'f<int>'\n"),
        (["diff", "my old.ncu-rep", "new.ncu-rep"], "prof compare 'my old.ncu-rep' new.ncu-rep\n"),
    ],
    ids=["an operator of the shell", "a space in a file's name"],
)
def test_what_to_type_is_quoted_as_a_shell_needs_it(prof_here, tmp_path, monkeypatch, typed, told):
    monkeypatch.chdir(tmp_path)
    assert prof_here(*typed).stderr.endswith(told)
