"""PackPublisher runs: every answer stays, nothing is lost or doubled, and what is packed well is left alone."""

import hashlib
import json
import shutil
import struct
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event
from unittest.mock import patch

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from profiler.errors import CompactBusy, ProfError, RunDamaged
from profiler.store.packs.compact import MOST_RUNS, alone, compact, plan_packs
from profiler.store.packs.joined_parquet import read_footer
from profiler.store.packs.layout import PackedFiles, is_pack, pack_name
from profiler.store.packs.publish import publisher_for, stored_files
from profiler.store.packs.write import add_to_one
from profiler.store.runs.commit import Staging
from profiler.store.runs.file_names import table_file
from profiler.store.runs.manifest import Manifest, StoredReport, write_manifest
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.seal import sealed
from profiler.store.tables.schema import TABLES
from profiler.store.tables.thrift import encode_struct
from tests.store.sql import run_query

NAMES = count()
FEW = 9  # runs; the fewest that are packed are eight


@pytest.fixture
def make_runs(make_run, tmp_path):
    """`make_runs(count)`: so many small runs, each with a report, in a new folder or added to one."""

    def make(count, root=tmp_path / "runs", start=0):
        for number in range(start, start + count):
            report = f"report {number}".encode()
            launch = {"kernel": f"k{number}", "metrics": {"m": float(number)}, "opcodes": {"LDS": number}}
            run = make_run(launch, name=f"name-{number}", root=root, timings=[1.0] * (number % 3))
            stored = StoredReport(hashlib.sha256(report).hexdigest(), len(report), file="report.ncu-rep.zst")
            manifest = replace(run.manifest, reports=[stored], content_sha256=run.manifest.sha256)
            write_manifest(manifest, run.path)
            (run.path / "report.ncu-rep.zst").write_bytes(report)
        return RunStore(root)

    return make


@pytest.fixture(params=["folder", "memory"])
def store(request, make_runs):
    """Nine runs, in a folder or at a URL."""
    store = make_runs(FEW)
    return store if request.param == "folder" else at_url(store, f"memory://packed-{next(NAMES)}")


@pytest.fixture(autouse=True)
def readers_of_memory_apart(monkeypatch):
    """Gives each reader of a memory:// file its own copy: fsspec gives all the same one, with one position."""
    opened = MemoryFileSystem._open  # private: what its own readers and writers open

    def open_apart(system, path, mode="rb", **options):
        file = opened(system, path, mode, **options)
        return MemoryFile(system, path, file.getvalue()) if mode == "rb" else file

    monkeypatch.setattr(MemoryFileSystem, "_open", open_apart)  # private: as above


def at_url(store, url):
    system, prefix = fsspec.core.url_to_fs(url)
    system.put(f"{store.root}/", f"{prefix}/", recursive=True)
    return RunStore(url)


def contents(location):
    """Every run: its manifest, the very bytes of its tables, and its reports."""
    store = RunStore(location)
    found = {}
    for run in store.open_all(store.ids()):
        run.verify()
        tables = {table: run.table_bytes(table) for table in TABLES}
        reports = [run.report_path(report).read_bytes() for report in run.manifest.reports if report.file]
        found[run.manifest.run_id] = (run.manifest, tables, reports)
    return found


def packed(store, most_runs=MOST_RUNS, **options):
    with patch("profiler.store.packs.compact.MOST_RUNS", most_runs):
        compact(store, plan_packs(store, **options))
    store = RunStore(store.place.root)
    store.ids()
    return store


def loose(store):
    store.ids()
    return store.index.folders


# Nothing changes


@pytest.fixture(scope="module")
def everything(once, recorded):
    """The runs that the repository ships, and the same packed."""

    def pack(folder):
        shutil.copytree(recorded.root, folder / "runs")
        packed(RunStore(folder / "runs"))

    return recorded, RunStore(once("packed", pack) / "runs")


@pytest.mark.slow
def test_every_table_of_every_run_is_the_same_to_the_byte(everything):
    before, after = everything
    assert after.ids() == before.ids()
    assert loose(after) == []
    for here, there in zip(before.open_all(before.ids()), after.open_all(after.ids()), strict=True):
        assert there.manifest == here.manifest
        assert all(there.table_bytes(table) == here.table_bytes(table) for table in TABLES)
        there.verify_reports()


