"""`prof check`: one exit code for each outcome, the files for CI, and which runs it takes."""

import csv
import json
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

STEADY = [1.000e6, 1.001e6, 0.999e6, 1.0005e6, 0.9995e6]


@pytest.fixture
def record(make_run, dated, tmp_path, monkeypatch):
    """`record(folder, name, factor)`: a run whose launches of each kernel took `factor` milliseconds; every one is newer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    seconds = iter(range(1, 60))

    def store(folder, name, factor=1.0, kernels="k", readings=STEADY, launches=(), **fields):
        made = ({"kernel": kernel, "ns": factor * one} for kernel in kernels for one in readings)
        run = make_run(*(launches or made), name=name, root=tmp_path / folder, **fields)
        return dated(run.path, next(seconds))

    return store


@pytest.fixture
def check(prof_here, tmp_path):
    """`check(...)` in the folder `runs`."""
    return lambda *arguments: prof_here("--runs", tmp_path / "runs", "check", *arguments)


def cases_of(junit):
    return {case.get("classname"): case for case in ElementTree.parse(junit).iter("testcase")}


# Exit codes


def test_the_same_speed_passes(record, check):
    baseline = record("runs", "k", 1.0)
    record("runs", "k", 1.001)
    result = check("--baseline", baseline)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[0] == "✅ passed: no regression in 1 kernel"


def test_slower_is_1_and_nothing_on_standard_error(record, check):
    baseline = record("runs", "k", 1.0)
    record("runs", "k", 1.1)
    result = check("--baseline", baseline)
    assert (result.returncode, result.stderr) == (1, "")
    assert "+10.00 ± " in result.stdout


def test_recordings_measured_in_different_ways_end_with_31_and_the_reason(record, check):
    baseline = record("runs", "k")
    record("runs", "k", clock_control="base")
    result = check("--baseline", baseline)
    assert result.returncode == 31
    assert "clock control differs: none against base" in result.stdout
    assert "--force" in result.stderr


def test_too_few_launches_are_80_unless_that_is_allowed(record, check):
    baseline = record("runs", "k", readings=[1e6])
    record("runs", "k", readings=[1.07e6])
    result = check("--baseline", baseline)
    assert result.returncode == 80
    assert "too few launches to tell" in result.stdout
    assert "--allow-unclear" in result.stderr
    assert check("--baseline", baseline, "--allow-unclear").returncode == 0


def test_one_launch_that_took_twice_as_long_is_a_regression_also_where_unclear_is_allowed(record, check):
    baseline = record("runs", "k", readings=[1e6])
    record("runs", "k", readings=[2e6])
    result = check("--baseline", baseline, "--allow-unclear")
    assert result.returncode == 1
    assert "1.000 ms -> 2.000 ms (+100.00 %, allowed +2 %)" in result.stdout.splitlines()[0]


def test_a_regression_is_1_also_where_unclear_is_allowed(record, check):
    baseline = record("runs", "k")
    record("runs", "k", 1.1)
    assert check("--baseline", baseline, "--allow-unclear").returncode == 1


def test_no_error_of_the_house_ends_with_1(record, check, tmp_path):
    record("runs", "k")
    (tmp_path / "prof.toml").write_text("[check]\nduraton_ns.worse_pct = 1\n")
    for arguments in (
        ["k"],
        ["--baseline", "nothing", "k"],
        ["--baseline", "k", "k"],
        ["--baseline", "a.ncu-rep"],
    ):
        assert check(*arguments).returncode not in (0, 1)


# Which runs


def test_the_recorded_kernels_got_faster_and_the_other_way_round_slower(prof_recorded):
    forth = prof_recorded("check", "--baseline", "5", "6")
    back = prof_recorded("check", "--baseline", "6", "5")
    assert (forth.returncode, back.returncode) == (0, 1)


def test_two_reports_need_no_store(prof_here, reports, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [reports / "gemm_6.ncu-rep", reports / "gemm_5.ncu-rep"]
    assert prof_here("check", "--baseline", *paths).returncode == 1
    assert prof_here("check", "--baseline", *reversed(paths), "-k", "k5|k6").returncode == 0


def test_an_error_is_in_the_files_for_ci_too(record, check, tmp_path):
    record("runs", "k")
    result = check("--baseline", "runs", "--junit", "check.xml", "--summary", "summary.md")
    assert result.returncode == 21
    (error,) = ElementTree.parse(tmp_path / "check.xml").iter("error")
    assert error.attrib["type"] == "RunNotFound"
    assert "is both the baseline and the folder to check" in error.attrib["message"]
    assert (tmp_path / "summary.md").read_text().startswith("### 🚫 nothing was checked: ")


def test_a_change_that_records_nothing_passes_and_says_that_nothing_was_checked(record, check, tmp_path):
    """The runs of main, checked out beside those of a change of the documentation."""
    record("runs", "k1")
    record("runs", "k2")
    shutil.copytree(tmp_path / "runs", tmp_path / "main")
    result = check("--baseline", "main", "--junit", "check.xml")
    assert result.returncode == 0
    told = "✅ passed: nothing was checked, because both sides hold the same recordings of 2 kernels"
    assert result.stdout.splitlines()[0] == told
    assert len(ElementTree.parse(tmp_path / "check.xml").findall(".//skipped")) == 2
    record("runs", "k3")
    told += "; 1 recording is new: k3, m=4096"
    again = check("--baseline", "main", "--junit", "check.xml")
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, told)
    assert len(ElementTree.parse(tmp_path / "check.xml").findall(".//skipped")) == 3


def test_a_regression_does_not_vanish_with_the_name_of_its_recording(record, check, tmp_path):
    for name in ("k1", "k2"):
        record("main", name)
    record("runs", "k1", 0.9)
    record("runs", "k2-renamed", 1.5)
    result = check("--baseline", "main", "--junit", "check.xml", "--summary", "summary.md")
    assert result.returncode == 80
    told = (
        "unclear: 1 recording of the baseline has no counterpart (k2, m=4096), "
        "so a regression there would not be seen; no regression in 1 kernel; "
    )
    assert result.stdout.splitlines()[0].startswith(f"❔ {told}")
    assert result.stdout.splitlines()[0].endswith("; 1 recording is new: k2-renamed, m=4096")
    assert (tmp_path / "summary.md").read_text().startswith(f"### ❔ {told.partition('(')[0]}")
    assert (
        "if it was removed on purpose, `prof check --accept REASON` with the same two sides accepts that"
        in result.stderr
    )
    cases = cases_of(tmp_path / "check.xml")
    assert [child.tag for child in cases["k2, m=4096"]] == ["error"]
    assert [child.tag for child in cases["k2-renamed, m=4096"]] == ["skipped"]
    assert check("--baseline", "main", "--allow-unclear", "--junit", "check.xml").returncode == 0
    assert not ElementTree.parse(tmp_path / "check.xml").findall(".//error")


def test_a_pattern_checks_the_recordings_of_two_folders_that_hold_such_a_kernel(record, check):
    for folder, factor in (("main", 1.0), ("runs", 1.001)):
        for name in ("one", "two"):
            record(folder, name, factor, [f"{name}_kernel"])
    result = check("--baseline", "main", "-k", "one_k", "--format", "json")
    assert result.returncode == 0
    assert [pair["kernel"] for pair in json.loads(result.stdout)["pairs"]] == ["one_kernel"]
    none = check("--baseline", "main", "-k", "three")
    assert (none.returncode, none.stdout) == (33, "")


def test_a_recording_that_is_named_twice_is_not_checked(record, check, reports, tmp_path):
    run_id = record("runs", "k")
    shutil.copytree(tmp_path / "runs", tmp_path / "main")
    copied = shutil.copy(reports / "gemm_5.ncu-rep", tmp_path / "copied.ncu-rep")
    for words in (["k", "k"], ["k", run_id], ["main", "k"], [reports / "gemm_5.ncu-rep", copied]):
        result = check("--baseline", *words)
        assert (result.returncode, result.stdout) == (21, ""), words
        assert "the same recording on both sides, so nothing would be checked" in result.stderr
    assert "prof check --baseline OLD.ncu-rep NEW.ncu-rep" in result.stderr, "of two reports"


@pytest.mark.parametrize("candidate", [[], ["k"]])
@pytest.mark.parametrize("baseline", ["no/such/folder", "no.ncu-rep"])
def test_a_path_that_leads_nowhere_is_reported_as_such(record, check, baseline, candidate):
    record("runs", "k")
    result = check("--baseline", baseline, *candidate)
    assert result.returncode == 11
    assert result.stderr.startswith(f"prof: {baseline}: no such file or folder; ")


def test_one_pair_is_told_once_in_figures_that_a_narrow_terminal_has_room_for(record, check, monkeypatch):
    """The last line has every figure of a single limit; the kernel's name would take the room of both times."""
    monkeypatch.setenv("COLUMNS", "80")
    baseline, kernel = record("main", "k", 1.0, kernels=["a_kernel_with_a_name"]), "a_kernel_with_a_name"
    record("runs", "k", 1.2, kernels=[kernel])
    slower = check("--baseline", Path("main") / baseline).stdout
    assert "allowed  outcome" not in slower
    assert "regression: duration_ns 1.000 ms -> 1.200 ms (+20.00 ± 0.14 %, allowed +2 %)\n" in slower
    record("runs", "k", 1.0, kernels=[kernel])
    passed = check("--baseline", Path("main") / baseline).stdout
    assert f"kernel     {kernel}\n" in passed
    assert passed.count("1.000 ms") == 2
    assert "no room" not in passed


