"""`--size`: the run of a kernel that is meant, and what is said where none is of that size."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from profiler.store.runs.run_store import RunStore
from profiler.store.runs.seal import sealed

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def shipped(prof_here, shipped_runs):
    """`prof` over the runs that the repository ships: of GEMM, 4096 is profiled, and three more sizes are timed."""
    return lambda *words: prof_here("--runs", shipped_runs.root, *words, cwd=ROOT)


def read(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def size_of(done):
    found = read(done)
    return (found.get("run") or found["before"])["workload"]["m"]


@pytest.mark.parametrize(
    "words",
    [["show", "6"], ["show", "gemm-6-timed"], ["compare", "5", "6"], ["compare", "gemm-5-timed", "6"]],
    ids=" ".join,
)
def test_a_number_and_a_name_mean_the_run_of_the_size_asked_for(shipped, words):
    for size in (1024, 2048):
        assert size_of(shipped(*words, "--size", size, "--format", "json")) == size
    assert size_of(shipped(*words, "--size", "2048x2048x2048", "--format", "json")) == 2048


def test_a_size_means_its_profile_if_there_is_one(shipped):
    sized = shipped("compare", "5", "6", "--size", "4096")
    assert sized.stdout == shipped("compare", "5", "6").stdout
    assert shipped("sass", "6", "--size", "4096").stdout == shipped("sass", "6").stdout


def test_one_side_may_be_one_recording_and_both_may_not(shipped):
    run_id = read(shipped("show", "5", "--format", "json"))["run"]["run_id"]
    assert size_of(shipped("compare", run_id, "6", "--size", "4096", "--format", "json")) == 4096
    refused = shipped("show", run_id, "--size", "4096")
    assert refused.returncode == 47
    first, remedy = map(str.strip, refused.stderr.splitlines())
    assert first == f"prof: --size 4096: {run_id} is of one size"
    assert "a kernel number or of a name" in remedy
    refused = shipped("compare", run_id, run_id, "--size", "4096")
    assert f"{run_id} and {run_id} are of one size each\n" in refused.stderr


def test_a_size_that_is_not_there_names_those_that_are_and_how_to_record_it(shipped):
    told = shipped("compare", "5", "6", "--size", "1000")
    assert told.returncode == 21
    first, *sizes, remedy = map(str.strip, told.stderr.splitlines())
    assert first == "prof: no run of kernel 5 of size m=n=k=1000; there are:"
    assert sizes[0] == "m=n=k=4096: gemm-5"
    assert {"m=n=k=1024: gemm-5-timed (timings alone)", "m=n=k=2048: gemm-5-timed (timings alone)"} < set(
        sizes
    )
    assert remedy == "Choose one of them, or record this one: `prof collect --kernel 5 --size 1000`."
    assert (
        "`prof collect --ladder copy --kernel 1 --size 9`" in shipped("show", "copy-1", "--size", "9").stderr
    )


def test_an_error_for_a_name_of_profiles_says_that_the_size_has_timings_and_names_them(shipped):
    told = shipped("show", "gemm-5", "--size", "2048").stderr
    assert told.splitlines()[1].strip() == "m=n=k=2048: gemm-5-timed (timings alone)"


def test_if_a_profile_is_needed_the_sizes_that_have_one_are_listed(shipped):
    told = shipped("sass", "5", "6", "--size", "2048")
    assert told.returncode == 25
    assert (
        "holds timings alone, no profile; of kernel 5 (tile_2d) there are:\n  m=n=k=4096: gemm-5\n"
        in told.stderr
    )
    assert "`prof collect --kernel 5 --size 2048`" in told.stderr


def test_the_hint_to_profile_is_left_out_for_a_rung_that_launches_no_kernel(shipped):
    told = shipped("sass", "0", "--ladder", "copy").stderr
    assert "It launches no kernel of its own" in told
    assert "prof collect" not in told


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["gemm-5-source"], "prof collect --kernel 5 --size 77"),  # a preset of older versions
        (["gemm-5-timed"], "prof time --kernel 5 --size 77"),
        (["0", "--ladder", "copy"], "prof time --ladder copy --kernel 0 --size 77"),
        (["1", "--ladder", "kernels/copy"], "prof collect --ladder kernels/copy --kernel 1 --size 77"),
    ],
    ids=["preset that is no more", "timings", "not profiled", "ladder file"],
)
def test_the_command_records_what_was_asked_for(shipped, shipped_runs, words, command):
    told = shipped("show", *words, "--size", "77").stderr
    assert told.endswith(f" or record this one: `{command}`.\n")


def test_the_command_names_the_preset_of_the_run_that_was_asked_for(prof_here, make_run, tmp_path):
    facts = {"ladder": "copy", "kernel": 1, "workload": {"n": 5}, "preset": "counters"}
    make_run({"kernel": "k"}, name="copy-1-counters", root=tmp_path, **facts)
    told = prof_here("--runs", tmp_path, "show", "copy-1-counters", "--size", "77", cwd=ROOT).stderr
    assert "`prof collect --ladder copy --kernel 1 --preset counters --size 77`" in told


def test_there_is_no_command_for_what_no_ladder_here_has_or_what_has_a_name_of_its_own(
    shipped, prof_here, make_run, shipped_runs, tmp_path
):
    told = shipped("show", "gemm-tune-best-7", "--size", "77")
    assert told.stderr.endswith("m=n=k=4096: gemm-tune-best-7\n      Choose one of them.\n")
    make_run({"kernel": "k"}, name="mine", root=tmp_path, ladder="copy", kernel=1, workload={"n": 5})
    told = prof_here("--runs", tmp_path, "show", "mine", "--size", "77", cwd=ROOT)
    assert told.stderr.endswith("n=5: mine\n      Choose one of them.\n")


def test_a_run_of_no_ladder_has_no_size_to_choose_by(shipped):
    told = shipped("show", "textbook-5", "--size", "4096")
    assert told.returncode == 47
    assert "`prof list textbook-5`" in told.stderr


def test_an_older_run_beside_it_that_is_damaged_is_not_asked_for(prof_here, make_run, dated, tmp_path):
    (tmp_path / "kernels" / "mine").mkdir(parents=True)
    (tmp_path / "kernels" / "mine" / "ladder.toml").write_text(MINE)
    for size in (1, 2, 3):
        run = make_run(
            {"kernel": "k"},
            name="mine-1",
            root=tmp_path / "runs",
            ladder="mine",
            kernel=1,
            workload={"n": size},
        )
        later = dated(run.path, size)
        if size == 2:
            (tmp_path / "runs" / later / "run.json").write_text("{")
    show = ("--ladder", "mine", "show", "1", "--format", "json", "--size")
    assert read(prof_here(*show, "1", cwd=tmp_path))["run"]["workload"] == {"n": 1}
    told = prof_here(*show, "2", cwd=tmp_path)
    assert told.returncode == 21
    assert [line.strip() for line in told.stderr.splitlines()[1:3]] == ["n=3: mine-1", "n=1: mine-1"]


@pytest.fixture
def timed(prof_here, recorded, tmp_path):
    """`prof` over copies of kernel 5's timings alone, one run a size, the largest the newest; `damage` writes into one's manifest."""
    for run_id in recorded.ids():
        if run_id.name == "gemm-5-timed":
            shutil.copytree(recorded.root / str(run_id), tmp_path / str(run_id))
    found = RunStore(tmp_path)
    sizes = {run.manifest.workload["m"]: run for run in found.open_all(found.ids())}
    assert list(sizes) == [1024, 2048, 8192]

    def damage(size):
        (sizes[size].path / "run.json").write_text("{")
        return sizes[size].manifest.run_id

    def run(*words):
        return prof_here("--runs", tmp_path, *words, cwd=ROOT)

    run.damage = damage
    return run


@pytest.mark.parametrize("reference", ["5", "gemm-5-timed"])
def test_a_damaged_run_that_may_be_the_one_asked_for_is_not_passed_over_in_silence(timed, reference):
    damaged = timed.damage(8192)
    shown = timed("--quiet", "show", reference, "--size", "2048", "--format", "json")
    assert size_of(shown) == 2048
    (line,) = shown.stderr.splitlines()
    assert line.startswith("skipped, since its size cannot be read: ")
    assert f"{damaged}/run.json: not a valid manifest: " in line


def test_a_damaged_run_that_is_older_than_the_one_found_changes_nothing(timed):
    timed.damage(1024)
    assert timed("show", "5", "--size", "2048", "--format", "json").stderr == ""


@pytest.mark.parametrize(
    ("words", "listing"),
    [
        (["gemm-5-timed"], "prof list gemm-5-timed"),
        (["5"], "prof list 5"),
        (["5", "--ladder", "gemm"], "prof list 5 --ladder gemm"),
    ],
    ids=["name", "number", "ladder"],
)
def test_a_size_that_only_a_damaged_run_may_be_of_is_not_said_to_be_missing(timed, words, listing):
    damaged = timed.damage(2048)
    told = timed("show", *words, "--size", "2048")
    assert told.returncode == 21
    first, *sizes, remedy = map(str.strip, told.stderr.splitlines())
    assert first.endswith(" of size m=n=k=2048 can be read; there are:")
    assert [size.partition(":")[0] for size in sizes] == ["m=n=k=8192", "m=n=k=1024", "size not known"]
    assert sizes[-1] == "size not known: 1 damaged run"
    assert remedy.startswith(f"Choose one of them, list with `{listing}` what is damaged, or record this one")
    assert damaged in timed(*listing.split()[1:]).stderr


def test_if_every_run_is_damaged_the_error_is_about_the_newest(timed):
    newest = [timed.damage(size) for size in (1024, 2048, 8192)][-1]
    told = timed("show", "5", "--size", "2048")
    assert told.returncode == 22
    assert newest in told.stderr


def test_a_long_list_of_damaged_runs_names_the_first_and_counts_the_rest(timed, tmp_path):
    for day in range(23, 28):
        (tmp_path / f"202611{day}t000000z-gemm-5-timed-0123456789ab").mkdir()
    *told, more = timed("show", "5", "--size", "2048").stderr.splitlines()[:4]
    assert [line.split(f"{tmp_path}/")[1][:8] for line in told] == ["20261127", "20261126", "20261125"]
    assert more == "skipped as well: 2 more, which `prof list 5` lists"


MINE = """
title = "of a test"
command = ["python", "{source}", "{n}"]