def test_a_table_that_is_read_from_a_pack_equals_the_one_that_was_stored(everything):
    before, after = everything
    for name in ("textbook-5", "5", "gemm-7-timed"):
        here, there = before.find(name, "gemm"), after.find(name, "gemm")
        assert all(there.table(table).equals(here.table(table), check_metadata=True) for table in TABLES)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"], ["list", "gemm-5*"], ["show", "6"], ["compare", "5", "6"], ["sass", "5", "6"], ["ladder"],
        ["compare", "textbook-5", "textbook-6", "--format", "json", "--full"],
        ["query", "select run_id, metric, value from metrics where metric like '%issue_active.avg%'"],
        ["query", "select * from runs"],
        ["query", "select run_id, count(*), max(kernel_ns), min(kernel_ns) from timings group by 1 order by 1"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_answer_is_the_same(everything, prof_here, arguments):
    before, after = (prof_here("--runs", store.root, *arguments) for store in everything)
    assert (before.returncode, after.returncode) == (0, 0)
    assert after.stdout == before.stdout


@pytest.mark.slow
def test_the_page_is_the_same(everything, prof_here, drawing, tmp_path):
    pages = []
    for number, store in enumerate(everything):
        page = tmp_path / str(number) / "page.html"
        page.parent.mkdir()
        assert (
            prof_here("--runs", store.root, "report", "textbook-5", "textbook-6", "-o", page).returncode == 0
        )
        pages.append(page.read_text())
    assert pages[0] == pages[1]


def test_a_pack_is_few_files_that_any_reader_of_parquet_takes(everything):
    import duckdb

    before, after = everything
    (pack,) = after.root.glob("pack-*")
    assert {path.name for path in pack.iterdir()} == {
        "pack.json", "manifests.jsonl", "reports", *(f"{table}.parquet" for table in TABLES),
    }  # fmt: skip
    for table in TABLES:
        rows = duckdb.sql(f"select count(*), count(distinct run_id) from '{pack}/{table}.parquet'")
        there = duckdb.sql(f"select count(*), count(distinct run_id) from '{before.root}/*/{table}.parquet'")
        assert rows.fetchall() == there.fetchall()


VALUES = st.dictionaries(st.text(min_size=1, max_size=8), st.floats(allow_nan=False), max_size=3)
LAUNCHES = st.lists(
    st.fixed_dictionaries({"kernel": st.text(min_size=1, max_size=20), "metrics": VALUES, "opcodes": VALUES}),
    max_size=3,
)


@pytest.mark.slow
@given(st.lists(LAUNCHES, min_size=8, max_size=12), st.integers(1, 12))
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_the_runs_hold_packing_loses_nothing(make_run, tmp_path_factory, runs, size):
    root = tmp_path_factory.mktemp("made") / "runs"
    for number, launches in enumerate(runs):
        make_run(*launches, name=f"run-{number}", root=root, program=repr(launches))
    before = contents(root)
    assert contents(packed(RunStore(root), size).root) == before


def test_a_manifest_keeps_what_this_version_does_not_know(make_runs):
    store = make_runs(FEW)
    path = store.root / str(store.ids()[0]) / "run.json"
    made = json.loads(path.read_text()) | {"from_the_future": [1, {"a": None}]}
    path.write_bytes(sealed(json.dumps(made).encode()))
    before = json.loads(path.read_text())
    store = packed(store)
    assert json.loads(store.open(store.ids()[0]).written) == before


def test_a_run_in_a_pack_is_named_by_the_path_it_had(everything, prof_here):
    ids = [everything[0].find(name, "gemm").manifest.run_id for name in ("textbook-5", "textbook-6")]
    here, there = (
        prof_here("compare", *(store.root / run_id for run_id in ids)).stdout for store in everything
    )
    assert there == here != ""


def test_the_doctor_searches_the_reports_in_a_pack(everything):
    from profiler.measuring.doctor.folders import check_private_paths

    before, after = everything
    assert check_private_paths(after.local) == check_private_paths(before.local)
    assert "stored reports" in check_private_paths(after.local).found


# Where it works, and what it leaves


def test_runs_go_into_packs_and_their_folders_are_gone(store):
    before = contents(store.place.root)
    after = packed(store)
    assert contents(after.place.root) == before
    assert (loose(after), len(after.packs)) == ([], 1)
    assert len(stored_files(after.place)) == 8 + FEW  # the pack's own, and each report


@pytest.mark.slow
def test_a_bucket_is_packed(make_runs, s3):
    """A real S3 server, where files are removed and copied by requests of its own kinds."""
    store = at_url(make_runs(FEW), s3())
    before = contents(store.root)
    after = packed(store, 5)
    assert contents(after.root) == before
    assert (loose(after), len(after.packs)) == ([], 2)
    assert len(after.place.files()) == 2 * 8 + FEW


def test_a_pack_that_is_full_is_closed(store):
    before = contents(store.place.root)
    after = packed(store, 4)
    assert sorted(len(pack.index.runs) for pack in after.packs) == [1, 4, 4]
    assert contents(after.place.root) == before


def test_well_packed_runs_are_not_packed_again(store):
    after = packed(store)
    files = stored_files(after.place)
    plan = plan_packs(after)
    assert (plan.runs, plan.absorbed, plan.redundant) == ([], [], [])
    compact(after, plan)
    assert stored_files(after.place) == files


def test_a_few_runs_are_not_worth_a_pack(make_runs):
    assert plan_packs(make_runs(7)).runs == []


@pytest.mark.slow
def test_a_small_pack_goes_along_with_at_least_as_many_other_runs(make_runs):
    store = packed(make_runs(20))
    assert plan_packs(make_runs(10, start=20)).absorbed == []
    store = packed(make_runs(0))
    # in any order: packs of one second are listed by their hashes
    assert sorted(len(pack.index.runs) for pack in store.packs) == [10, 20]
    before = contents(make_runs(12, start=30).root)
    store = packed(make_runs(0))
    store.ids()
    assert [len(pack.index.runs) for pack in store.packs] == [42]
    assert contents(store.root) == before


def test_only_what_is_old_enough_is_packed(make_runs):
    store = make_runs(FEW)  # all of 1 January 2026
    assert plan_packs(store, older_than_days=100_000).runs == []
    assert len(plan_packs(store, older_than_days=1).runs) == FEW


def test_runs_of_an_older_schema_get_a_pack_of_their_own(make_runs):
    """Their tables have other columns, so they cannot share a file."""
    import pyarrow.parquet as pq

    store = make_runs(FEW)
    run_id = store.ids()[3]
    folder = store.root / str(run_id)
    table = pq.read_table(folder / "timings.parquet").drop(["best_ns"])
    pq.write_table(table.replace_schema_metadata({"schema_version": "3"}), folder / "timings.parquet")
    manifest = json.loads((folder / "run.json").read_text())
    manifest["tables"]["timings"]["sha256"] = hashlib.sha256(
        (folder / "timings.parquet").read_bytes()
    ).hexdigest()
    (folder / "run.json").write_bytes(sealed(json.dumps(manifest).encode()))
    before = contents(store.root)
    after = packed(store)
    assert contents(after.root) == before
    assert sorted(len(pack.index.runs) for pack in after.packs) == [1, FEW - 1]
    assert "best_ns" in after.open(run_id).table("timings").column_names


# Beside others


def test_whoever_found_a_run_before_it_was_packed_reads_on(store):
    reader = RunStore(store.place.root)
    ids = reader.ids()
    first, second = reader.open(ids[0]), reader.open(ids[1])
    first.table("metrics")
    packed(store)
    assert first.table("launches").num_rows == 1
    second.verify()
    assert reader.open(ids[2]).table("metrics").num_rows == 1


@pytest.mark.slow
def test_whoever_found_a_run_in_a_pack_that_gave_way_reads_on(make_runs):
    store = packed(make_runs(FEW))
    reader = RunStore(store.root)
    run = reader.open(reader.ids()[0])
    packed(make_runs(20, start=FEW))
    assert len(list(store.root.glob("pack-*"))) == 1
    run.verify()
    assert reader.open(reader.ids()[1]).table("metrics").num_rows == 1


def test_a_run_that_is_committed_during_packing_is_neither_lost_nor_packed(store, recorded):
    source = recorded.find("textbook-5", "gemm")
    before = contents(store.place.root)

    def commit_one():
        with RunStore(store.place.root).staging() as staging:
            folder = staging.folder()
            if not folder.exists():
                shutil.copytree(source.path, folder)
            staging.commit(folder, source.manifest.run_id)

    compact(store, plan_packs(store), commit_one)
    after = contents(store.place.root)
    assert after.keys() - before.keys() == {source.manifest.run_id}
    assert loose(RunStore(store.place.root)) == [source.manifest.run_id]
    assert {name: after[name] for name in before} == before


@pytest.mark.slow
def test_a_report_that_a_pack_holds_is_known(reports, prof_here, make_runs):
    store = make_runs(FEW)
    ingest = ("--runs", store.root, "ingest", reports / "range.ncu-rep")
    assert prof_here(*ingest).returncode == 0
    packed(store)
    assert prof_here(*ingest).returncode == 0
    assert len(RunStore(store.root).ids()) == FEW + 1
    assert loose(RunStore(store.root)) == []


@pytest.mark.slow
def test_a_run_in_a_pack_and_in_a_folder_counts_once_and_the_folder_goes(store, tmp_path, make_runs):
    """As a call leaves it that is killed before it removes anything."""
    before = contents(store.place.root)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "runs", copy, ignore=shutil.ignore_patterns(".*"))
    store = packed(store)
    put_back(copy, store)
    assert contents(store.place.root) == before
    assert len(loose(RunStore(store.place.root))) == FEW
    after = packed(RunStore(store.place.root))
    assert loose(after) == []
    assert len(after.packs) == 1
    assert contents(store.place.root) == before


