"""`prof mcp`, asked by a real MCP client over standard input and output."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unicodedata
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from anyio.from_thread import start_blocking_portal
from living import spawned_by

from profiler.ask.named.reach import Reach
from profiler.cli import VERBS
from profiler.commands.shared.options import VerbSettings
from profiler.store.remote.places import location_of
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.seal import sealed

TOOLS = ["compare", "ladder", "show", "sass", "check", "list"]
START = "from profiler.cli import main; main()"


@asynccontextmanager
async def serving(runs, reports=None, cwd=None, mode="legacy"):
    """A client of a server over these runs and `reports`, in a process of its own."""
    from mcp import (
        Client,
        StdioServerParameters,
        stdio_client,
    )  # takes a second, which no other test should cost

    below = [word for folder in reports or () for word in ("--reports", str(folder))]
    arguments = ["-c", START, "--runs", str(runs), "mcp", *below]
    command = StdioServerParameters(command=sys.executable, args=arguments, cwd=cwd, env=dict(os.environ))
    with open(os.devnull, "w") as errors:
        async with Client(stdio_client(command, errlog=errors), mode=mode) as client:
            yield client


@asynccontextmanager
async def serving_here(runs, reports, cwd):
    from mcp import Client

    # private: a process for each of these servers would cost a second
    from profiler.commands.reading.mcp import _make_server

    settings = VerbSettings(runs=location_of(str(runs)))
    settings = replace(settings, reach=Reach.of(settings.runs_folder, reports))
    async with Client(_make_server(settings), mode="legacy") as client:
        yield client


async def answers_of(client, calls):
    """The results of `(tool, arguments)` calls, all asked at once; the error of one that is none of a tool."""
    sent = (client.call_tool(tool, given) for tool, given in calls)
    return await asyncio.gather(*sent, return_exceptions=True)


@pytest.fixture(scope="module")
def shipped(recorded):
    """`shipped(calls)`: asked of one server over the shipped runs, which answers until the last test of this file."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(recorded.root)) as client,
    ):
        yield lambda calls: portal.call(answers_of, client, calls)


@pytest.fixture
def ask(shipped, monkeypatch):
    """`ask((tool, arguments), ...)` over the shipped runs; with `runs`, of a server for these alone.

    That server is in this process, unless it is `apart`, where reports may be named relative to its current folder.
    """

    def ask(*calls, runs=None, reports=None, cwd=None, apart=False):
        if runs is None:
            return shipped(calls)

        async def session():
            async with (serving if apart else serving_here)(runs, reports, cwd) as client:
                return await answers_of(client, calls)

        with monkeypatch.context() as patch:
            if cwd is not None:
                patch.chdir(cwd)
            return asyncio.run(session())

    return ask


def text_of(result):
    (content,) = result.content
    return content.text


def failure_of(result):
    assert result.is_error
    assert result.structured_content is None, "it would not obey the tool's schema"
    return json.loads(text_of(result))["error"]


# What it offers


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_finds_six_tools_that_only_read_and_say_what_they_take_and_give(recorded, mode):
    async def session():
        async with serving(recorded.root, mode=mode) as client:
            return client.server_info, client.instructions, (await client.list_tools()).tools

    server, instructions, tools = asyncio.run(session())
    assert server.name == "prof"
    assert "`list`" in instructions
    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)
        assert tool.description.endswith(".")
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        for name, taken in tool.input_schema["properties"].items():
            assert "description" in json.dumps(taken), f"{tool.name}: {name}"
    definitions = [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in tools]
    assert sum(map(len, definitions)) < 12_000, "an agent pays for them in every conversation"


