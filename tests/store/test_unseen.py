"""Nothing that is stored changes unseen: every file is hashed, and runs are the same only if their whole hash is.

A few seeded flips of each kind of file are in the suite, and 450 in the campaign.
"""

import json
import random
import shutil

import pytest
from msgspec.structs import replace

from profiler.errors import IdTaken, RunDamaged
from profiler.store.ingest.ingest import IngestOptions, ingest_reports
from profiler.store.packs.compact import compact, plan_packs
from profiler.store.packs.layout import MANIFESTS_FILE, PACK_FILE, is_pack
from profiler.store.remote.objects import ObjectPlace
from profiler.store.reports.identity import sha256_of_report
from profiler.store.runs.commit import Staging
from profiler.store.runs.file_names import MANIFEST_FILE
from profiler.store.runs.manifest import decode_manifest, read_manifest, write_manifest
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UnfinishedCollection, UnfinishedPlan
from profiler.store.sweeps import SweepStore
from profiler.store.tables.schema import TABLES
from tests.store.flips import flipped

SEED = 18
PLAN = UnfinishedPlan("gemm-5", 7, "GPU-1")


@pytest.fixture
def loose(store, tmp_path):
    run = store.find("graph", "gemm")
    shutil.copytree(run.path, tmp_path / "runs" / run.path.name)
    return RunStore(tmp_path / "runs")


def read_runs(root):
    """Everything in every run, and a description of it."""
    store = RunStore(root)
    ids = store.ids()
    found = []
    for run in store.open_all(ids):
        run.verify()
        for table in TABLES:
            run.parquet(table)
        hashes = [sha256_of_report(run.report_path(one)) for one in run.manifest.reports if one.file]
        found.append((run.manifest, hashes))
    store.require_whole()
    if not found:
        raise RunDamaged("no run is left")
    return found


def file_of_run(loose, recorded, tmp_path, name):
    (folder,) = (path for path in loose.root.iterdir() if path.is_dir())
    return folder / name, lambda: read_runs(loose.root)


def file_of_sweep(loose, recorded, tmp_path, name):
    (sweep, *_) = recorded.sweep_ids()
    folder = tmp_path / "sweeps" / str(sweep)
    shutil.copytree(recorded.root / "sweeps" / str(sweep), folder)
    return folder / name, lambda: SweepStore(tmp_path).open(str(sweep))


def file_of_pack(loose, recorded, tmp_path, name):
    for run_id in recorded.ids()[:9]:
        shutil.copytree(recorded.root / str(run_id), loose.root / str(run_id))
    compact(loose, plan_packs(loose))
    pack = min(path for path in loose.root.iterdir() if is_pack(path.name))
    return min(pack.glob(name)), lambda: read_runs(loose.root)


def file_of_collection(loose, recorded, tmp_path, name):
    unfinished = UnfinishedCollection(tmp_path, "0" * 64)
    unfinished.plan(PLAN)

    def read():
        found = unfinished.plan(replace(PLAN, seed=8))
        if found.seed == 8:  # then the next call measures again, with a plan of its own
            raise RunDamaged("not the plan that was written")
        return found

    return unfinished.folder / name, read


KINDS = {
    "manifest": (file_of_run, MANIFEST_FILE), "table": (file_of_run, "metrics.parquet"),
    "report": (file_of_run, "report.ncu-rep.zst"), "sweep's manifest": (file_of_sweep, MANIFEST_FILE),
    "sweep's points": (file_of_sweep, "points.parquet"), "pack's index": (file_of_pack, PACK_FILE),
    "pack's manifests": (file_of_pack, MANIFESTS_FILE), "pack's table": (file_of_pack, "launches.parquet"),
    "pack's report": (file_of_pack, "reports/*"), "collection's plan": (file_of_collection, "plan.json"),
}  # fmt: skip


