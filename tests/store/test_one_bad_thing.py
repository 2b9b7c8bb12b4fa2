"""One damaged run or pack is one line: everything else in the store still works."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from profiler.errors import RunDamaged, RunUnreadable
from profiler.measuring.doctor.folders import check_stored_runs
from profiler.store.packs.compact import compact, plan_packs
from profiler.store.packs.layout import MANIFESTS_FILE, PACK_FILE
from profiler.store.remote import upload
from profiler.store.remote.places import FolderPlace
from profiler.store.runs.manifest import write_manifest
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.seal import sealed
from tests.store.flips import flip
from tests.store.sql import run_query

DAMAGED = RunDamaged.exit_code
PACKED = "20261122t012549z"  # when the fourteen timings were recorded that the pack holds


@pytest.fixture
def pack(recorded, tmp_path):
    """The only pack of a folder: the timings of fourteen kernels."""
    for run_id in (one for one in recorded.ids() if one.time == PACKED):
        shutil.copytree(recorded.root / str(run_id), tmp_path / "runs" / str(run_id))
    store = RunStore(tmp_path / "runs")
    compact(store, plan_packs(store))
    (folder,) = store.root.glob("pack-*")
    return folder


@pytest.fixture
def loose(pack, recorded):
    """The id of a run beside the pack, in a folder of its own."""
    (run_id,) = (one for one in recorded.ids() if one.name == "textbook-5")
    shutil.copytree(recorded.root / str(run_id), pack.parent / str(run_id))
    return str(run_id)


def lose(path):
    path.unlink()


def test_many_folders_without_a_manifest_take_one_listing_and_not_one_each(tmp_path, monkeypatch):
    """Beside 20,000 of them, `prof list` took minutes."""
    for number in range(200):
        (tmp_path / f"20260101t000000z-k{number}-{number:012x}").mkdir()
    listings = []
    list_names = FolderPlace.names
    monkeypatch.setattr(FolderPlace, "names", lambda place: listings.append(1) or list_names(place))
    store = RunStore(tmp_path)
    assert list(store.manifests()) == []
    assert len(store.left_out) == 200
    assert len(listings) < 5


def test_one_damaged_run_in_a_pack_is_named_by_doctor(pack):
    assert check_stored_runs(pack.parent).state == "ok"
    flip(pack / MANIFESTS_FILE, 300)
    found = check_stored_runs(pack.parent)
    assert found.state == "failed"
    (damaged,) = (run_id for run_id in RunStore(pack.parent).ids() if str(run_id) in found.found)
    assert found.found == f"damaged: {damaged}"


@pytest.mark.parametrize("spoil", [flip, lose])
def test_a_damaged_pack_is_one_line_and_the_runs_beside_it_work(pack, loose, spoil, prof_here):
    spoil(pack / PACK_FILE)
    runs = ("--runs", pack.parent)

    listed = prof_here(*runs, "list")
    assert listed.returncode == DAMAGED
    assert loose in listed.stdout
    assert listed.stderr.count(f"{pack / PACK_FILE}: ") == 1

    shown = prof_here(*runs, "show", loose)
    assert shown.returncode == 0, shown.stderr
    compared = prof_here(*runs, "show", "textbook-5")
    assert compared.returncode == 0, compared.stderr
    assert f"left out: {pack / PACK_FILE}: " in compared.stderr

    asked = prof_here(*runs, "query", "select run_id from runs", "--format", "json")
    assert asked.returncode == DAMAGED
    assert json.loads(asked.stdout) == [{"run_id": loose}]

    for verb in (("compact",), ("compact", "--dry-run")):
        packed = prof_here(*runs, *verb)
        assert packed.returncode == 0, packed.stderr
        assert packed.stderr.count(f"left out: {pack / PACK_FILE}: ") == 1


def test_reports_are_stored_beside_a_damaged_pack(pack, reports, prof_here):
    flip(pack / PACK_FILE, 300)
    done = prof_here("--runs", pack.parent, "ingest", reports / "gemm_6.ncu-rep")
    assert done.returncode == 0, done.stderr
    assert "1 stored" in done.stderr
    assert f"left out: {pack / PACK_FILE}: " in done.stderr


def test_a_run_that_is_not_found_may_be_in_the_pack_that_is_damaged(pack, prof_here):
    flip(pack / PACK_FILE, 300)
    done = prof_here("--runs", pack.parent, "show", "gemm-3-timed")
    assert done.returncode == 21
    assert f"not searched: {pack / PACK_FILE}: " in done.stderr


def test_a_damaged_line_of_a_pack_is_one_run(pack):
    lines = (pack / "manifests.jsonl").read_bytes().splitlines(keepends=True)
    flip(pack / "manifests.jsonl", len(lines[0]) + 100)
    store = RunStore(pack.parent)
    assert len(list(store.manifests())) == 13
    (error,) = store.left_out.values()
    assert "is not the one written" in error.message


def test_a_damaged_table_of_a_pack_is_one_run_in_a_query(pack):
    whole = run_query(RunStore(pack.parent), "select run_id, count(*) from timings group by 1 order by 1")
    flip(pack / "timings.parquet", 50)  # the first run's part of the file
    store = RunStore(pack.parent)
    left = run_query(store, "select run_id, count(*) from timings group by 1 order by 1")
    assert left[1] == whole[1][1:]
    assert list(store.left_out) == [str(store.ids()[0])]


def test_a_run_that_may_not_be_read_is_one_line_and_not_called_damaged(recorded, open_folder, as_nobody):
    ids = [str(one) for one in recorded.ids() if one.name in ("gemm-5", "gemm-6")]
    for run_id in ids:
        shutil.copytree(recorded.root / run_id, open_folder / run_id)
    (open_folder / ids[0] / "run.json").chmod(0)
    store = RunStore(open_folder)
    with as_nobody():
        assert [manifest.run_id for manifest in store.manifests()] == ids[1:]
    with pytest.raises(RunUnreadable, match=r"run\.json: cannot be read: Permission denied"):
        store.require_whole()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda manifest: manifest.update(reports=[]),
        lambda manifest: manifest["reports"][0].update(bytes=10**400),
        lambda manifest: manifest["kernels"][0].update(launches=10**400),
        lambda manifest: manifest.update(workload={"m": 10**400}),
        lambda manifest: manifest.update(kernel=-5),
    ],
)
def test_an_odd_manifest_is_one_line(recorded, tmp_path, spoil, prof_here):
    names = ("gemm-5", "gemm-6")
    ids = {one.name: str(one) for one in recorded.ids() if one.name in names}
    for run_id in ids.values():
        shutil.copytree(recorded.root / run_id, tmp_path / run_id)
    path = tmp_path / ids["gemm-5"] / "run.json"
    manifest = json.loads(path.read_text())
    spoil(manifest)
    path.write_bytes(sealed(json.dumps(manifest).encode()))  # by somebody who knows how

    listed = prof_here("--runs", tmp_path, "list")
    assert listed.returncode == DAMAGED, listed.stderr
    assert f"{path}: not a valid manifest: " in listed.stderr
    assert ids["gemm-6"] in listed.stdout
    asked = prof_here("--runs", tmp_path, "query", "select name from runs", "--format", "json")
    assert asked.returncode == DAMAGED
    assert json.loads(asked.stdout) == [{"name": "gemm-6"}]
    assert prof_here("--runs", tmp_path, "show", "6").returncode == 0


def test_a_manifest_that_is_nested_too_deeply_is_one_line(recorded, tmp_path, prof_here):
    run_id = str(recorded.ids()[0])
    shutil.copytree(recorded.root / run_id, tmp_path / run_id)
    (tmp_path / run_id / "run.json").write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
    listed = prof_here("--runs", tmp_path, "list")
    assert listed.returncode == DAMAGED
    assert len(listed.stderr.splitlines()) == 2


def test_a_check_passes_nothing_that_a_damaged_run_may_hide(recorded, tmp_path, prof_here):
    """The damaged run may be the newest one, whose kernel became slower."""
    ids = [str(one) for one in recorded.ids() if one.name in ("gemm-5", "gemm-6", "gemm-7")]
    for side in ("before", "after"):
        for run_id in ids:
            shutil.copytree(recorded.root / run_id, tmp_path / side / run_id)
    (tmp_path / "after" / ids[0] / "run.json").write_text("{}")
    done = prof_here(
        "--runs", tmp_path / "after", "check", "--baseline", tmp_path / "before", "--format", "json"
    )
    finding = json.loads(done.stdout)
    assert done.returncode == 31
    outcomes = {pair["name"]: pair["outcome"] for pair in finding["pairs"]}
    assert outcomes[ids[0]] == "not_comparable"


# Packing


@pytest.mark.parametrize("spoil", [lose, lambda path: flip(path, 100)])
def test_a_run_whose_report_is_damaged_is_not_packed(recorded, tmp_path, spoil, prof_here):
    ids = [str(one) for one in recorded.ids() if one.time == PACKED]
    profiled = next(str(one) for one in recorded.ids() if one.name == "textbook-5")
    for run_id in (*ids, profiled):
        shutil.copytree(recorded.root / run_id, tmp_path / run_id)
    (report,) = (tmp_path / profiled).glob("*.ncu-rep.zst")
    spoil(report)
    done = prof_here("--runs", tmp_path, "compact")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"left as it is: {report}: ") == 1
    store = RunStore(tmp_path)
    store.ids()
    assert store.index.folders == [profiled]
    assert len(store.packs) == 1


# An object store


def test_a_run_that_was_acknowledged_stays(s3, tmp_path, make_run, monkeypatch):
    """Two clients store the same report under two names at once, and the one with the smaller name is slow."""
    url = s3()
    put = upload._put  # private: the moment at which one client must be slow

    def put_slowly(place, run, path):
        time.sleep(0.5 if run.name.startswith("a") else 0)
        return put(place, run, path)

    monkeypatch.setattr(upload, "_put", put_slowly)  # private: as above

    def store(name):
        run = make_run({"kernel": "k"}, name="made", root=tmp_path / name)
        run_id = run.manifest.run_id.replace("-made-", f"-{name}-")
        write_manifest(replace(run.manifest, name=name, run_id=run_id), run.path)
        with RunStore(url).staging() as staging:
            folder = staging.folder()
            shutil.copytree(run.path, folder)
            return run_id if staging.commit(folder, run_id) is not None else None

    with ThreadPoolExecutor(2) as clients:
        acknowledged = [run_id for run_id in clients.map(store, ("a-name", "b-name")) if run_id is not None]
    assert acknowledged
    assert [str(one) for one in RunStore(url).ids()] == acknowledged
