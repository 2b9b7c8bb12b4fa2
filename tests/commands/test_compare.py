"""`prof compare`: its four formats, its published schema, and what it refuses."""

import csv
import io
import json
import re
from html import unescape
from pathlib import Path

import jsonschema
import pytest
from markdown_it import MarkdownIt

import profiler
from profiler.catalog.metrics import BY_NAME

markdown = MarkdownIt("commonmark").enable("table")


@pytest.fixture
def compare(prof_recorded):
    """`prof compare` over the runs that the repository ships."""
    return lambda *arguments: prof_recorded("compare", *arguments)


@pytest.fixture
def pair(make_run, tmp_path):
    """Two stored runs that differ in the manifest only; returns the folder of runs."""

    def store(**difference):
        launches = [{"kernel": "k", "ns": 100.0 + i} for i in range(3)]
        make_run(*launches, name="one", root=tmp_path)
        make_run(*launches, name="other", root=tmp_path, **difference)
        return tmp_path

    return store


def test_the_table_shows_the_climb_from_top_to_bottom(compare):
    page = compare("5", "6").stdout
    story = [
        "gemm 6 is 1.14",
        "Why: ",
        "Next: ",
        "duration_ns",
        "four-way: confirmed",
        "instructions per launch",
        "before  gemm 5",
        "after   gemm 6",
    ]
    places = [page.index(words) for words in story]
    assert places == sorted(places)
    assert page.count("✓") == 4
    assert "Fewer and wider loads from shared memory leave" in page


def test_a_wide_load_stands_behind_the_narrow_one_that_it_replaces(compare):
    page = compare("5", "6").stdout
    opcodes = [line.split()[0] for line in page[page.index("instructions per launch") :].splitlines() if line]
    assert opcodes[opcodes.index("LDG.E.CONSTANT") + 1] == "LDG.E.128.CONSTANT"


def test_the_four_way_confirmation_is_left_out_where_it_means_nothing(compare):
    assert "four-way" not in compare("1", "2", "--ladder", "relu", "--full").stdout
    (found,) = [json.loads(compare("1", "2", "--ladder", "relu", "--format", "json").stdout)["confirmations"]]
    assert found == []


def test_swapped_the_first_is_faster_and_the_bounds_stay_in_order(compare):
    page = compare("6", "5").stdout
    assert page.startswith("gemm 5 takes 1.14")
    assert "four-way" not in page
    speedup = json.loads(compare("6", "5", "--format", "json").stdout)["speedup"]
    low, high = speedup["ci"]
    assert low < speedup["ratio"] < high < 1


def test_the_short_comparison_counts_the_metrics_that_full_shows(compare):
    short, full = compare("5", "6").stdout, compare("5", "6", "--full").stdout
    assert "more with --full" in short
    assert "more with --full" not in full
    compared = json.loads(compare("5", "6", "--full", "--format", "json").stdout)["metrics"]
    assert all(f"\n{one['name']} " in full for one in compared)


# JSON


def test_the_json_has_every_name_of_the_contract(compare):
    found = json.loads(compare("5", "6", "--format", "json").stdout)
    assert found["schema_version"] == 1
    assert {"before", "after", "comparable", "speedup", "metrics", "confirmations"} <= set(found)
    assert {"attribution", "instructions", "causes"} <= set(found)
    for side in ("before", "after"):
        assert {"label", "kernel_name", "gpu", "workload", "launches", "run_id"} <= set(found[side])
    assert set(found["comparable"]) == {"ok", "warnings", "cautions"}
    assert set(found["speedup"]) == {"ratio", "ci", "basis"}
    metric = {"name", "ncu", "unit", "before", "after", "delta", "ci", "verdict", "reason"}
    assert all(set(one) == metric for one in found["metrics"])
    assert {"name", "confirmed", "checks"} == set(found["confirmations"][0])
    assert {"metric", "expected", "ok"} == set(found["confirmations"][0]["checks"][0])
    assert {"opcodes", "hot_loop"} <= set(found["instructions"])
    assert {"opcode", "before", "after"} <= set(found["instructions"]["opcodes"][0])