@pytest.mark.parametrize("flips", [12, pytest.param(450, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_of_any_file_is_refused(loose, recorded, tmp_path, kind, flips):
    make, name = KINDS[kind]
    path, read = make(loose, recorded, tmp_path, name)
    whole, before = path.read_bytes(), read()
    rng = random.Random(f"{SEED} {kind}")
    for _ in range(flips):
        bit = rng.randrange(len(whole) * 8)
        path.write_bytes(flipped(whole, [bit]))
        try:
            after = read()
        except RunDamaged:
            continue
        # Some bits of a compressed file mean nothing: what it holds is the same.
        assert path.name.endswith(".zst"), f"bit {bit} of the {kind}"
        assert after == before, f"bit {bit} of the {kind}"


@pytest.mark.slow
def test_every_single_bit_of_a_manifest_counts(loose):
    (path,) = loose.root.glob(f"*/{MANIFEST_FILE}")
    whole = path.read_bytes()
    for bit in range(len(whole) * 8):
        with pytest.raises(RunDamaged):
            decode_manifest(flipped(whole, [bit]), MANIFEST_FILE)


def test_a_size_that_became_another_gives_no_figure(recorded, prof_here, tmp_path):
    """With m=9192, this run would have 12 % more GFLOP/s."""
    run = recorded.find("gemm-5", "gemm")
    shutil.copytree(run.path, tmp_path / "runs" / run.path.name)
    path = tmp_path / "runs" / run.path.name / MANIFEST_FILE
    path.write_text(path.read_text().replace('"m": 4096', '"m": 5096'))

    done = prof_here("--runs", tmp_path / "runs", "show", run.path.name)

    assert done.returncode == RunDamaged.exit_code
    assert f"{path}: not the manifest that was written (its SHA-256 differs)" in done.stderr
    assert done.stdout == ""


def test_a_manifest_from_before_there_were_seals_is_refused(loose):
    """Or whoever changes one could remove its seal, and call it old."""
    (path,) = loose.root.glob(f"*/{MANIFEST_FILE}")
    manifest = json.loads(path.read_text())
    del manifest["checksum"]
    path.write_text(json.dumps(manifest | {"schema_version": 2}))
    with pytest.raises(RunDamaged, match="not the manifest that was written"):
        read_manifest(path.parent)


def test_a_seal_cannot_get_lost(loose):
    (path,) = loose.root.glob(f"*/{MANIFEST_FILE}")
    path.write_text(path.read_text().replace('"checksum"', '"checkrum"'))
    with pytest.raises(RunDamaged, match="its SHA-256 differs"):
        read_manifest(path.parent)


# Runs are the same when their whole hash is


@pytest.fixture
def alike(reports, loose):
    """A report, and a stored run of another report whose hash begins with the same 48 bits."""
    report = reports / "range.ncu-rep"
    start = sha256_of_report(report)[:12]
    (folder,) = (path for path in loose.root.iterdir() if path.is_dir())
    manifest = read_manifest(folder)
    time = manifest.run_id.partition("-")[0]
    sha256 = start + manifest.sha256[12:]
    forged = replace(manifest, run_id=f"{time}-graph-{start}", content_sha256=sha256)
    write_manifest(forged, folder)
    folder.rename(folder.with_name(forged.run_id))
    return report


def test_a_report_whose_hash_begins_like_that_of_a_run_is_not_called_stored(alike, loose, prof_here):
    before = sorted(path.name for path in loose.root.iterdir())

    done = prof_here("--runs", loose.root, "ingest", alike)

    assert done.returncode == IdTaken.exit_code, done.stderr
    assert "another report whose SHA-256 begins with" in done.stderr
    assert "known" not in done.stdout
    assert set(before) == {path.name for path in loose.root.iterdir()} - {".lock"}


def test_only_such_a_report_of_a_batch_is_refused(alike, loose, reports):
    outcomes = list(ingest_reports([alike, reports / "hostile.ncu-rep"], loose, IngestOptions()))
    assert {outcome.report.name: outcome.status for outcome in outcomes} == {
        "range.ncu-rep": "failed", "hostile.ncu-rep": "stored",
    }  # fmt: skip


def test_the_commit_itself_compares_whole_hashes(alike, loose, tmp_path):
    """Another process may have stored the other report after this one was read."""
    stored = RunStore(tmp_path / "other")
    list(ingest_reports([alike], stored, IngestOptions()))
    (run_id,) = stored.ids()
    with Staging(loose.root) as staging:
        folder = staging.folder()
        shutil.copytree(stored.root / str(run_id), folder)
        with pytest.raises(IdTaken):
            staging.commit(folder, str(run_id))
    assert not (loose.root / str(run_id)).exists()


def test_a_client_that_uploads_such_a_report_meanwhile_is_refused(alike, loose, tmp_path, s3, monkeypatch):
    """When two upload at once, neither hides the other: the later one takes its own away."""
    stored = RunStore(tmp_path / "other")
    list(ingest_reports([alike], stored, IngestOptions()))
    (run_id,) = stored.ids()
    theirs = read_manifest(next(path for path in loose.root.iterdir() if path.is_dir()))
    url = s3()
    put_new = ObjectPlace.put_new

    def put_after_them(place, name, data):
        created = put_new(place, name, data)
        here = replace(theirs, recorded=read_manifest(stored.root / str(run_id)).recorded)
        here = replace(here, run_id=f"{run_id.time}-{here.name}-{run_id.hash}")
        write_manifest(here, tmp_path)
        put_new(place, f"{here.run_id}/{MANIFEST_FILE}", (tmp_path / MANIFEST_FILE).read_bytes())
        return created

    monkeypatch.setattr(ObjectPlace, "put_new", put_after_them)
    far = RunStore(url)
    with far.staging() as staging:
        folder = staging.folder()
        shutil.copytree(stored.root / str(run_id), folder)
        with pytest.raises(IdTaken):
            staging.commit(folder, str(run_id))
    assert [one.name for one in RunStore(url).ids()] == ["graph"]


def test_packing_removes_no_run_of_another_report(loose):
    """Two runs of one time whose hashes begin alike are one run to every reader; both stay."""
    (folder,) = (path for path in loose.root.iterdir() if path.is_dir())
    manifest = read_manifest(folder)
    second = manifest.run_id.replace("-graph-", "-other-")
    shutil.copytree(folder, loose.root / second)
    sha256 = manifest.sha256[:12] + "0" * 52
    write_manifest(replace(manifest, run_id=second, name="other", content_sha256=sha256), loose.root / second)

    done = compact(loose, plan_packs(loose))

    assert (loose.root / second).exists()
    assert ["another run has the same id" in str(error) for error in done.damaged] == [True]