@pytest.mark.slow
def test_a_run_in_two_packs_counts_once(store, tmp_path):
    """As two calls leave it that work at once on an object store."""
    before = contents(store.place.root)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "runs", copy, ignore=shutil.ignore_patterns(".*"))
    packed(RunStore(copy), 5)
    store = packed(store)
    put_back(copy, store)
    assert len(RunStore(store.place.root).ids()) == FEW
    assert contents(store.place.root) == before


def put_back(folder, store):
    if isinstance(store.root, Path):
        shutil.copytree(folder, store.root, dirs_exist_ok=True)
    else:
        at_url(RunStore(folder), str(store.root))


def test_one_call_at_a_time_packs_a_folder(make_runs, prof_here):
    store = make_runs(FEW)
    with alone(store.local):
        result = prof_here("--runs", store.root, "compact")
    assert result.returncode == CompactBusy.exit_code
    assert len(loose(RunStore(store.root))) == FEW


def test_whoever_reads_all_the_while_sees_every_run_at_any_moment(store):
    before, done, looks = contents(store.place.root), Event(), 0
    with ThreadPoolExecutor(1) as other:
        work = other.submit(lambda: packed(packed(store, 3)))
        work.add_done_callback(lambda _: done.set())
        while not done.is_set() or not looks:
            assert contents(store.place.root) == before
            looks += 1
        work.result()
    assert contents(store.place.root) == before


