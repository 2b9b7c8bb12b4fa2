"""The JSON of the verbs that answer questions: 8 KB unless all is asked for, by one published schema."""

import json

import jsonschema
import pytest

from profiler.ask.listing import list_stored
from profiler.ask.named.settings import Settings
from profiler.catalog.ladders.ladder import find_ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import LadderNotFound

COMMANDS = [
    "compare 5 6",
    "compare 5 5 --all",
    "show 6",
    "show gemm-6-timed",
    "ladder",
    "sass 5 6",
    "sass 9",
    # Other recordings of the same kinds:
    *(
        pytest.param(command, marks=pytest.mark.campaign)
        for command in (
            "compare 4 10",
            "compare textbook-5 textbook-6",
            "show gemm-6-source",
            "ladder --size 8192",
            "sass gemm-5-source gemm-6-source",
        )
    ),
]


@pytest.fixture
def answer(prof_here, shipped_runs):
    def run(command):
        result = prof_here("--runs", shipped_runs.root, *command.split())
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_8_kb_at_most_and_all_of_it_with_full_and_one_schema_holds_for_both(answer, command):
    verb = command.split()[0]
    schema = json.loads(answer(f"{verb} --schema{' --all' if '--all' in command else ''}"))
    jsonschema.Draft202012Validator.check_schema(schema)
    short = answer(f"{command} --format json")
    assert len(short) <= 8000
    full = json.loads(answer(f"{command} --format json --full"))
    for found in (json.loads(short), full):
        jsonschema.validate(found, schema)
        assert found["schema_version"] == 1
    assert full["left_out"] == {}


def test_the_short_form_of_a_thousand_names_is_as_short(prof_here, hostile_store):
    for command in ("compare before after --all", "show before", "show after -k quotes"):
        result = prof_here("--runs", hostile_store.root, *command.split(), "--format", "json")
        assert result.returncode == 0
        assert len(result.stdout) <= 8000


def test_a_listing_has_a_ladder_where_there_is_one_and_misses_one_that_was_asked_for(
    recorded, store, tmp_path, monkeypatch
):
    """Here or beside the runs: those of the tests lie beside none."""
    settings = Settings(runs=recorded.root, ladder="gemm", ladder_given=False)
    rungs = [kernel.number for kernel in read_ladder(find_ladder("gemm", recorded.root)).kernels]
    assert [kernel["kernel"] for kernel in list_stored(settings, None).kernels] == rungs
    monkeypatch.chdir(tmp_path)
    assert [kernel["kernel"] for kernel in list_stored(settings, None).kernels] == rungs
    alone = Settings(runs=store.root, ladder="gemm", ladder_given=False)
    assert list_stored(alone, None).kernels == []
    assert list_stored(alone, None).runs != []
    with pytest.raises(LadderNotFound):
        list_stored(Settings(runs=recorded.root, ladder="none", ladder_given=True), None)


def test_a_listing_of_a_ladder_that_only_runs_know_has_its_runs_and_no_kernels(recorded):
    settings = Settings(runs=recorded.root, ladder="textbook", ladder_given=True)
    everything = list_stored(settings, None)
    assert (everything.ladder, everything.kernels) == (None, [])
    assert [run["name"] for run in everything.runs] == ["textbook-6", "textbook-5"]
    assert [run["name"] for run in list_stored(settings, "5").runs] == ["textbook-5"]
