"""A small table that decodes to more than memory holds is refused, before anything of it is decoded."""

import hashlib
import shutil
import time
from functools import cache
from io import BytesIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from profiler.errors import RunDamaged
from profiler.store.fsck import Examined, examine_store
from profiler.store.packs.joined_parquet import JoinedFooter, read_footer
from profiler.store.runs.manifest import encode_manifest, read_manifest
from profiler.store.runs.run_store import RunStore
from profiler.store.tables import reading
from profiler.store.tables.schema import TABLES, arrow_schema
from profiler.store.tables.thrift import decode_struct
from tests.store.sql import run_query


def parquet(table):
    sink = BytesIO()
    pq.write_table(table, sink, compression="zstd", write_statistics=False)  # which take most of the time
    return sink.getvalue()


def a_million_rows(name, **columns):
    """A table whose columns hold the same value in every row, but for those given."""
    schema = arrow_schema(name)
    values = {"float64": 1.0, "int32": 0, "int64": 0, "uint64": 0}
    made = {
        field.name: pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000, pa.int32()), ["x"])
        if pa.types.is_dictionary(field.type)
        else pa.repeat(pa.scalar(values[str(field.type).replace("double", "float64")], field.type), 1_000_000)
        for field in schema
    }
    return pa.table(made | columns, schema=schema)


@cache
def equal_values_without_end():
    """The row group of a million equal rows, which the footer lists a hundred times."""
    data = parquet(a_million_rows("timings"))
    footer = JoinedFooter()
    for _ in range(100):
        footer.append(read_footer(data), 0)
    return "timings", data + footer.encode(), 10**8


@cache
def a_page_without_end():
    """One text that is long when it is decompressed."""
    text = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), ["x" * (300 << 20)])
    row = arrow_schema("rules").empty_table().to_pydict() | {
        name: ["x"] for name in ("section", "rule", "kind")
    }
    row = {name: value or [None] for name, value in row.items()} | {"run_id": ["x"], "launch": [0], "message": text}  # fmt: skip
    return "rules", parquet(pa.table(row, schema=arrow_schema("rules"))), 1


@cache
def a_list_of_one_long_text():
    """A million stall reasons with one name of a megabyte, stored once."""
    count = 1_000_000
    names = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), ["x" * (1 << 20)])
    stalls = pa.MapArray.from_arrays(
        pa.array([0, count], pa.int32()), names, pa.array([1] * count, pa.int64())
    )
    schema = arrow_schema("instructions")
    values = {"launch": 0, "function_index": 0, "index": 0, "offset": 0}
    row = {field.name: pa.array([values.get(field.name)], field.type) for field in schema}
    row |= {name: pa.array(["x"]).dictionary_encode() for name in ("run_id", "opcode", "sass")}
    typed = schema.set(schema.get_field_index("stalls"), pa.field("stalls", stalls.type))
    return "instructions", parquet(pa.table(row | {"stalls": stalls}, schema=typed)), 1


BOMBS = [equal_values_without_end, a_page_without_end, a_list_of_one_long_text]


@pytest.fixture(params=BOMBS, ids=lambda bomb: bomb.__name__)
def bombed(request, recorded, tmp_path):
    """A store of two runs, the run with the bomb, and the table that is one. Its manifest has the right hash and count."""
    name, data, rows = request.param()
    assert len(data) < 1 << 20
    ids = [str(one) for one in recorded.ids() if one.name in ("textbook-5", "textbook-6")]
    for run_id in ids:
        shutil.copytree(recorded.root / run_id, tmp_path / run_id)
    manifest = read_manifest(tmp_path / ids[0])
    table = msgspec.structs.replace(manifest.tables[name], rows=rows, sha256=hashlib.sha256(data).hexdigest())
    manifest = msgspec.structs.replace(manifest, tables=manifest.tables | {name: table})
    (tmp_path / ids[0] / table.file).write_bytes(data)
    (tmp_path / ids[0] / "run.json").write_bytes(encode_manifest(manifest))
    return RunStore(tmp_path), ids[0], name


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_is_decoded(bombed):
    store, run_id, name = bombed
    (run,) = (run for run in store.open_all(store.ids()) if run.manifest.run_id == run_id)
    started = time.process_time()

    with pytest.raises(RunDamaged, match=r"would decode to|would take more than"):
        run.table(name)
    assert time.process_time() - started < 10


def test_a_bomb_leaves_the_other_runs_to_a_query(bombed):
    store, run_id, name = bombed

    _, rows = run_query(store, f"select distinct run_id from {name}")
    assert len(rows) <= 1
    assert list(store.left_out) == [run_id]


def test_a_bomb_is_one_line_of_fsck(bombed):
    store, run_id, _ = bombed

    assert [fault.name for fault in examine_store(store, Examined()) if fault.kind == "run"] == [run_id]


def test_rows_that_were_not_recorded_are_refused(recorded, tmp_path):
    """The manifest says how many rows a table has, and a table with more is not read to find out."""
    run_id = next(str(one) for one in recorded.ids() if one.name == "textbook-5")
    shutil.copytree(recorded.root / run_id, tmp_path / run_id)
    manifest = read_manifest(tmp_path / run_id)
    others = [name for name in TABLES if name != "launches"]  # which run.json counts twice
    tables = manifest.tables | {
        name: msgspec.structs.replace(manifest.tables[name], rows=manifest.tables[name].rows + 1)
        for name in others
    }
    changed = msgspec.structs.replace(manifest, tables=tables)
    (tmp_path / run_id / "run.json").write_bytes(encode_manifest(changed))
    store = RunStore(tmp_path)

    for name in others:
        with pytest.raises(RunDamaged, match="were recorded"):
            store.open(store.ids()[0]).table(name)


def test_pages_without_end_are_refused(monkeypatch):
    """Each may be as small as its header, which takes its time to read."""
    monkeypatch.setattr(reading, "_MOST_PAGES", 5)  # private: a million would take a while
    data = parquet(a_million_rows("timings"))
    with pytest.raises(RunDamaged, match=r"a page of column .* is malformed"):
        reading.require_bounded(pq.read_metadata(BytesIO(data)), memoryview(data), 1_000_000, "timings")


@pytest.mark.parametrize("as_codes", [True, False])
def test_a_list_of_short_texts_is_read_at_once_however_many_there_are(as_codes):
    """Only a text itself says how long it is, and no page of places in the dictionary."""
    count = 1_000_000
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1] * (count // 2), pa.int32()), ["wait", "barrier"])
    stalls = pa.MapArray.from_arrays([0, count], names.cast(pa.string()), pa.repeat(1, count))
    sink = BytesIO()
    pq.write_table(pa.table({"stalls": stalls}), sink, use_dictionary=as_codes, compression="zstd")
    data = sink.getvalue()
    decoded = reading.require_bounded(pq.read_metadata(BytesIO(data)), memoryview(data), 1, "instructions")
    assert decoded.with_text > count * len("wait barrier") / 2
    assert (decoded.with_text < decoded.most) == as_codes


def test_a_number_in_a_footer_has_an_end():
    """Adding up the bits of one with a million bytes would take hours."""
    assert decode_struct(b"\x16" + b"\xff" * 9 + b"\x01\x00")[0][1][1] == -(2**63)
    with pytest.raises(ValueError, match="more than 64 bits"):
        decode_struct(b"\x16" + b"\xff" * 10 + b"\x01\x00")
