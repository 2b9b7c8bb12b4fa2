"""Readers that are forked find the machine code that another has read, and it is what they would have read."""

import os
from types import SimpleNamespace

import code_once
import pytest

from profiler.store.reports.request import Omitted
from profiler.store.runs.run_store import RunStore


@pytest.mark.slow
def test_what_is_found_is_what_a_reader_reads_itself(prof, reports, tmp_path):
    def ingested(name, **environment):
        done = prof(
            "--runs", tmp_path / name, "ingest", reports / "several.ncu-rep", env={**os.environ, **environment}
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        runs = RunStore(tmp_path / name)
        (run_id,) = runs.ids()
        return {table: stored.sha256 for table, stored in runs.open(run_id).manifest.tables.items()}

    read = ingested("read", **code_once.READ_AGAIN)
    assert ingested("first") == ingested("found") == read


def test_the_same_code_is_read_once_unless_it_shall_be_read_again(store, tmp_path, monkeypatch):
    run_id = store.ids()[0]
    table = store.open(run_id).table("instructions")
    assert table.num_rows
    report = SimpleNamespace(plain=tmp_path / "report")
    report.plain.write_bytes(b"a report")
    reads = []

    def read(files, run_id, omitted):
        reads.append(run_id)
        return {"instructions": table}

    find = code_once.once(tmp_path, read)
    assert find([report], str(run_id), Omitted.NOTHING)["instructions"] is table
    assert find([report], str(run_id), Omitted.NOTHING)["instructions"].equals(table)
    other = find([report], "another", Omitted.NOTHING)["instructions"]
    assert set(other.column("run_id").to_pylist()) == {"another"}
    assert other.schema.equals(table.schema)
    assert len(reads) == 1
    find([report], "with less", Omitted.GRAPH_CODE)
    find([report, report], "two reports", Omitted.NOTHING)
    report.plain.write_bytes(b"another report")
    find([report], "of another report", Omitted.NOTHING)
    monkeypatch.setenv(*next(iter(code_once.READ_AGAIN.items())))
    find([report], "again", Omitted.NOTHING)
    assert reads[1:] == ["with less", "two reports", "of another report", "again"]


@pytest.mark.parametrize("tables", [{}, {"instructions": None}], ids=["no reader of code here", "it failed"])
def test_what_was_not_read_is_not_kept(tables, tmp_path):
    report = SimpleNamespace(plain=tmp_path / "report")
    report.plain.write_bytes(b"a report")
    kept = tmp_path / "kept"
    kept.mkdir()

    def read(*_):
        if tables:
            raise EOFError
        return tables

    find = code_once.once(kept, read)
    for _ in range(2):
        if tables:
            with pytest.raises(EOFError):
                find([report], "run", Omitted.NOTHING)
        else:
            assert find([report], "run", Omitted.NOTHING) == {}
    assert not list(kept.iterdir())