@pytest.mark.slow
def test_a_report_that_was_seen_is_answered_sooner(reports, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    report = str(reports / "triton_add_full.ncu-rep")

    async def session():
        async with serving(tmp_path, reports=[reports]) as client:
            moments = [time.perf_counter()]
            for _ in range(2):
                result = await client.call_tool("show", {"source": report})
                moments.append(time.perf_counter())
            return result, *(after - before for before, after in pairwise(moments))

    result, first_s, second_s = asyncio.run(session())
    answer = json.loads(text_of(result))
    assert list(answer)[:3] == ["headline", "left_out", "index"]
    assert {"where", "try", "saves_pct"} <= set(answer["kernels"][0]["causes"][0])
    assert second_s < first_s / 2


def test_the_skill_file_names_commands_that_exist(prof_here, tmp_path):
    skill = tmp_path / "SKILL.md"
    assert prof_here("mcp", "--skill", skill).returncode == 0
    text = skill.read_text()
    assert text.startswith("---\nname: prof\ndescription: ")
    verbs = set(re.findall(r"`prof (\w+)", text))
    assert {"collect", "show", "compare", "check", "mcp"} <= verbs <= set(VERBS)


# What it answers


# What an agent asks, and what a person would type.
QUESTIONS = [
    ("compare", {"before": 5, "after": "6"}, "compare 5 6"),
    ("compare", {"before": 5, "after": 6, "full": True}, "compare 5 6 --full"),
    ("compare", {"before": 5, "after": 5, "metric": ["waves"]}, "compare 5 5 --metric waves"),
    ("compare", {"before": 5, "after": "textbook-6", "force": True}, "compare 5 textbook-6 --force"),
    ("compare", {"before": 5, "after": 5, "all": True}, "compare 5 5 --all"),
    ("compare", {"before": 5, "after": 6, "size": 2048}, "compare 5 6 --size 2048"),
    ("ladder", {}, "ladder"),
    ("ladder", {"size": 2048, "full": True, "ladder": "gemm"}, "ladder --size 2048 --full --ladder gemm"),
    ("ladder", {"size": "2048x2048x2048"}, "ladder --size 2048x2048x2048"),
    ("ladder", {"ladder": "copy", "view": "compute"}, "ladder --ladder copy --view compute"),
    ("ladder", {"ladder": "relu", "ideas": True}, "ladder --ladder relu --ideas"),
    ("show", {"source": 6}, "show 6"),
    ("show", {"source": "textbook-6", "kernel_name": "k6"}, "show textbook-6 -k k6"),
    ("show", {"source": "gemm-6-timed"}, "show gemm-6-timed"),
    ("show", {"source": 6, "size": "2048x2048x2048"}, "show 6 --size 2048x2048x2048"),
    ("sass", {"before": 5, "after": 6}, "sass 5 6"),
    ("sass", {"before": 6, "full": True}, "sass 6 --full"),
    ("check", {"baseline": 5, "candidate": "6"}, "check --baseline 5 6"),
    ("check", {"baseline": 5, "candidate": "6", "full": True}, "check --baseline 5 6 --full"),
    (
        "check",
        {"baseline": 6, "candidate": 5, "max_slower_pct": 3, "full": True},
        "check --baseline 6 5 --max-slower 3% --full",
    ),
    ("compare", {"before": 5, "after": 6, "brief": True}, "compare 5 6 --brief"),
    ("show", {"source": 6, "brief": True}, "show 6 --brief"),
    ("check", {"baseline": 6, "candidate": 5, "brief": True}, "check -b 6 5 --brief"),
    ("ladder", {"brief": True}, "ladder --brief"),
]


@pytest.fixture(scope="module")
def answers(shipped):
    results = shipped([(tool, given) for tool, given, _ in QUESTIONS])
    return {command: result for (_, _, command), result in zip(QUESTIONS, results, strict=True)}


@pytest.mark.parametrize("command", [command for *_, command in QUESTIONS])
def test_an_answer_is_what_the_verb_prints_as_json(answers, prof_recorded, command):
    printed = prof_recorded(*command.split(), "--format", "json").stdout
    assert f"{text_of(answers[command])}\n" == printed
    assert answers[command].structured_content == json.loads(printed)
    assert "--full" in command or len(printed) <= 8000


def test_a_list_of_recordings_is_answered_with_all_their_kernels(ask):
    several, outside = ask(
        ("show", {"source": [5, "gemm-6"]}), ("show", {"source": [5, "/etc/passwd.ncu-rep"]})
    )
    found = json.loads(text_of(several))
    assert [one["source"] for one in found["index"]] == ["5", "gemm-6"]
    assert found["headline"]["what"].startswith("2 kernels of 2 recordings take ")
    assert failure_of(outside)["exit_code"] == 87


def test_a_check_is_short_and_keeps_the_cause_of_a_regression(ask):
    (result,) = ask(("check", {"baseline": 6, "candidate": 5}))
    assert len(text_of(result)) <= 8000
    (pair,) = result.structured_content["pairs"]
    assert (result.structured_content["outcome"], pair["outcome"]) == ("regression", "regression")
    assert pair["cause"]["where"]
    assert pair["cause"]["try"]
    assert pair["factors"]


def test_a_check_of_a_folder_of_runs_is_refused(ask, recorded):
    """As every tool refuses one."""
    folder = str(recorded.root)
    checked, shown, outside = ask(
        ("check", {"baseline": folder, "candidate": 6}),
        ("show", {"source": folder}),
        ("check", {"baseline": "/", "candidate": 6}),
    )
    assert failure_of(checked) == failure_of(shown)
    assert failure_of(outside)["exit_code"] == 87


def test_the_list_has_the_rows_of_the_verb_and_the_kernels_of_the_ladder(ask, prof_recorded):
    everything, some, of_copy = ask(
        ("list", {"full": True}), ("list", {"name": 6}), ("list", {"ladder": "copy"})
    )
    printed = prof_recorded("list", "--full", "--format", "json").stdout
    assert everything.structured_content["runs"] == json.loads(printed)["runs"]
    assert everything.structured_content["kernels"] == json.loads(printed)["kernels"]
    kernels = prof_recorded("list", "--kernels", "--format", "json").stdout
    assert everything.structured_content["kernels"] == json.loads(kernels)["kernels"]
    assert {run["name"] for run in some.structured_content["runs"]} == {"gemm-6", "gemm-6-timed"}
    assert {run["name"].split("-")[0] for run in of_copy.structured_content["runs"]} == {"copy"}


def test_a_name_that_matches_no_run_is_a_failure_that_names_a_pattern(ask):
    named, fitting = ask(("list", {"name": "copy"}), ("list", {"name": "*copy*"}))
    assert failure_of(named)["exit_code"] == 21
    assert "no run is named 'copy'; `prof list '*copy*'` finds " in failure_of(named)["message"]
    assert fitting.structured_content["runs"] != []


def test_one_launch_of_a_report_is_chosen_by_its_number(ask, reports, prof_here):
    numbers = ("0", "2")
    given = {"runs": reports / "none", "reports": [reports], "cwd": reports, "apart": True}
    asked = {"show": "source", "sass": "before"}
    answers = ask(
        *(
            (verb, {name: "several.ncu-rep", "launch": one})
            for verb, name in asked.items()
            for one in numbers
        ),
        **given,
    )
    for verb, results in zip(asked, (answers[:2], answers[2:]), strict=True):
        kernels = [result.structured_content["kernels"] for result in results]
        assert kernels[0] != kernels[1]
        for one, result in zip(numbers, results, strict=True):
            command = (verb, "several.ncu-rep", "--launch", one, "--format", "json")
            assert f"{text_of(result)}\n" == prof_here(*command, cwd=reports).stdout


def test_recordings_are_called_what_the_agent_calls_them_and_not_by_the_servers_paths(ask, reports, tmp_path):
    for folder, report in (("one", "gemm_5.ncu-rep"), ("two", "gemm_6.ncu-rep")):
        (tmp_path / folder).mkdir()
        shutil.copy(reports / report, tmp_path / folder)
    (result,) = ask(("show", {"source": ["one/gemm_5.ncu-rep", "two"]}), runs=tmp_path, reports=[tmp_path])
    assert not result.is_error, text_of(result)
    named = {one["source"] for one in result.structured_content["index"]}
    assert named == {"one/gemm_5.ncu-rep", "two/gemm_6.ncu-rep"}, "the second is the report in its folder"
    assert str(tmp_path) not in result.structured_content["headline"]["what"]
    assert str(tmp_path) not in result.structured_content["headline"]["next"]


def test_reports_may_be_given_by_their_paths_also_relative_ones(ask, reports, tmp_path):
    sides = {"before": "range.ncu-rep", "after": str(reports / "range.ncu-rep")}
    (result,) = ask(("compare", {**sides, "kernel_name": "."}), runs=tmp_path, cwd=reports, apart=True)
    assert result.structured_content["before"]["report"] == "range.ncu-rep"
    assert result.structured_content["speedup"]["ratio"] == 1


@pytest.mark.slow
def test_calls_at_once_are_each_answered_as_if_alone(ask, reports):
    calls = [("compare", {"before": rung, "after": rung + 1}) for rung in range(10)]
    calls += [
        ("show", {"source": str(reports / "range.ncu-rep")}),
        ("sass", {"before": 6}),
        ("show", {"source": 99}),
    ]
    together = ask(*calls)
    alone = [result for call in (calls[0], calls[5], calls[-2]) for result in ask(call)]
    assert [together[0], together[5], together[-2]] == alone
    assert [result.is_error for result in together] == [False] * (len(calls) - 1) + [True]


# What goes wrong


def test_an_error_of_prof_is_a_tool_error_with_message_exit_code_and_remedy(ask, prof_here, store):
    missing, ambiguous, broken = ask(
        ("show", {"source": 99}),
        ("compare", {"before": "several", "after": "graph", "force": True}),
        ("show", {"source": "several", "kernel_name": "("}),
        runs=store.root,
    )
    told = prof_here("--runs", store.root, "show", "99")
    failure = failure_of(missing)
    assert failure["exit_code"] == told.returncode == 21
    assert told.stderr.startswith(f"prof: {failure['message']}\n")
    assert failure["remedy"] == "`list` shows what is recorded."
    assert failure_of(ambiguous)["exit_code"] == 32
    assert "3 x scale" in " ".join(failure_of(ambiguous)["details"])
    assert failure_of(broken)["exit_code"] == 33


def test_arguments_that_a_tool_does_not_take_are_named(ask):
    wrong = [
        ("compare", {"after": 5}, "missing required field `before`"),
        ("compare", {"before": 5, "after": 6, "kernel": "x"}, "unknown field `kernel`"),
        (
            "compare",
            {"before": 5, "after": 6, "metric": "waves"},
            "Expected `array`, got `str` - at `$.metric`",
        ),
        ("show", {"source": [6]}, "$.source"),
        ("show", {"source": 6, "kernel_name": "x" * 501}, "$.kernel_name"),
        ("ladder", {"size": 4096.5}, "$.size"),
        ("list", {"full": "yes"}, "$.full"),
    ]
    results = ask(*((tool, given) for tool, given, _ in wrong))
    for (tool, _, words), result in zip(wrong, results, strict=True):
        failure = failure_of(result)
        assert failure["message"].startswith(f"{tool}: ")
        assert words in failure["message"]
        assert (failure["exit_code"], failure["details"]) == (2, [])
        assert failure["remedy"].endswith(".")
    assert "compare takes before, after, " in failure_of(results[1])["remedy"], "the next call can be right"


def test_a_tool_that_there_is_not_is_an_error_of_the_protocol(ask):
    from mcp.shared.exceptions import MCPError

    (error,) = ask(("collect", {}))
    assert isinstance(error, MCPError)
    assert "there are compare, ladder, show, sass, check, list" in str(error)


def test_a_bug_is_reported_as_one_and_ends_nothing(monkeypatch, recorded):
    """Runs in this process, where a bug can be made."""
    from profiler.commands.reading import agent_tools
    from profiler.commands.shared.options import VerbSettings

    def broken(*_, **__):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(agent_tools, "show_recordings", broken)
    (show,) = [tool for tool in agent_tools.TOOLS if tool.name == "show"]
    with pytest.raises(agent_tools.ToolFailed) as failed:
        show.call({"source": 6}, VerbSettings(runs=recorded.root))
    failure = json.loads(str(failed.value))["error"]
    assert failure["exit_code"] == 70
    assert failure["message"] == "ZeroDivisionError: of all things"


@pytest.mark.slow
def test_hostile_names_reach_the_agent_short_and_harmless(ask, hostile_store):
    hostile = "no\nsuch\x1b]0;x\x07 \u202e" * 2000
    results = ask(
        ("compare", {"before": "before", "after": "after", "all": True}),
        ("compare", {"before": "before", "after": "after", "all": True, "full": True}),
        ("compare", {"before": "before", "after": "after"}),
        ("show", {"source": "before"}),
        ("list", {}),
        ("show", {"source": hostile}),
        runs=hostile_store.root,
    )
    assert [result.is_error for result in results] == [False, False, False, False, False, True]
    for index, result in enumerate(results):
        text = text_of(result)
        assert text.isascii()
        assert index == 1 or len(text) <= 8000
        assert not [c for c in set(text) - {"\n"} if unicodedata.category(c) == "Cc"]
    assert text_of(results[2]) == text_of(results[0])


@pytest.mark.slow
def test_nothing_is_written(ask, recorded, reports, tmp_path):
    def state():
        return {
            path: (path.stat().st_mtime_ns, path.is_file() and hashlib.sha256(path.read_bytes()).digest())
            for path in (*recorded.root.rglob("*"), *tmp_path.rglob("*"))
        }

    before = state()
    ask(
        ("compare", {"before": 5, "after": 6}), ("ladder", {}), ("show", {"source": 6}), ("sass", {"before": 6}),
        ("list", {}), ("show", {"source": str(reports / "range.ncu-rep")}), ("compare", {"before": 5, "after": 10}),
        runs=recorded.root, reports=[reports], cwd=tmp_path,
    )  # fmt: skip
    assert state() == before


# What it does not open


@pytest.fixture
def web():
    """`web(path)` is a URL of a server on this machine; what is asked of it ends up in `web.asked`."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.1)
    done = threading.Event()

    def url(path):
        return f"http://127.0.0.1:{listening.getsockname()[1]}/{path}"

    url.asked = []

    def serve():
        while not done.is_set():
            with suppress(TimeoutError):
                connection, _ = listening.accept()
                url.asked.append(connection.getpeername())
                connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    yield url
    done.set()
    thread.join()
    listening.close()


RUN_ID = f"20260101t000000z-gemm-6-{'a' * 12}"


def test_a_url_is_refused_and_nothing_is_asked_there(ask, web):
    places = [web("mine.ncu-rep"), web(f"runs/{RUN_ID}"), f"file:///etc/{RUN_ID}", f"s3://bucket/{RUN_ID}"]
    calls = [("show", {"source": place}) for place in places]
    calls += [("compare", {"before": 5, "after": places[1]}), ("sass", {"before": places[1]})]
    for result in ask(*calls):
        failure = failure_of(result)
        assert failure["exit_code"] == 87
        assert "this server opens no URL except that of the runs" in failure["message"]
        assert "prof mcp --runs URL" in failure["remedy"]
    assert web.asked == []


def test_a_url_of_its_own_runs_is_opened(ask, web):
    own, other = ask(
        ("show", {"source": web(f"runs/{RUN_ID}")}),
        ("show", {"source": web(f"others/{RUN_ID}")}),
        runs=web("runs"),
    )
    assert failure_of(own)["exit_code"] != 87
    assert web.asked
    assert failure_of(other)["exit_code"] == 87


@pytest.fixture
def places(recorded, reports, tmp_path):
    """A home with the runs, a folder of reports beside them, and something private in neither."""
    report, run = reports / "range.ncu-rep", RunStore(recorded.root).find("gemm-6", "gemm")
    for name in ("reports", "private", "runs", "elsewhere"):
        (tmp_path / name).mkdir()
    shutil.copy(report, tmp_path / "private" / "secret.ncu-rep")
    shutil.copy(report, tmp_path / "reports" / "own.ncu-rep")
    (tmp_path / "reports" / "link.ncu-rep").symlink_to("../private/secret.ncu-rep")
    (tmp_path / "reports" / "inner.ncu-rep").symlink_to("own.ncu-rep")
    (tmp_path / "reports" / "folder").symlink_to("../private")
    shutil.copytree(run.path, tmp_path / "elsewhere" / run.path.name)
    (tmp_path / "runs" / run.path.name).symlink_to(tmp_path / "elsewhere" / run.path.name)
    return tmp_path


@pytest.mark.slow
def test_report_files_are_read_below_the_folders_named_at_start_up_alone(ask, places):
    reports = places / "reports"
    refused = {
        str(places / "private/secret.ncu-rep"): "is outside the folders that this server reads",
        "../private/secret.ncu-rep": "is outside the folders that this server reads",
        "/etc/passwd": "is outside the folders that this server reads",
        "/no/such/file": "is outside the folders that this server reads",
        "link.ncu-rep": "a link there leads out of the folders that this server reads",
        str(reports / "folder/secret.ncu-rep"): "a link there leads out of the folders",
        str(reports / "folder/../private/secret.ncu-rep"): "a link there leads out of the folders",
        "a\0b/c": "is not a path",
    }
    read = ["own.ncu-rep", "inner.ncu-rep", str(reports / "own.ncu-rep")]
    results = ask(
        *(("show", {"source": one}) for one in [*refused, *read]),
        runs=places / "runs", reports=[reports], cwd=reports, apart=True,
    )  # fmt: skip
    for (given, words), result in zip(refused.items(), results, strict=False):
        failure = failure_of(result)
        assert failure["exit_code"] == 87, given
        assert words in failure["message"]
        assert failure["details"] == [f"  {places / 'runs'}", f"  {reports}"]
        assert "prof mcp --reports FOLDER" in failure["remedy"]
    assert [result.is_error for result in results[len(refused) :]] == [False] * len(read)


def test_a_folder_means_the_reports_in_it_that_lead_nowhere_else(ask, places, reports):
    """As for `prof show`: of one report all about it, and of several, all their kernels."""
    given = {"runs": places / "runs", "reports": [places / "reports"]}
    (places / "reports" / "inner.ncu-rep").unlink()
    (alone, outside) = ask(("show", {"source": "."}), ("show", {"source": str(places / "private")}), **given)
    assert [one["launches"] for one in alone.structured_content["kernels"]] == [2]
    assert failure_of(outside)["exit_code"] == 87
    shutil.copy(reports / "gemm_5.ncu-rep", places / "reports")
    for source in (
        str(places / "reports"),
        "./",
        [".", "own.ncu-rep"],
        [str(places / "reports"), "own.ncu-rep"],
    ):
        (several,) = ask(("show", {"source": source}), **given)
        names = [one["source"].rpartition("/")[2] for one in several.structured_content["index"]]
        assert names == ["gemm_5.ncu-rep", "own.ncu-rep"]


def test_a_folder_of_more_reports_than_one_call_shows_is_refused(ask, places, reports):
    for number in range(201):
        (places / "reports" / f"{number}.ncu-rep").hardlink_to(places / "reports" / "own.ncu-rep")
    (result,) = ask(("show", {"source": "."}), runs=places / "runs", reports=[places / "reports"])
    assert failure_of(result)["message"] == "show: these are 202 recordings, and one call shows 200 at most"


def test_a_relative_path_is_taken_from_the_folders_named_at_start_up(ask, places):
    read = ["own.ncu-rep", "inner.ncu-rep", "./own.ncu-rep"]
    refused = ["link.ncu-rep", "folder/secret.ncu-rep", "../private/secret.ncu-rep", "folder/none.ncu-rep"]
    results = ask(
        *(("show", {"source": one}) for one in [*read, *refused, "none.ncu-rep"]),
        runs=places / "runs", reports=[places / "reports"], cwd=places / "elsewhere",
    )  # fmt: skip
    assert [result.is_error for result in results[:3]] == [False] * 3
    assert [failure_of(result)["exit_code"] for result in results[3:]] == [87] * 4 + [11]
    assert "reports/none.ncu-rep: no such file; " in failure_of(results[-1])["message"]


@pytest.mark.slow
def test_each_report_of_two_folders_is_listed_under_a_name_that_means_it(ask, places, reports):
    for folder in ("reports", "more"):
        (places / folder / "deep").mkdir(parents=True)
        shutil.copy(reports / "range.ncu-rep", places / folder / "deep" / "same.ncu-rep")
    shutil.copy(reports / "gemm_5.ncu-rep", places / "more" / "new.ncu-rep")
    given = {"runs": places / "runs", "reports": [places / "reports", places / "more"]}
    (listed,) = ask(("list", {}), **given)
    names = listed.structured_content["reports"]
    assert names[0] == "new.ncu-rep", "the newest first"
    assert not any("link" in name or "secret" in name for name in names)
    assert "deep/same.ncu-rep" in names
    assert str(places / "more" / "deep" / "same.ncu-rep") in names
    reach = Reach.of(places / "runs", [places / "reports", places / "more"])
    meant = [Path(reach.locate(name)).resolve() for name in names]
    assert len(meant) == len(set(meant)) == 4
    shown = ask(*(("show", {"source": name}) for name in names), **given)
    assert not any(result.is_error for result in shown)


@pytest.mark.slow
def test_the_reports_of_a_large_folder_leave_the_list_short(ask, places):
    for number in range(2000):
        (places / "private" / f"{number:0100}.ncu-rep").touch()
    (listed,) = ask(("list", {}), runs=places / "runs", reports=[places / "private"])
    assert len(text_of(listed)) <= 8000
    assert listed.structured_content["left_out"]["reports"] > 1900


def test_a_folder_of_reports_that_is_not_there_is_misspelt(prof_here, tmp_path):
    result = prof_here("mcp", "--reports", tmp_path / "none")
    assert result.returncode == 2
    assert "no such folder" in result.stderr


def test_without_the_option_reports_are_read_below_the_current_folder(ask, places):
    own, other = ask(
        ("show", {"source": "own.ncu-rep"}),
        ("show", {"source": "../private/secret.ncu-rep"}),
        runs=places / "runs", cwd=places / "reports", apart=True,
    )  # fmt: skip
    assert not own.is_error
    assert failure_of(other)["exit_code"] == 87


def test_a_path_out_of_one_folder_into_the_next_is_outside(ask, places):
    """Relative to the runs, which lie in the folder of the reports, it would mean a file beside them."""
    (result,) = ask(
        ("show", {"source": "../other/x.ncu-rep"}),
        runs=places / "runs", reports=[places], cwd=places,
    )  # fmt: skip
    assert failure_of(result)["exit_code"] == 87


def test_a_folder_where_one_report_is_needed_means_the_only_one_or_is_answered_with_those_in_it(ask, places):
    given = {"runs": places / "runs", "reports": [places / "reports"]}
    for name in ("one/k", "deep/k", "deep/l"):
        (places / "reports" / name).parent.mkdir(exist_ok=True)
        shutil.copy(places / "reports" / "own.ncu-rep", places / "reports" / f"{name}.ncu-rep")
    (places / "reports" / "deep" / "link.ncu-rep").symlink_to("../../private/secret.ncu-rep")
    alone, folder, path, nothing, shown = ask(
        ("sass", {"before": "one"}),
        ("sass", {"before": "deep"}),
        ("sass", {"before": f"{places}/reports/deep/"}),
        ("show", {"source": "nothing"}),
        ("show", {"source": "deep"}),
        **given,
    )
    assert not alone.is_error
    assert not shown.is_error
    assert failure_of(folder)["remedy"] == "Give a report by its path: deep/k.ncu-rep, deep/l.ncu-rep."
    assert failure_of(path)["remedy"] == failure_of(folder)["remedy"]
    assert failure_of(nothing)["remedy"] == "`list` shows what is recorded."


def test_without_the_option_a_home_is_no_folder_of_reports(places, monkeypatch):
    monkeypatch.setenv("HOME", str(places / "reports"))
    for here in (places / "reports", places, Path("/")):
        monkeypatch.chdir(here)
        assert Reach.of(places / "runs", None).folders == (places / "runs",)
    monkeypatch.chdir(places / "private")
    assert Reach.of(places / "runs", None).folders == (places / "runs", places / "private")


def test_a_run_that_is_a_link_out_of_the_runs_is_not_opened(ask, places):
    by_name, listed, by_path = ask(
        ("show", {"source": "gemm-6"}),
        ("list", {"name": "gemm-6"}),
        ("show", {"source": str(next((places / "runs").iterdir()))}),
        runs=places / "runs", cwd=places / "reports",
    )  # fmt: skip
    assert "leads out of" in failure_of(by_name)["message"]
    assert [run["origin"] for run in listed.structured_content["runs"]] == ["unreadable"]
    assert failure_of(by_path)["exit_code"] == 87


def test_a_ladder_is_read_by_its_name_or_within_reach_alone(ask, places):
    outside = places / "private" / "ladder.toml"
    outside.write_text("password = 'secret'\n")
    (places / "reports" / "ladder.toml").symlink_to(outside)
    calls = [("ladder", {"ladder": one}) for one in (str(outside), "./ladder.toml", str(places / "reports"))]
    for result in ask(*calls, runs=places / "runs", cwd=places / "reports"):
        assert failure_of(result)["exit_code"] == 87
        assert "password" not in text_of(result)


@pytest.fixture
def foreign_run(recorded, tmp_path):
    """A folder with one run whose manifest can be changed, and a ladder file outside it that holds a secret."""
    run = RunStore(recorded.root).find("gemm-6", "gemm")
    folder = tmp_path / "runs" / run.path.name
    shutil.copytree(run.path, folder)
    ladder = tmp_path / "ladder.toml"
    ladder.write_text("password = 'secret'\n")

    def change(manifest):
        (folder / "run.json").write_bytes(sealed(json.dumps(manifest).encode()))

    return SimpleNamespace(
        folder=folder, ladder=ladder, manifest=json.loads((folder / "run.json").read_text()), change=change
    )


def test_a_run_cannot_have_a_ladder_of_its_choice_opened(ask, foreign_run):
    foreign_run.change({**foreign_run.manifest, "ladder": str(foreign_run.ladder)})
    run_id = foreign_run.manifest["run_id"]
    (result,) = ask(("show", {"source": run_id}), runs=foreign_run.folder.parent, cwd=foreign_run.folder)
    assert failure_of(result)["exit_code"] == 22
    assert "secret" not in text_of(result)


def test_a_run_cannot_have_a_report_of_its_choice_opened(ask, foreign_run):
    first, *others = foreign_run.manifest["reports"]
    elsewhere = {**first, "file": None, "reference": str(foreign_run.ladder)}
    foreign_run.change({**foreign_run.manifest, "reports": [elsewhere, *others]})
    run_id = foreign_run.manifest["run_id"]
    (result,) = ask(("show", {"source": run_id}), runs=foreign_run.folder.parent, cwd=foreign_run.folder)
    assert not result.is_error, text_of(result)
    assert "secret" not in text_of(result)


@pytest.mark.parametrize("pattern", ["(.*)*(.*)*(.*)*(.*)*(.*)*Q", "(a|b|[a-z_0-9])*(a|b|[a-z_0-9])*!"])
def test_no_kernel_name_keeps_it_busy(ask, pattern):
    started = time.monotonic()
    shown, sought = ask(
        ("show", {"source": 6, "kernel_name": pattern}), ("list", {"name": "*[a-z]" * 30 + "Q"})
    )
    assert time.monotonic() - started < 20
    assert [failure_of(shown)["exit_code"], failure_of(sought)["exit_code"]] == [33, 21]


def test_a_reference_that_no_path_can_be_is_no_bug(ask):
    for result in ask(*(("show", {"source": source}) for source in ("a\0b", "a/\0b", "a\0.ncu-rep"))):
        assert failure_of(result)["exit_code"] in (21, 87)


def test_overlong_references_are_refused(ask):
    for result in ask(
        ("show", {"source": "x" * 5000}), ("list", {"name": "[a" * 2500}), ("list", {"name": "[a" * 500})
    ):
        assert failure_of(result)["exit_code"] in (2, 21)


# The wire


def start(runs):
    return subprocess.Popen(
        [sys.executable, "-c", START, "--runs", str(runs), "mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def send(server, *messages):
    server.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages).encode())
    server.stdin.flush()


HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@contextmanager
def greeted(runs):
    """A server that has answered the first message."""
    with start(runs) as server:
        send(server, HELLO, READY)
        server.stdout.readline()
        yield server


def call(number, tool, **arguments):
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


def test_standard_output_is_the_protocol_and_nothing_else_and_its_end_ends_the_server(recorded, reports):
    with start(recorded.root) as server:
        send(
            server,
            HELLO,
            READY,
            call(1, "show", source=str(reports / "range.ncu-rep")),
            call(2, "show", source=99),
        )
        answers = [json.loads(server.stdout.readline()) for _ in range(3)]
        out, err = server.communicate(timeout=60)
    assert sorted(one["id"] for one in answers) == [0, 1, 2]
    assert all(one["jsonrpc"] == "2.0" for one in answers)
    assert (out, err, server.returncode) == (b"", b"", 0)


def test_without_a_client_it_ends_at_once(recorded):
    with start(recorded.root) as server:
        assert (*server.communicate(timeout=60), server.returncode) == (b"", b"", 0)


@pytest.mark.slow
def test_it_ends_although_a_call_hangs(tmp_path):
    """Reading the manifest of this run never ends: it is a pipe that nobody writes to."""
    run = tmp_path / "runs" / f"20260101t000000z-stuck-{'a' * 12}"
    run.mkdir(parents=True)
    os.mkfifo(run / "run.json")
    with greeted(run.parent) as server:
        send(server, call(1, "show", source="stuck"), call(2, "show", source="stuck"))
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(timeout=2)
        server.stdin.close()
        try:
            assert server.wait(timeout=60) == 0
            assert server.stderr.read() == b""
        finally:
            server.kill()


@pytest.mark.slow
def test_it_ends_although_its_answers_are_not_read(recorded):
    with greeted(recorded.root) as server:
        send(server, *(call(number, "show", source=6, full=True) for number in range(1, 9)))
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(timeout=5)  # time enough for more than a pipe holds
        server.stdin.close()
        try:
            assert server.wait(timeout=60) == 0
        finally:
            server.kill()


def test_it_ends_although_a_call_is_under_way(recorded, reports):
    with greeted(recorded.root) as server:
        send(server, call(1, "show", source=str(reports / "gemm_6.ncu-rep")))
        _, err = server.communicate(timeout=60)
    assert (err, server.returncode) == (b"", 0)


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux", reason="the processes that a process has started stand in Linux's /proc"
)
@pytest.mark.usefixtures("every_report_is_read")
def test_it_ends_quietly_although_its_reader_hangs(recorded, reports):
    """Python warns of semaphores that a process leaves behind."""
    with greeted(recorded.root) as server:
        send(server, call(1, "show", source=str(reports / "gemm_6.ncu-rep")))
        patience = time.monotonic() + 60
        while not (readers := spawned_by(server.pid)):
            assert server.poll() is None
            assert time.monotonic() < patience, "no process reads the report"
            time.sleep(0.001)
        for pid in readers:
            os.kill(pid, signal.SIGSTOP)
        server.stdin.close()
        try:
            assert server.wait(timeout=60) == 0
        finally:
            for pid in readers:
                os.kill(pid, signal.SIGKILL)
        assert server.stderr.read() == b""


def test_an_interrupt_ends_it_although_it_waits_for_input(recorded):
    with start(recorded.root) as server:
        send(server, HELLO)
        server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=60) == 130
        assert b"Traceback" not in server.stderr.read()


def test_a_client_that_is_gone_ends_it_quietly(recorded):
    with greeted(recorded.root) as server:
        server.stdout.close()
        send(server, call(1, "list"))
        server.stdin.close()
        assert server.wait(timeout=60) in (0, 141)
        assert server.stderr.read() == b""


def test_an_invalid_message_is_answered_with_an_error_and_does_not_end_the_server(recorded):
    with start(recorded.root) as server:
        send(server, HELLO, READY)
        server.stdin.write(b"this is no message\n{}\n[1]\n\xff\xfe\n")
        send(server, call(1, "list", name="gemm-6"))
        answers = [json.loads(server.stdout.readline()) for _ in range(6)]
        _, errors = server.communicate(timeout=60)
    assert sorted(one["id"] for one in answers if "result" in one) == [0, 1]
    refused = [(one["id"], one["error"]["code"]) for one in answers if "error" in one]
    assert refused == [(None, -32700), (None, -32600), (None, -32600), (None, -32700)]
    assert errors == b""


# Without the SDK


def test_without_the_sdk_it_is_one_error_with_the_command_that_brings_it(tmp_path):
    (tmp_path / "mcp_types.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp_types'\")\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", START, "mcp"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
    )
    assert (result.returncode, result.stdout) == (86, "")
    assert "pip install 'ncu-prof[mcp]'" in result.stderr
    assert "Traceback" not in result.stderr