def test_the_json_is_small_enough_for_a_question_and_full_is_all_of_it(compare):
    short, full = (compare("5", "6", *more, "--format", "json").stdout for more in ([], ["--full"]))
    assert len(short) <= 8000 < len(full)
    found, everything = json.loads(short), json.loads(full)
    assert everything["left_out"] == {}
    assert sum(found["left_out"].values()) > 0
    told = sum(count for name, count in found["left_out"].items() if name.startswith("metrics_"))
    assert len(found["metrics"]) + told == len(everything["metrics"])


def test_a_metric_that_was_asked_for_is_in_the_short_json_although_it_did_not_change(compare):
    plain = json.loads(compare("5", "5", "--format", "json").stdout)
    assert "waves" not in [metric["name"] for metric in plain["metrics"]]
    for name in ("waves", BY_NAME["waves"].ncu[0]):
        found = json.loads(compare("5", "5", "--metric", name, "--format", "json").stdout)
        assert found["metrics"][0]["name"] == "waves"


def test_the_table_has_the_metrics_that_were_asked_for_and_counts_the_others(compare):
    lines = compare("5", "6", "--metric", "registers", "--metric", "waves").stdout.splitlines()
    header = next(number for number, line in enumerate(lines) if line.startswith("metric "))
    assert {line.split()[0] for line in lines[header + 1 : header + 3]} == {"registers", "waves"}
    assert "more with --full" in lines[header + 3]