def test_a_folder_of_runs_checks_every_name_in_both(record, check, tmp_path):
    for name, factor in (("k1", 1.0), ("k2", 1.0), ("k10", 1.0)):
        record("main", name, factor)
    record("runs", "k10", 1.001)
    record("runs", "k2", 1.2)
    record("runs", "new")
    result = check("--baseline", "main")
    assert result.returncode == 1
    table = result.stdout.split("\n\n")[2].splitlines()[1:]
    assert [row.split()[1] for row in table] == ["k2,", "k10,"]
    assert "not recorded in" in result.stdout
    told = " ".join(result.stdout.split())
    assert "so not checked: k1" in told
    assert "so not checked: new" in told
    assert result.stdout.splitlines()[0] == (
        "❌ regression in 1 of 2 kernels: k (k2, m=4096): duration_ns +20.00 ± 0.14 %; "
        "1 recording of the baseline has no counterpart (k1, m=4096); 1 recording is new: new, m=4096"
    )
    named = json.loads(check("--baseline", "main", "runs", "--format", "json").stdout)
    assert (named["missing"], named["new"]) == (["k1, m=4096"], ["new, m=4096"])
    (tmp_path / "k2").mkdir()  # of sources, say
    assert check("--baseline", "main", "k2").returncode == 1