@pytest.mark.slow
def test_two_machines_that_pack_a_url_at_once_lose_nothing(make_runs, tmp_path, monkeypatch):
    """One may find that the other has moved what it was about to read; it says so, and the next call goes on."""
    monkeypatch.setattr("profiler.store.packs.compact.MOST_RUNS", 5)
    url = at_url(make_runs(12), f"memory://packed-{next(NAMES)}").root
    before = contents(url)

    def pack(machine):
        store = RunStore(url)
        store.place.local = tmp_path / str(machine)
        try:
            compact(store, plan_packs(store))
        except ProfError as error:
            return error.message
        return "done"

    with ThreadPoolExecutor(2) as machines:
        said = list(machines.map(pack, range(2)))
    assert "done" in said
    assert contents(url) == before
    after = packed(RunStore(url))
    assert contents(url) == before
    assert not any(map(after.index.pack_of, loose(after)))


@pytest.fixture
def late(make_runs, tmp_path):
    """A machine that listed the files at a URL, and the runs that another machine has packed there since."""
    store = at_url(make_runs(FEW), f"memory://packed-{next(NAMES)}")
    with Staging(tmp_path / "late") as staging:
        publisher = publisher_for(store.place, staging)
        after = packed(store)
        yield publisher, add_to_one([], after.open(after.ids()[0]), staging.folder)