def test_a_report_is_named_by_its_path_and_a_run_by_its_id(prof_here, prof_recorded, recorded, reports):
    paths = [reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep"]
    loose = json.loads(prof_here("compare", *paths, "--full", "--format", "json").stdout)
    stored = json.loads(
        prof_recorded("compare", "textbook-5", "textbook-6", "--full", "--format", "json").stdout
    )
    assert [loose[side]["report"] for side in ("before", "after")] == [str(path) for path in paths]
    assert [loose[side]["run_id"] for side in ("before", "after")] == [None, None]
    assert stored["before"]["run_id"] == str(recorded.find("textbook-5", "gemm").manifest.run_id)
    for found in (loose, stored):
        for side in ("before", "after"):
            name = Path(found[side]["label"]).name.removesuffix(".ncu-rep")
            found["headline"]["what"] = found["headline"]["what"].replace(name, side)
            for name in ("label", "called", "run_id", "report"):
                del found[side][name]
    assert loose == stored, "a stored run says what its report says"


def test_the_json_of_several_kernels_obeys_the_schema_of_the_same_command(compare, store, prof_here):
    schema = json.loads(compare("--schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    for more in ((), ("--all",), ("--all", "--full")):
        result = prof_here("--runs", store.root, "compare", "several", "several", *more, "--format", "json")
        found = json.loads(result.stdout)
        jsonschema.validate(found, schema)
        assert len(found["comparisons"]) == 3


ANSWERS = ["compare 5 6", "compare 6 5", "compare 5 5", "show 6", "show gemm-6-timed", "sass 5 6", "sass 6", "check -b 5 6", "check -b 6 5", "ladder", "ladder --ideas", "list", "list 6"]  # fmt: skip


def test_the_json_of_every_verb_obeys_the_schema_that_the_verb_prints(prof_recorded):
    wrong = []
    for words in map(str.split, ANSWERS):
        schema = json.loads(prof_recorded(*words, "--schema").stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        for more in ((), ("--full",)):
            found = json.loads(prof_recorded(*words, *more, "--format", "json").stdout)
            wrong += [
                f"{words}: {error.message[:80]}"
                for error in jsonschema.Draft202012Validator(schema).iter_errors(found)
            ]
    assert not wrong


SHORT = ["compare 5 6", "show 6", "show gemm-6-timed", "check -b 5 6", "check -b 6 5", "ladder"]


def test_the_answer_alone_is_a_kilobyte_of_json_with_the_sentences_of_the_whole_answer(prof_recorded):
    for words in map(str.split, SHORT):
        whole = json.loads(prof_recorded(*words, "--full", "--format", "json").stdout)
        printed = prof_recorded(*words, "--brief", "--format", "json").stdout
        found = json.loads(printed)
        assert found["headline"] == whole["headline"], words
        assert len(printed) < 1500, words
        jsonschema.validate(found, json.loads(prof_recorded(*words, "--schema").stdout))
    assert found.keys() == {"headline", "cautions", "schema_version"}


def test_the_answer_alone_keeps_what_decides_and_what_to_doubt(prof_recorded, reports):
    sides = (reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep")
    whole = json.loads(prof_recorded("compare", *sides, "--format", "json").stdout)
    short = json.loads(prof_recorded("compare", *sides, "--brief", "--format", "json").stdout)
    assert short["speedup"] == whole["speedup"]
    assert short["cautions"][: len(whole["comparable"]["cautions"])] == whole["comparable"]["cautions"]
    checked = prof_recorded("check", "-b", "6", "5", "--brief", "--format", "json")
    assert checked.returncode == 1
    assert json.loads(checked.stdout)["outcome"] == "regression"
    doubted = json.loads(prof_recorded("show", sides[0], "--brief", "--format", "json").stdout)
    assert any(text.startswith("not recorded: ") for text in doubted["cautions"])


def test_a_failure_obeys_the_schema_of_the_verb(prof_recorded):
    for words in map(str.split, ["compare 5 nope", "show nope", "sass nope", "check -b nope 6", "list nope"]):
        schema = json.loads(prof_recorded(words[0], "--schema").stdout)
        jsonschema.validate(json.loads(prof_recorded(*words, "--format", "json").stdout), schema)


def test_the_json_of_a_poor_comparison_obeys_the_schema_too(prof_here, compare, store, make_run, tmp_path):
    schema = json.loads(compare("--schema").stdout)
    make_run({"kernel": "k"}, name="empty", root=tmp_path, workload=None)
    empty = json.loads(prof_here("--runs", tmp_path, "compare", "empty", "empty", "--format", "json").stdout)
    jsonschema.validate(empty, schema)
    assert (empty["speedup"], empty["metrics"]) == (None, [])
    forced = ["compare", "range", "pm_sampling", "--force", "--format", "json"]
    jsonschema.validate(json.loads(prof_here("--runs", store.root, *forced).stdout), schema)


def test_the_schema_would_notice_a_missing_name_and_a_wrong_verdict(compare):
    schema = json.loads(compare("--schema").stdout)
    found = json.loads(compare("5", "6", "--format", "json").stdout)
    wrong = {**found, "metrics": [{**found["metrics"][0], "verdict": "great"}]}
    for bad in (wrong, {name: found[name] for name in found if name != "speedup"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


# CSV and Markdown


def test_without_a_common_name_both_kernels_have_to_be_chosen(prof_here, prof_recorded, make_run, tmp_path):
    assert prof_recorded("compare", "5", "6", "--all").returncode == 0

    make_run({"kernel": "a"}, {"kernel": "b"}, name="two", root=tmp_path)
    make_run({"kernel": "c"}, name="one", root=tmp_path)
    for more in ((), ("--all",)):
        several = prof_here("--runs", tmp_path, "compare", "two", "one", *more)
        assert several.returncode == 32
        assert "1 x b" in several.stderr
        assert "Choose one on each side with `-k PATTERN`" in several.stderr
        assert "as in `-k a -k c`" in several.stderr
    one = prof_here("--runs", tmp_path, "compare", "two", "one", "-k", "a", "-k", "c")
    assert "Choose" not in one.stderr


def test_csv_has_a_row_for_every_metric_and_opcode_with_every_digit(compare):
    rows = list(csv.DictReader(io.StringIO(compare("5", "6", "--format", "csv").stdout), strict=True))
    found = json.loads(compare("5", "6", "--full", "--format", "json").stdout)
    metrics = {row["name"]: row for row in rows if row["kind"] == "metric"}
    opcodes = {row["name"]: row for row in rows if row["kind"] == "opcode"}
    assert len(metrics) + len(opcodes) == len(rows)
    for one in found["metrics"]:
        row = metrics[one["name"]]
        assert [float(row[name]) for name in ("before", "after", "delta")] == [
            one["before"], one["after"], one["delta"],
        ]  # fmt: skip
        assert (row["verdict"], row["reason"], row["unit"]) == (one["verdict"], one["reason"], one["unit"])
    assert float(opcodes["LDS"]["after"]) == 0


def test_markdown_in_full_has_a_table_of_sides_metrics_checks_causes_and_opcodes(compare):
    found = json.loads(compare("5", "6", "--full", "--format", "json").stdout)
    tokens = markdown.parse(compare("5", "6", "--full", "--format", "markdown").stdout)
    rows, tables = 0, []
    for token in tokens:
        rows = 0 if token.type == "tbody_open" else rows + (token.type == "tr_open")
        if token.type == "tbody_close":
            tables.append(rows)
    opcodes = ["all", *found["instructions"]["opcodes"]]
    assert tables[:2] == [len(found["metrics"]), 4]
    assert tables[-3:] == [len(found["causes"]), len(opcodes), 2]


def test_markdown_has_the_hot_loop_and_what_full_would_add(compare):
    page = compare("5", "6", "--format", "markdown").stdout
    assert "hot loop, A operand: 8 LDS -&gt; 2 LDS.128 per k-step" in page
    assert "more with --full: " in page


def test_markdown_of_every_kernel_names_each(prof_here, store):
    page = prof_here(
        "--runs", store.root, "compare", "several", "several", "--all", "--format", "markdown"
    ).stdout
    assert [page.count(f"| {name} |") for name in ("scale", "offset", "calls\\_a\\_function")] == [1, 1, 1]


# What it refuses


@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        ({"clock_control": "base"}, "clock control differs: none against base"),
        ({"workload": {"m": 8}}, "the workload differs: m=4096 against m=8"),
    ],
)
def test_recordings_made_differently_are_refused_until_forced(prof_here, pair, difference, reason):
    folder = pair(**difference)
    refused = prof_here("--runs", folder, "compare", "one", "other")
    assert (refused.returncode, refused.stdout) == (31, "")
    assert reason in refused.stderr
    assert "--force" in refused.stderr
    forced = prof_here("--runs", folder, "compare", "one", "other", "--force")
    assert forced.returncode == 0
    assert f"caution: {reason}" in forced.stdout
    forced = json.loads(
        prof_here("--runs", folder, "compare", "one", "other", "--force", "--format", "json").stdout
    )
    assert forced["comparable"]["ok"] is False
    assert reason in forced["comparable"]["warnings"]
    page = prof_here("--runs", folder, "compare", "one", "other", "--force", "--format", "markdown").stdout
    assert "**Caution:**" in page


def test_recordings_of_several_kernels_open_on_all_and_a_pattern_chooses_one(prof_here, store, tmp_path):
    run = ["--runs", store.root, "compare", "several", "processes", "--force"]
    every = prof_here(*run)
    assert every.stdout == prof_here(*run, "--all").stdout
    assert every.stdout.startswith("The 3 kernels that both have take ")
    assert "\nscale " in every.stdout
    assert prof_here(*run, "--kernel-name", "^scale").stdout.startswith(
        "Which of scale of several and scale of processes is faster "
    )
    several = prof_here(*run, "--chart", tmp_path / "chart.svg")
    assert (several.returncode, "--chart draws one pair" in " ".join(several.stderr.split())) == (2, True)
    assert prof_here(*run, "--kernel-name", "nothing").returncode == 33
    assert prof_here(*run, "--kernel-name", "(").returncode == 33
    assert prof_here(*run, "--all", "--format", "csv").returncode == 0


def test_two_kernels_of_one_report_are_compared_and_called_by_their_own_names(prof_here, reports):
    report = reports / "several.ncu-rep"
    result = prof_here("compare", report, "-k", "scale", "-k", "offset", "--brief")
    assert result.returncode == 0
    assert {"scale", "offset"} <= set(result.stdout.splitlines()[0].split())
    assert "the first" not in result.stdout
    three = prof_here("compare", report, *("-k", "a") * 3)
    assert (three.returncode, "at most twice" in three.stderr) == (2, True)


def test_kernels_of_one_report_are_versions_only_if_names_or_the_user_say_so(make_run, prof_here, tmp_path):
    fill = {"kernel": "fill", "ns": 1e4}
    sums = [{"kernel": name, "ns": 9e4} for name in ("sum_rows", "sum_fast")]
    make_run(fill, *sums, name="several", workload=None, root=tmp_path)
    of_run = ("--runs", tmp_path, "compare", "several", "several", "-k", "sum_rows")
    apart = " ".join(prof_here(*of_run, "-k", "fill").stdout.split())
    assert apart.startswith(
        "sum_rows and fill are two different kernels, which take 90.00 us and 10.00 us under the profiler."
    )
    assert "`--force` compares them as such" in apart
    assert not [word for word in ("verdict", "better", "noise", "Why:") if word in apart]
    for more in (("-k", "fill", "--force"), ("-k", "sum_fast")):
        versions = prof_here(*of_run, *more).stdout
        assert "different kernels" not in versions
        assert "verdict" in versions


def test_kernels_of_unlike_names_are_versions_of_one_if_a_pattern_chooses_both(prof_here, reports):
    sides = (str(reports / "triton_add_full.ncu-rep"), str(reports / "gemm_6.ncu-rep"), "--force")
    chosen = prof_here("compare", *sides, "-k", "add|k6").stdout
    assert "two different kernels" not in chosen
    assert "Why:" in chosen


def test_two_different_kernels_get_a_short_table_with_their_names_unless_in_full(prof_here, reports):
    sides = (str(reports / "triton_add_full.ncu-rep"), str(reports / "gemm_6.ncu-rep"))
    short = prof_here("compare", *sides).stdout
    (header,) = (line.split() for line in short.splitlines() if line.startswith("metric "))
    assert header == ["metric", "unit", "triton_add_full", "gemm_6"]
    assert "duration_ns" in short
    assert not [
        word
        for word in ("before", "verdict", "the speedup, split", "instructions per launch")
        if word in short
    ]
    wanted = prof_here("compare", *sides, "--metric", "l2_hit_pct").stdout
    assert ("l2_hit_pct" in wanted, "duration_ns" in wanted) == (True, False)
    full = prof_here("compare", *sides, "--full").stdout
    assert all(word in full for word in ("before", "the speedup, split", "instructions per launch"))


def test_what_only_one_side_recorded_is_said_of_that_side_and_at_length_in_full_alone(prof_here, reports):
    sides = [reports / f"{name}.ncu-rep" for name in ("triton_add_full", "pm_sampling")]
    for words, only in ((sides, "before"), (sides[::-1], "after")):
        told = " ".join(prof_here("compare", *words, cwd=reports).stdout.split())
        (named,) = re.findall(rf"recorded only {only}: (.*?) and \d+ more \(`--full` names them\)", told)
        assert len(named.split(", ")) == 8
    assert "`.missing` names them" in unescape(
        re.sub("</?code>", "`", profiler.compare(*sides)._repr_html_())
    )
    whole = prof_here("compare", *sides, "--full", cwd=reports).stdout
    assert {one.name for one in profiler.compare(*sides).missing} <= set(re.findall(r"\w+", whole))


def test_a_run_folder_may_be_given_wherever_it_lies(prof_here, recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sides = [recorded.find(number, "gemm").path for number in "56"]
    assert prof_here("compare", *sides).returncode == 0
    assert prof_here("compare", f"{sides[0]}/", f"{sides[1]}/").returncode == 0


def test_a_changed_table_is_refused_with_the_file_named(prof_here, make_run, tmp_path):
    table = make_run({"kernel": "k", "ns": 1.0}, name="one", root=tmp_path).path / "metrics.parquet"
    table.write_bytes(table.read_bytes()[:-1] + b"\0")
    result = prof_here("--runs", tmp_path, "compare", "one", "one")
    assert (result.returncode, result.stdout) == (22, "")
    assert str(table) in result.stderr


def test_two_sides_are_needed(compare):
    result = compare()
    assert result.returncode == 2
    assert "prof compare 5 6" in result.stderr


def test_a_rung_that_was_measured_once_has_nothing_to_be_compared_with(compare):
    result = compare("5")
    assert result.returncode == 21
    assert "no run of gemm-5 at m=n=k=4096 on H200 before " in result.stderr
    assert "Name both sides, as in `prof compare 4 5`; `prof list gemm-5` shows" in result.stderr


def test_the_causes_of_a_comparison_are_those_that_went_came_and_remain(prof_recorded):
    """`prof show` of the second side says what each cause is, and so does --full."""
    printed = prof_recorded("compare", "4", "5").stdout
    below = printed.partition("causes, and the part of the time")[2]
    finding = json.loads(prof_recorded("compare", "4", "5", "--full", "--format", "json").stdout)
    named = [one["cause"] for one in finding["causes"]]
    kept = {one["cause"] for one in finding["causes_kept"]}
    assert kept <= set(named)
    assert set(finding["causes_new"]) <= set(named) - kept
    assert all(name in below for name in [*named, *finding["causes_gone"]])
    assert all(one["try"] not in " ".join(below.split()) for one in finding["causes"])
    full = prof_recorded("compare", "4", "5", "--full").stdout
    assert finding["causes"][1]["try"] in " ".join(full.split())