def test_a_pair_that_cannot_be_checked_hides_no_regression_of_another(record, check, tmp_path):
    """Nobody has said which of two kernels is meant."""
    for folder, factor in (("main", 1.0), ("runs", 1.2)):
        record(folder, "slower", factor)
        record(folder, "several", factor, kernels="ab", readings=[1e6])
    result = check("--baseline", "main", "--junit", "check.xml")
    assert result.returncode == 1
    assert result.stdout.splitlines()[0] == (
        "❌ regression: duration_ns 1.000 ms -> 1.200 ms (+20.00 ± 0.14 %, allowed +2 %) in k (slower, m=4096); "
        "1 recording not comparable"
    )
    assert "several, m=4096: it is not clear which kernel to compare" in result.stdout
    assert "-k PATTERN" in result.stdout
    assert len(ElementTree.parse(tmp_path / "check.xml").findall(".//testcase")) == 2
    assert check("--baseline", "main", "--all").returncode == 1, "each with its own, of both"
    assert check("--baseline", "main", "several").returncode == 32, "alone it is an error of its own"


def test_a_recording_of_several_kernels_is_not_said_to_be_measured_differently(record, check):
    for folder, factor in (("main", 1.0), ("runs", 1.001)):
        record(folder, "one", factor)
        record(folder, "several", factor, kernels="ab", readings=[1e6])
    result = check("--baseline", "main")
    assert result.returncode == 31
    assert result.stderr.splitlines()[-1].strip() == (
        "Choose one on each side with `-k PATTERN`, or all that both have with --all."
    )