def test_reports_that_another_machine_has_packed_since_are_found(late):
    publisher, writer = late
    assert all(map(publisher.has, writer.reports.values()))
    name = publisher.publish(writer)
    assert all(publisher.has(f"{name}/{report}") for report in writer.reports)


def test_a_machine_whose_reports_another_has_just_moved_says_so(late):
    publisher, writer = late
    publisher.remove([Path(source).parts[0] for source in writer.reports.values() if publisher.has(source)])
    with pytest.raises(CompactBusy, match="another prof has just moved runs that were to be packed"):
        publisher.publish(writer)


@pytest.mark.slow
def test_rows_come_in_the_order_of_the_runs_wherever_these_lie(store, make_runs, tmp_path, prof_here):
    """Without an ORDER BY: `name-10` is between `name-1` and `name-2`, and stays in a folder of its own."""
    packed(store)
    more = make_runs(3, tmp_path / "more", start=9)
    put_back(more.root, store)
    make_runs(12, tmp_path / "all")
    query = ("query", "select run_id, metric, value from metrics")
    here, there = (prof_here("--runs", root, *query).stdout for root in (tmp_path / "all", store.root))
    assert there == here
    assert "name-10" in there


def test_the_remains_of_a_killed_upload_of_a_pack_are_removed_a_day_later(make_runs):
    store = at_url(make_runs(FEW), f"memory://packed-{next(NAMES)}")
    old, young = "pack-20260101t000000z-0123456789ab", "pack-99990101t000000z-0123456789ab"
    for name in (old, young):
        store.place.put(f"{name}/metrics.parquet", b"half")
    after = packed(store)
    names = {name.split("/")[0] for name in after.place.files()}
    assert (old in names, young in names) == (False, True)


# What is damaged


def test_a_damaged_run_stays_as_it_is_and_is_named(make_runs, prof_here):
    store = make_runs(FEW + 1)
    damaged, gone = (store.root / str(run_id) for run_id in store.ids()[:2])
    (damaged / "metrics.parquet").write_bytes(b"changed")
    (gone / "report.ncu-rep.zst").unlink()
    result = prof_here("--runs", store.root, "compact")
    assert result.returncode == 0
    assert "metrics.parquet: the table is not the one recorded" in result.stderr
    assert "report.ncu-rep.zst: the run's report is not there" in result.stderr
    assert sorted(loose(RunStore(store.root))) == sorted([damaged.name, gone.name])


def forge(pack, index):
    """Write an index that somebody else made, with the hash that it needs."""
    data = json.dumps(index).encode()
    (pack / "pack.json").write_bytes(data)
    pack.rename(pack.with_name(pack_name(pack.name.split("-")[1], data)))


def test_lines_of_a_pack_that_overlap_are_refused(make_runs):
    """A million runs in an index that share one long line would take a million times its memory."""
    store = packed(make_runs(FEW))
    (pack,) = store.root.glob("pack-*")
    index = json.loads((pack / "pack.json").read_bytes())
    forge(pack, index | {"runs": dict.fromkeys(index["runs"], min(index["runs"].values()))})

    again = RunStore(store.root)
    assert again.ids() == []
    with pytest.raises(RunDamaged, match="its lines overlap"):
        again.require_whole()


@pytest.mark.parametrize("first_group", [-8, 1000, 1 << 40])
def test_row_groups_of_a_pack_that_are_not_there_are_one_damaged_run(make_runs, first_group):
    store = packed(make_runs(FEW))
    (pack,) = store.root.glob("pack-*")
    index, (*lines, last) = json.loads((pack / "pack.json").read_bytes()), read_lines(pack)
    run_id = max(index["runs"], key=index["runs"].get)
    changed = json.loads(last)
    changed["tables"]["metrics"][2] = first_group
    last = json.dumps(changed).encode() + b"\n"
    index["runs"][run_id][1:] = [len(last), hashlib.sha256(last).hexdigest()]
    (pack / "manifests.jsonl").write_bytes(b"".join([*lines, last]))
    forge(pack, index)

    again = RunStore(store.root)
    assert len(run_query(again, "select distinct run_id from metrics")[1]) == FEW - 1
    assert list(again.left_out) == [run_id]