[workload]
n = 1

[[kernel]]
number = 1
name = "only"
idea = "is there"
source = "only.py"
regex = "k"
"""


def test_a_name_and_a_ladder_file_stand_in_a_command_as_a_shell_reads_them(prof_here, make_run, tmp_path):
    (tmp_path / "my ladder").mkdir()
    (tmp_path / "my ladder" / "ladder.toml").write_text(f'name = "mine"\n{MINE}')
    for name in ("my-run", "mine-1"):
        make_run({"kernel": "k"}, name=name, root=tmp_path, ladder="mine", kernel=1, workload={"n": 5})
    (tmp_path / "20261127t000000z-my-run-0123456789ab").mkdir()
    show = ("--runs", tmp_path, "show", "--ladder", "my ladder/ladder.toml", "--size", "7")
    assert "`prof list 'my run'`" in prof_here(*show, "my run", cwd=tmp_path).stderr
    command = "`prof collect --ladder 'my ladder/ladder.toml' --kernel 1 --size 7`"
    assert command in prof_here(*show, "1", cwd=tmp_path).stderr


def test_away_from_its_ladder_a_size_has_a_number_for_each_parameter(prof_here, make_run, tmp_path):
    make_run(
        {"kernel": "k"}, name="mine-1", root=tmp_path, ladder="mine", kernel=1, workload={"m": 2, "n": 3}
    )
    show = ("--runs", tmp_path, "show", "mine-1", "--size")
    assert "workload  m=2 n=3\n" in prof_here(*show, "2x3", cwd=tmp_path).stdout
    assert "  m=2 n=3: mine-1\n" in prof_here(*show, "2", cwd=tmp_path).stderr
    assert "one for each of MxN" in prof_here(*show, "2x3x4", cwd=tmp_path).stderr


def test_the_size_of_a_run_is_not_read_by_another_ladder_that_was_given_by_its_file(shipped):
    copied = shipped("show", "gemm-5-timed", "--ladder", "kernels/copy", "--size", "2048", "--format", "json")
    assert size_of(copied) == 2048


def test_two_different_sizes_get_a_hint_how_to_choose_one(shipped):
    told = shipped("compare", "gemm-5-timed", "6")
    assert told.returncode == 31
    assert "Choose runs of one size with --size" in told.stderr


@pytest.fixture
def narrow(prof_here, shipped_runs, tmp_path):
    """`prof` over copies of two rungs, the first recorded with rows narrower than the ladder's, which --size does not set."""
    for run_id in shipped_runs.ids():
        if run_id.name in ("embedding-1", "embedding-2"):
            shutil.copytree(shipped_runs.root / str(run_id), tmp_path / str(run_id))
    manifest = RunStore(tmp_path).find("1", "embedding").path / "run.json"
    text = manifest.read_text()
    assert text.count('"hidden": 1024') == 1
    manifest.write_bytes(sealed(text.replace('"hidden": 1024', '"hidden": 512').encode()))
    return lambda *words: prof_here("--runs", tmp_path, *words, "--ladder", "embedding", cwd=ROOT)