def test_a_folder_of_runs_and_a_name_check_that_one(record, check):
    record("main", "k1", 1.0)
    record("main", "gemm-6", 1.0, ladder="gemm", kernel=6)
    record("runs", "k1", 1.5)
    record("runs", "gemm-6", 1.0, ladder="gemm", kernel=6)
    assert check("--baseline", "main", "6").returncode == 0
    assert check("--baseline", "main", "k1").returncode == 1


def test_a_report_has_no_counterpart_in_a_folder(record, check, reports):
    record("main", "k1")
    assert check("--baseline", "main", reports / "gemm_5.ncu-rep").returncode == 2


def test_every_kernel_of_two_recordings(record, check):
    for name in ("before", "after"):
        record("runs", name, kernels="abc")
    both = ["--baseline", "before", "after", "--format", "json"]
    assert check(*both).returncode == 32, "which of them?"
    pairs = json.loads(check(*both, "--all").stdout)["pairs"]
    assert [pair["kernel"] for pair in pairs] == ["a", "b", "c"]
    (chosen,) = json.loads(check(*both, "--kernel-name", "b").stdout)["pairs"]
    assert chosen["kernel"] == "b"


def test_timings_alone_are_checked(prof_recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = prof_recorded("check", "--baseline", "gemm-5-timed", "gemm-6-timed")
    assert result.returncode == 0
    assert "duration_ns (timed)" in result.stdout


def test_a_damaged_run_is_refused(record, check, tmp_path):
    baseline, candidate = record("runs", "k"), record("runs", "k")
    (tmp_path / "runs" / candidate / "metrics.parquet").write_bytes(b"damaged")
    result = check("--baseline", baseline)
    assert result.returncode == 22
    assert result.stdout == ""


# Limits


def test_limits_of_the_project_hold_and_are_named(record, check, tmp_path):
    baseline = record("runs", "k")
    record("runs", "k", 1.1)
    limits = tmp_path / "prof.toml"
    limits.write_text("[check]\nduration_ns.worse_pct = 15\n")
    result = check("--baseline", baseline)
    assert result.returncode == 0
    assert f"limits from {limits}" in result.stdout
    assert "+15 %" in result.stdout


# Files for CI


def test_github_shows_the_summary_and_what_others_wrote_stays(record, check, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    baseline = record("runs", "k")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    record("runs", "k", 1.1)
    assert check("--baseline", baseline).returncode == 1
    first, heading, *_ = summary.read_text().splitlines()
    assert first == "before"
    assert heading.startswith("### ❌ regression: duration\\_ns 1.000 ms")


def test_a_summary_named_goes_before_githubs(record, check, tmp_path, monkeypatch):
    baseline = record("runs", "k")
    record("runs", "k")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "other.md"))
    check("--baseline", baseline, "--summary", tmp_path / "mine.md")
    assert (tmp_path / "mine.md").read_text().startswith("### ✅ passed")
    assert not (tmp_path / "other.md").exists()


def test_junit_is_written_whatever_the_outcome(record, check, tmp_path):
    baseline = record("runs", "k")
    record("runs", "k", 1.1)
    check("--baseline", baseline, "--junit", "check.xml")
    (failure,) = ElementTree.parse(tmp_path / "check.xml").iter("failure")
    assert " takes 1.1" in failure.text
    assert "x as long as " in failure.text
    record("runs", "k", clock_control="base")
    check("--baseline", baseline, "--junit", "check.xml")
    assert len(ElementTree.parse(tmp_path / "check.xml").findall(".//error")) == 1


@pytest.mark.parametrize("option", ["--junit", "--summary"])
def test_a_file_that_cannot_be_written_is_82(record, check, option):
    baseline = record("runs", "k")
    record("runs", "k")
    assert check("--baseline", baseline, option, Path("missing") / "file").returncode == 82