def read_lines(pack):
    return (pack / "manifests.jsonl").read_bytes().splitlines(keepends=True)


def bloom_filter_at_a_text(data):
    """The offset of a Bloom filter is a text: Arrow ignores it, and no offset can be added to it."""
    footer = read_footer(data)
    for group in footer[4][1][1]:  # the numbers are those of parquet.thrift
        for chunk in group[1][1][1]:
            chunk[3][1][14] = (8, b"text")
    out = encode_struct(footer)
    return data[: -8 - int.from_bytes(data[-8:-4], "little")] + out + struct.pack("<I", len(out)) + b"PAR1"


@pytest.mark.parametrize(
    "odd",
    [
        lambda _: b"no table",
        lambda _: b"PAR1\x00\x01\x00\x00\x00PAR1",
        lambda _: b"PAR1\x15" + b"\xff" * 99 + b"\x00\x00" + struct.pack("<I", 102) + b"PAR1",
        bloom_filter_at_a_text,
    ],
    ids=["no Parquet", "an empty footer", "a number without end", "an offset that is text"],
)
def test_a_table_that_cannot_be_read_never_gets_into_a_pack(make_runs, odd):
    """Its hash is right, because somebody made it so. In a pack, it would take the tables of all other runs with it."""
    store = make_runs(FEW + 1)
    run = store.open(store.ids()[3])
    stored = run.manifest.tables["metrics"]
    data = odd((run.path / stored.file).read_bytes())
    (run.path / stored.file).write_bytes(data)
    table = replace(stored, sha256=hashlib.sha256(data).hexdigest())
    write_manifest(replace(run.manifest, tables=run.manifest.tables | {"metrics": table}), run.path)

    done = compact(store, plan_packs(store))
    assert (done.packed, len(done.damaged)) == (FEW, 1)
    assert isinstance(done.damaged[0], RunDamaged)
    assert (run.path / stored.file).read_bytes() == data
    again = RunStore(store.root)
    assert len(run_query(again, "select distinct run_id from metrics")[1]) >= FEW


@pytest.mark.parametrize("file", ["pack.json", "manifests.jsonl", "metrics.parquet"])
def test_no_byte_of_a_pack_can_change_unseen(make_runs, file):
    store = packed(make_runs(FEW))
    (path,) = store.root.glob(f"pack-*/{file}")
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(RunDamaged, match="not the one"):
            read_all_of(store.root)
    path.write_bytes(whole)
    read_all_of(store.root)


def read_all_of(root):
    """Every run alone, and the pack as a whole, as `prof query` takes it."""
    store = RunStore(root)
    for run_id in store.ids():
        store.open(run_id).verify()
    store.require_whole()
    for table in TABLES:
        store.packs[0].verified_file(table_file(table))


def test_a_report_in_a_pack_that_changed_is_refused(make_runs):
    store = packed(make_runs(FEW))
    for path in store.root.glob("pack-*/reports/*"):
        path.write_bytes(b"changed")
    with pytest.raises(RunDamaged, match="the run's report is not the one recorded"):
        store.open(store.ids()[0]).verify_reports()


def test_a_folder_is_not_removed_where_the_pack_that_holds_its_run_is_damaged(make_runs, tmp_path):
    store = make_runs(FEW)
    shutil.copytree(store.root, tmp_path / "copy")
    store = packed(store)
    put_back(tmp_path / "copy", store)
    (path,) = store.root.glob("pack-*/metrics.parquet")
    path.write_bytes(bytes(path.stat().st_size))
    assert len(compact(RunStore(store.root), plan_packs(RunStore(store.root))).damaged) == FEW
    assert len(loose(RunStore(store.root))) == FEW


# What others make of it


def test_a_pack_is_no_run(make_runs):
    """So that a version of prof that knows no packs passes it by."""
    store = packed(make_runs(FEW))
    (pack,) = (path.name for path in store.root.glob("pack-*"))
    assert is_pack(pack)
    assert RunId.parse(pack) is None
    assert isinstance(store.open(store.ids()[0]).files, PackedFiles)
    assert isinstance(store.open(store.ids()[0]).manifest, Manifest)