def test_no_size_is_suggested_where_another_parameter_differs(narrow):
    told = narrow("compare", "1", "2")
    assert told.returncode == 31
    assert "hidden=512" in told.stderr
    assert "--size" not in told.stderr


def test_a_run_that_no_size_means_is_to_be_had_by_its_id(narrow):
    told = narrow("show", "1", "--size", "262144")
    assert told.returncode == 21
    _, stored, remedy = map(str.strip, told.stderr.splitlines())
    assert stored == "tokens=262144 hidden=512 vocab=262144: embedding-1"
    listing = "prof list 1 --ladder embedding"
    assert remedy == (
        f"Choose one of them by its run id, which `{listing}` prints, "
        "or record this one: `prof collect --ladder embedding --kernel 1 --size 262144`."
    )
    run_id = narrow("list", "1").stdout.split()[-1]
    assert narrow("show", run_id).returncode == 0


# Two runs of timings alone


def test_two_runs_of_timings_are_compared_in_every_format(shipped):
    words = ("compare", "gemm-5-timed", "gemm-6-timed")
    found = read(shipped(*words, "--full", "--format", "json"))
    ratio, (low, high) = found["speedup"]["ratio"], found["speedup"]["ci"]
    reached = [found[side]["timing"]["reference_pct"] for side in ("before", "after")]
    assert low < ratio < high
    page = shipped(*words).stdout
    assert f"gemm 6 is {ratio:.3f}x as fast as gemm 5 (" in page
    assert page.count("no counters were recorded for either side") == 1
    (row,) = (line for line in page.splitlines() if line.startswith("% ref "))
    assert [float(cell) for cell in row.split()[3:5]] == pytest.approx(reached, abs=0.01)
    assert (
        "% ref: speed in percent of cuBLAS fp32; its best, % best: of the fastest algorithm that it offers\n"
        in page
    )
    markdown = shipped(*words, "--format", "markdown").stdout
    assert f"{ratio:.3f}x as fast" in markdown
    assert f"| % ref | % | {reached[0]:.2f} | {reached[1]:.2f} |" in markdown
    rows = {
        row["name"]: row for row in csv.DictReader(io.StringIO(shipped(*words, "--format", "csv").stdout))
    }
    assert float(rows["speedup_ratio"]["after"]) == ratio
    assert float(rows["speedup_ratio"]["ci_low"]) == low - 1
    assert [float(rows["reference_pct"][side]) for side in ("before", "after")] == reached


def test_its_figures_are_those_of_the_sheet_and_of_the_ladder(shipped):
    found = read(shipped("compare", "5", "6", "--size", "2048", "--full", "--format", "json"))
    sheet = read(shipped("show", "6", "--size", "2048", "--full", "--format", "json"))
    assert found["after"]["timing"] == sheet["timing"]
    ladder = read(shipped("ladder", "--size", "2048", "--full", "--format", "json"))
    (rung,) = (one for one in ladder["kernels"] if one["kernel"] == 6)
    assert found["speedup"] == rung["speedup"]
    assert found["after"]["timing"]["reference_pct"] == rung["reference_pct"]


def test_a_profile_that_was_timed_stands_beside_timings(shipped):
    found = read(shipped("compare", "0", "1", "--ladder", "copy", "--format", "json"))
    assert found["speedup"]["basis"] == "unprofiled"
    assert "for copy 0: only the times" in found["comparable"]["warnings"][0]