# Formats


def test_the_json_obeys_the_published_schema(record, check):
    schema = json.loads(check("--schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    baseline = record("runs", "k")
    for fields in ({"factor": 1.1}, {"readings": [1e6]}, {"clock_control": "base"}):
        record("runs", "k", **fields)
        found = json.loads(check("--baseline", baseline, "--format", "json").stdout)
        jsonschema.validate(found, schema)
        assert found["outcome"] == found["pairs"][0]["outcome"]


def test_markdown_is_the_summary(record, check, tmp_path):
    baseline = record("runs", "k")
    record("runs", "k", 1.1)
    printed = check("--baseline", baseline, "--format", "markdown", "--summary", tmp_path / "s.md").stdout
    assert printed == (tmp_path / "s.md").read_text()


def test_a_baseline_in_another_folder_may_be_given_by_its_path(record, check, tmp_path):
    run_id = record("elsewhere", "k")
    record("runs", "k", 1.1)
    assert check("--baseline", tmp_path / "elsewhere" / run_id).returncode == 1
    shutil.rmtree(tmp_path / "elsewhere")
    assert check("--baseline", tmp_path / "elsewhere" / run_id).returncode not in (0, 1)


def test_a_regression_says_its_cause_and_what_to_change(prof_recorded):
    check = ("check", "--baseline", "6", "5")
    text = prof_recorded(*check).stdout
    assert text.startswith("❌ regression: duration_ns")
    assert text.index("duration_ns") < text.index("Why: ") < text.index("Next: ")
    (pair,) = json.loads(prof_recorded(*check, "--format", "json").stdout)["pairs"]
    assert "LDS" in pair["why"]
    assert pair["next"]
    assert "Why: " in prof_recorded(*check, "--format", "markdown").stdout
    passed = prof_recorded("check", "--baseline", "5", "6", "--format", "json").stdout
    assert json.loads(passed)["pairs"][0]["why"] == ""


def test_a_limit_for_the_duration_can_be_given_on_the_command_line(prof_recorded):
    check = ("check", "--baseline", "6", "5", "--max-slower")
    assert prof_recorded(*check, "5%").returncode == 1
    assert prof_recorded(*check, "50").returncode == 0
    for refused in ("much", "nan", "inf", "-1"):
        assert prof_recorded(*check, refused).returncode == 2
    fraction = prof_recorded(*check, "0.05")
    assert fraction.returncode == 2
    assert "5%" in fraction.stderr
    assert prof_recorded(*check, "0.05%").returncode == 1
    assert prof_recorded(*check, "0").returncode == 1


# Accepted changes


def test_an_accepted_change_passes_from_now_on_and_keeps_its_reason(record, check, tmp_path):
    baseline = record("runs", "k", 1.0)
    record("runs", "k", 1.1)
    accepted = check("--baseline", baseline, "--accept", "the mask costs 10 %")
    assert accepted.returncode == 0
    (line,) = (tmp_path / "prof.accepted.jsonl").read_text().splitlines()
    kept = json.loads(line)
    assert (kept["name"], kept["metric"], kept["why"]) == ("k, m=4096", "duration_ns", "the mask costs 10 %")
    assert (kept["before"], kept["after"]) == (pytest.approx(1e6, rel=1e-3), pytest.approx(1.1e6, rel=1e-3))
    assert kept["who"]
    assert kept["when"]
    again = check("--baseline", baseline)
    assert again.returncode == 0
    assert "the mask costs 10 %" in again.stdout
    told = "✅ passed: no regression in 1 kernel, except 1 that was accepted: k (k, m=4096)"
    assert again.stdout.splitlines()[0] == told
    assert accepted.stderr.endswith("prof.accepted.jsonl: commit it with the change\n")
    rows = csv.DictReader(check("--baseline", baseline, "--format", "csv").stdout.splitlines())
    assert [row["accepted"].partition(": ")[2] for row in rows] == ["the mask costs 10 %"]
    check("--baseline", baseline, "--junit", "check.xml")
    (case,) = ElementTree.parse(tmp_path / "check.xml").iter("testcase")
    assert "the mask costs 10 %" in case.find("system-out").text
    assert case.find("failure") is None


@pytest.mark.slow
def test_reports_and_folders_of_their_runs_share_what_was_accepted(prof_here, reports, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder, report in (("before", "gemm_6"), ("after", "gemm_5")):
        (tmp_path / folder).mkdir()
        shutil.copy(reports / f"{report}.ncu-rep", tmp_path / folder / "gemm.ncu-rep")
        done = prof_here("--runs", tmp_path / f"runs-{folder}", "ingest", tmp_path / folder / "gemm.ncu-rep")
        assert done.returncode == 0, done.stderr
    pair = [tmp_path / folder / "gemm.ncu-rep" for folder in ("before", "after")]
    assert prof_here("check", "--baseline", *pair, "--accept", "simpler").returncode == 0
    assert prof_here("check", "--baseline", "runs-before", "runs-after").returncode == 0


def test_an_accepted_change_allows_no_further_one(record, check):
    baseline = record("runs", "k", 1.0)
    record("runs", "k", 1.1)
    assert check("--baseline", baseline, "--accept", "the mask").returncode == 0
    record("runs", "k", 1.2)
    result = check("--baseline", baseline)
    assert result.returncode == 1
    assert ", up to 1.100 ms; now 1.200 ms)" in result.stdout
    assert "regression (accepted by " in result.stdout
    again = check("--baseline", baseline, "--accept", "the wider mask")
    assert (again.returncode, "Accepted already" in again.stderr) == (0, False)


def test_an_accepted_change_ends_with_the_baseline_that_it_was_accepted_from(record, check):
    baseline = record("runs", "k", 1.0)
    record("runs", "k", 1.1)
    assert check("--baseline", baseline, "--accept", "the mask").returncode == 0
    faster = record("runs", "k", 0.8)
    record("runs", "k", 1.05)
    assert check("--baseline", faster).returncode == 1


def test_to_accept_again_changes_nothing_and_says_since_when_and_why(record, check, tmp_path):
    baseline = record("runs", "k", 1.0)
    record("runs", "k", 1.1)
    assert check("--baseline", baseline, "--accept", "the mask").returncode == 0
    kept = (tmp_path / "prof.accepted.jsonl").read_text()
    again = check("--baseline", baseline, "--accept", "another reason")
    assert again.returncode == 0
    when, who = (json.loads(kept)[name] for name in ("when", "who"))
    assert again.stderr == f"Accepted already by {who}, {when}: the mask\n"
    assert (tmp_path / "prof.accepted.jsonl").read_text() == kept


@pytest.mark.parametrize(("factor", "reason"), [(1.0, "why not"), (1.1, " ")])
def test_nothing_is_accepted_without_a_regression_or_a_reason(record, check, tmp_path, factor, reason):
    baseline = record("runs", "k", 1.0)
    record("runs", "k", factor)
    assert check("--baseline", baseline, "--accept", reason).returncode == 2
    assert not (tmp_path / "prof.accepted.jsonl").exists()


def test_a_reason_in_another_encoding_is_kept_in_escapes(record, check, tmp_path):
    baseline = record("runs", "k", 1.0)
    record("runs", "k", 1.1)
    assert check("--baseline", baseline, "--accept", os.fsdecode(b"the \xff mask")).returncode == 0
    assert json.loads((tmp_path / "prof.accepted.jsonl").read_text())["why"] == "the \\udcff mask"
    assert check("--baseline", baseline).returncode == 0


def test_a_user_whom_the_system_has_no_name_for_accepts_by_number(record, check, tmp_path, monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    baseline = record("runs", "k", 1.0)
    record("runs", "k", 1.1)
    assert check("--baseline", baseline, "--accept", "the mask").returncode == 0
    assert json.loads((tmp_path / "prof.accepted.jsonl").read_text())["who"] == "4000000"


def test_a_kernel_of_the_baseline_that_is_gone_is_in_the_verdict(record, check):
    baseline = record("runs", "k", kernels=("kept", "old", "same"))
    record("runs", "k", kernels=("kept", "new", "same"))
    result = check("--baseline", baseline, "--all")
    assert result.returncode == 80
    assert result.stdout.splitlines()[0] == (
        "❔ unclear: 1 kernel of the baseline is gone (k, m=4096: old), "
        "so a regression there would not be seen; no regression in 2 kernels"
    )
    record("runs", "k", kernels=["kept"])
    alone = check("--baseline", baseline, "--all", "--allow-unclear", "--format", "json")
    assert (alone.returncode, json.loads(alone.stdout)["gone"]) == (0, ["k, m=4096: old", "k, m=4096: same"])
    assert "in the baseline only, so not checked: k, m=4096: old" in result.stdout
    assert "only in the candidate, so not checked: new" in result.stdout


def test_all_pairs_kernels_as_a_comparison_does_and_states_what_has_no_counterpart(record, check, prof_here):
    sides = {"main": ("void gemm<(int)8, 0>(int)", "old"), "runs": ("void gemm<(int)8>(int, long)", "new")}
    before, after = (record(folder, "k", kernels=names) for folder, names in sides.items())
    result = check("--baseline", "main", "--all", "--format", "json")
    finding = json.loads(result.stdout)
    assert (result.returncode, [pair["outcome"] for pair in finding["pairs"]]) == (80, ["passed"])
    assert finding["gone"] == ["k, m=4096: old"]
    compared = prof_here("compare", f"main/{before}", f"runs/{after}", "--all", "--format", "json")
    ((one, other),) = [(pair["before"], pair["after"]) for pair in json.loads(compared.stdout)["comparisons"]]
    assert (one["kernel_name"], other["kernel_name"]) == tuple(names[0] for names in sides.values())
    assert check("--baseline", "main", "--all", "--accept", "nothing calls it").returncode == 0


def test_all_of_two_recordings_without_a_kernel_in_common_is_unclear_until_it_is_accepted(record, check):
    for folder, kernels in (("main", "ab"), ("runs", "cd")):
        record(folder, "k", kernels=kernels)
    result = check("--baseline", "main", "--all")
    assert result.returncode == 80
    assert "2 kernels of the baseline are gone (k, m=4096: a, k, m=4096: b)" in result.stdout
    assert "only in the candidate, so not checked: c" in result.stdout
    assert "no kernel of one side has a counterpart in the other" in result.stdout
    assert check("--baseline", "main", "--all", "--accept", "both were split").returncode == 0


def test_a_baseline_that_is_not_there_is_neither_a_folder_nor_a_run(record, check):
    record("runs", "k")
    result = check("--baseline", "runs-of-mian", "k")
    assert result.returncode == 21
    assert "runs-of-mian: neither a folder here nor a run (" in result.stderr


def test_two_patterns_choose_the_kernel_of_each_side_as_a_comparison_has_it(record, check):
    for name in ("both", "other"):
        record("runs", name, kernels=("old", "new"))
    words = ("--baseline", "both", "other", "-k", "old", "-k", "new")
    (pair,) = json.loads(check(*words, "--format", "json").stdout)["pairs"]
    assert (pair["kernel"], pair["outcome"]) == ("new", "passed")
    assert "different names: old and new" in check(*words).stdout
    assert check(*words, "-k", "third").returncode == 2
    assert check("--baseline", "runs", "-k", "old", "-k", "new").returncode == 2


def test_kernels_of_other_names_are_a_pair_if_both_say_what_they_worked_on(prof_here, shipped_runs, reports):
    """Rungs of a ladder do; reports of programs with other arguments do not say that they did the same work."""
    assert prof_here("--runs", shipped_runs.root, "check", "--baseline", "5", "6").returncode == 0
    sides = (reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep")
    assert prof_here("check", "--baseline", *sides).returncode == 80


def test_one_launch_a_side_says_how_many_decide_and_says_its_outcome_once(record, check):
    for folder in ("main", "runs"):
        record(folder, "k", readings=[1e6])
    record("runs", "k", readings=[1.07e6])
    result = check("--baseline", "main", "--brief")
    assert result.returncode == 80
    assert "ncu --launch-count 5" in result.stderr
    assert "the launches do not decide it" in result.stdout
    assert "the launches do not decide it" not in result.stderr
    said = json.loads(check("--baseline", "main", "--format", "json").stdout)["headline"]
    assert "ncu --launch-count 5" in said["next"]


def test_a_removal_is_accepted_with_its_reason(record, check, tmp_path):
    for name in ("kept", "old"):
        record("main", name)
    record("runs", "kept")
    against_main = ("--baseline", "main")
    refused = check(*against_main)
    assert refused.returncode == 80
    assert (
        "if it was removed on purpose, `prof check --accept REASON` with the same two sides accepts that"
        in refused.stderr
    )
    accepted = check(*against_main, "--accept", "nothing calls it any more")
    assert accepted.returncode == 0
    (line,) = (tmp_path / "prof.accepted.jsonl").read_text().splitlines()
    assert json.loads(line).keys() == {"name", "when", "who", "why"}
    assert "; 1 removal accepted: old, m=4096" in accepted.stdout.splitlines()[0]
    later = check(*against_main, "--format", "json", "--junit", "check.xml")
    assert later.returncode == 0
    finding = json.loads(later.stdout)
    assert finding["missing"] == []
    assert [one["name"] for one in finding["removed"]] == ["old, m=4096"]
    assert finding["removed"][0]["accepted"].endswith(": nothing calls it any more")
    cases = cases_of(tmp_path / "check.xml")
    assert "nothing calls it any more" in cases["old, m=4096"].find("skipped").get("message")


def test_accepting_a_removed_recording_does_not_accept_later_removals(record, check):
    for name in ("kept", "older", "old"):
        record("main", name)
    for name in ("kept", "old"):
        record("runs", name)
    assert check("--baseline", "main", "--accept", "nothing calls it").returncode == 0
    record("later", "kept")
    result = check("--baseline", "main", "later")
    assert result.returncode == 80
    assert "1 recording of the baseline has no counterpart (old, m=4096)" in result.stdout


def test_two_kernels_of_different_names_are_unclear_unless_chosen_or_accepted(record, check, tmp_path):
    baseline = record("runs", "k", kernels=["add"], workload=None)
    candidate = record("runs", "k", kernels=["mul"], workload=None)
    pair = ("--baseline", baseline, candidate)
    doubted = check(*pair, "--junit", "check.xml")
    assert doubted.returncode == 80
    assert " in mul (k), because the name is not the one in the baseline" in doubted.stdout
    (case,) = ElementTree.parse(tmp_path / "check.xml").iter("testcase")
    assert case.find("error") is not None
    assert check(*pair, "-k", "add|mul").returncode == 0
    assert check(*pair, "--accept", "a better name").returncode == 0
    assert check(*pair).returncode == 0
    third = record("runs", "k", kernels=["div"], workload=None)
    assert check("--baseline", baseline, third).returncode == 80, "another name was accepted"


def test_a_regression_has_its_factors_and_its_first_cause_as_fields(prof_recorded):
    pair = prof_recorded("check", "--baseline", "6", "5", "--format", "json", "--full")
    compared = prof_recorded("compare", "6", "5", "--format", "json", "--full")
    (found,), comparison = json.loads(pair.stdout)["pairs"], json.loads(compared.stdout)
    assert found["cause"] == comparison["causes"][0]
    assert {"cause", "where", "try", "saves_pct"} <= found["cause"].keys()
    assert found["factors"]
    assert {"name", "ratio", "share", "before", "after"} <= found["factors"][0].keys()


def test_launches_of_several_shapes_are_checked_at_the_one_that_takes_most_of_the_time(record, check):
    def launches(factor):
        sizes = [(1000, factor * one) for one in STEADY] + [(1, 0.01 * one) for one in STEADY]
        return [{"ns": ns, "grid": blocks, "block": 256} for blocks, ns in sizes]

    baseline = record("runs", "k", launches=launches(1.0))
    record("runs", "k", launches=launches(1.1))
    assert check("--baseline", baseline).returncode == 1
    record("runs", "k", launches=launches(0.9))
    assert check("--baseline", baseline).returncode == 0
