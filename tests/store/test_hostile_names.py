"""Runs that somebody else wrote: no name in them becomes a path outside the folder that it belongs in.

Each attack is a run that is whole but for one name, where anybody may put it: in a folder, in a pack, on a web
server or on an object store. What it aims at lies beside the test.
"""

import hashlib
import json
import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import fsspec
import msgspec
import pytest
from hypothesis import given, strategies as st

from profiler.errors import RunDamaged, RunUnreadable, StoreNotWritable
from profiler.measuring.doctor.folders import check_unfinished
from profiler.store.packs.compact import compact, plan_packs
from profiler.store.packs.layout import MANIFESTS_FILE, PACK_FILE, is_pack, pack_name, read_line
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import FolderPlace
from profiler.store.runs.file_names import MANIFEST_FILE, is_report_file, is_table_file
from profiler.store.runs.manifest import decode_manifest, encode_manifest
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.seal import sealed
from profiler.store.runs.unfinished import UnfinishedCollection, UnfinishedPlan, planned_gpu
from profiler.store.sweeps import SweepStore
from profiler.store.tables.schema import TABLES

NAMES = count()
PRECIOUS = b"nothing that prof may touch"
UP = "../" * 12


@pytest.fixture
def precious(tmp_path):
    """A file that the attacks name."""
    path = tmp_path / "precious.ncu-rep"
    path.write_bytes(PRECIOUS)
    return path


@pytest.fixture
def runs(recorded, tmp_path):
    """A folder with one run, which a test may spoil."""
    source = recorded.find("textbook-5", "gemm").path
    shutil.copytree(source, tmp_path / "runs" / source.name)
    return tmp_path / "runs"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(params=["folder", "memory", "s3", "http"])
def published(request, tmp_path):
    """`published(folder)`: where the same runs are to be read from. With `escaped`, names and what they hold, the
    place has an answer also where a run's name leads out of it, as the place of an attacker would.
    """
    if request.param == "folder":
        yield lambda folder, escaped=None: str(folder)
    elif request.param == "http":
        root = tmp_path / "served"
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(root))) as server:
            threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()

            def serve(folder, escaped=None):
                shutil.copytree(folder, root / "runs")
                for target, source in (
                    escaped or {}
                ).items():  # a client leaves out what leads above the root
                    (root / target.relative_to("/")).parent.mkdir(parents=True)
                    shutil.copy(source, root / target.relative_to("/"))
                return f"http://127.0.0.1:{server.server_port}/runs"

            yield serve
            server.shutdown()
    else:
        url = request.getfixturevalue("s3")() if request.param == "s3" else f"memory://hostile-{next(NAMES)}"

        def upload(folder, escaped=None):
            system, prefix = fsspec.core.url_to_fs(url)
            system.put(f"{folder}/", f"{prefix}/", recursive=True)
            for target, source in (escaped or {}).items():  # a key is any text
                system.pipe_file(f"{prefix}/{source.parent.name}/{escape(target)}", source.read_bytes())
            return url

        yield upload


def spoil_manifest(folder, spoil):
    path = folder / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    spoil(manifest)
    path.write_bytes(sealed(json.dumps(manifest).encode()))


def store_at(place):
    return RunStore(place if "://" in place else Path(place))


def the_run(runs):
    (run,) = (path for path in runs.iterdir() if RunId.parse(path.name))
    return run


def escape(target):
    """The target as a relative name, from any folder that is not too deep."""
    return UP + str(target)[1:]


def table_at(target):
    def spoil(manifest):
        manifest["tables"]["launches"]["file"] = escape(target)

    return spoil


def report_at(target):
    def spoil(manifest):
        manifest["reports"][0]["file"] = escape(target)

    return spoil


# A name of a file


@pytest.mark.parametrize("verb", ["query", "show", "export", "compare"])
@pytest.mark.parametrize("is_there", [True, False], ids=["there", "not there"])
@pytest.mark.parametrize(
    ("attack", "file"),
    [(table_at, "launches.parquet"), (report_at, "report.ncu-rep.zst")],
    ids=["table", "report"],
)
def test_a_file_named_outside_the_run_is_neither_written_nor_removed(
    runs, precious, published, prof_here, tmp_path, verb, is_there, attack, file
):
    run = the_run(runs)
    spoil_manifest(run, attack(precious))
    if not is_there:
        precious.unlink()
    place = published(runs, {precious: run / file})
    arguments = {
        "query": ["--runs", place, "query", "select * from launches"],
        "show": ["show", f"{place}/{run.name}"],
        "export": ["--runs", place, "export", "textbook-5", "-o", tmp_path / "out"],
        "compare": ["compare", f"{place}/{run.name}", f"{place}/{run.name}"],
    }[verb]

    done = prof_here(*arguments)

    assert precious.exists() is is_there
    assert not is_there or precious.read_bytes() == PRECIOUS
    assert not (tmp_path / "out").exists()
    assert done.returncode == RunDamaged.exit_code, done.stderr
    assert "is no name of a" in done.stderr


def test_verifying_such_a_run_removes_nothing(runs, tmp_path, published):
    """A report that was fetched to be looked at is removed again: here that would be the file named."""
    target = tmp_path / "target"
    run = the_run(runs)
    shutil.copy(run / "report.ncu-rep.zst", target)
    spoil_manifest(run, report_at(target))
    store = store_at(published(runs, {target: run / "report.ncu-rep.zst"}))

    with pytest.raises(RunDamaged):
        store.open(store.ids()[0]).verify()

    assert target.read_bytes() == (run / "report.ncu-rep.zst").read_bytes()


def read_manifests(place):
    store = RunStore(place)
    list(store.manifests())
    store.require_whole()


@pytest.mark.parametrize(
    "file",
    [
        "", ".", "..", "/etc/passwd", "../launches.parquet", "a/launches.parquet", "launches.parquet/", "launches.parquet\n",
        "metrics.parquet", "launches.parquet\0", "run.json", "..\\launches.parquet", "0123456789AB-launches.parquet",
    ],
)  # fmt: skip
def test_a_table_has_its_own_name(runs, file):
    def spoil(manifest):
        manifest["tables"]["launches"]["file"] = file

    spoil_manifest(the_run(runs), spoil)
    with pytest.raises(RunDamaged, match="is no name of a file of table 'launches'"):
        read_manifests(runs)


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        ({"file": "run.json"}, "is no name of a report's file"),
        ({"file": "report.ncu-rep.zst/../../x"}, "is no name of a report's file"),
        ({"file": ".ncu-rep.zst"}, "is no name of a report's file"),
        ({"sha256": "../../../x"}, "is no SHA-256 of a report"),
        ({"sha256": "A" * 64}, "is no SHA-256 of a report"),
        ({"reference": "/etc/passwd"}, "either in the run's folder or elsewhere"),
        ({"file": None}, "either in the run's folder or elsewhere"),
    ],
)
def test_a_report_has_the_name_and_the_hash_of_one(runs, report, fault):
    spoil_manifest(the_run(runs), lambda manifest: manifest["reports"][0].update(report))
    with pytest.raises(RunDamaged, match=fault):
        read_manifests(runs)


# The name of a run


def test_an_export_stays_in_its_folder(runs, precious, published, prof_here, tmp_path):
    precious.unlink()
    spoil_manifest(the_run(runs), lambda manifest: manifest.update(name=str(precious.with_suffix(""))))
    done = prof_here("--runs", published(runs), "export", "textbook-5", "-o", tmp_path / "out")
    assert done.returncode == RunDamaged.exit_code, done.stderr
    assert f"'{precious.with_suffix('')}' is no name of a run" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "served") == ["runs"]


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"name": "textbook-6"}, "the name in its id is 'textbook-5', and that of the run 'textbook-6'"),
        ({"name": "../textbook-5"}, "'../textbook-5' is no name of a run"),
        ({"name": ""}, "'' is no name of a run"),
        ({"recorded": "2026-11-20T11:24:10Z"}, "the time in its id is 20261120t112409z, and it was recorded 2026"),
        ({"recorded": "yesterday"}, "'yesterday' is no time"),
        ({"recorded": "0001-01-01T00:00:00+23:59"}, "is no time"),
        ({"recorded": "2026-11-20T11:24:09"}, "a time without a time zone"),
        ({"content_sha256": "0" * 64}, "the SHA-256 of what was recorded begins with 000000000000"),
        ({"content_sha256": "d74a258a8c7e"}, "no SHA-256 that its id could end in"),
        ({"reports": []}, "no SHA-256 that its id could end in"),
        ({"run_id": "../../runs"}, "is no run id"),
        ({"ladder": "../../kernels/gemm"}, "is no name of a ladder"),
        ({"ladder": "/tmp/ladder.toml"}, "is no name of a ladder"),
        ({"ladder": "ladder.toml"}, "is no name of a ladder"),
        ({"ladder": "gemm", "kernel": -5}, "Expected `int` >= 0 - at `$.kernel`"),
        ({"ladder": "gemm", "kernel": 5, "origin": "collected"}, "its kernel is 5 of ladder 'gemm'"),
        ({"kernels": [{"name": "k", "launches": 9}]}, "8 launches in their table, and 9 of its kernels"),
        ({"kernels": [{"name": "k", "launches": 4}] * 2}, "a kernel is listed twice"),
        ({"kernels": [{"name": "k", "launches": 8}, {"name": "l", "launches": 0}]}, "or without a launch"),
    ],
)  # fmt: skip
def test_an_id_is_made_of_what_the_run_says_of_itself(runs, changed, fault):
    spoil_manifest(the_run(runs), lambda manifest: manifest.update(changed))
    with pytest.raises(RunDamaged) as caught:
        read_manifests(runs)
    assert fault in str(caught.value)
    assert str(the_run(runs)) in str(caught.value)


def test_a_sweep_is_held_to_the_same(recorded, tmp_path):
    (sweep, *_) = recorded.sweep_ids()
    folder = tmp_path / "sweeps" / str(sweep)
    shutil.copytree(recorded.root / "sweeps" / str(sweep), folder)
    SweepStore(tmp_path).open(str(sweep))
    for changed in (
        {"name": "../sweep"},
        {"run_id": "../sweep"},
        {"tables": {"points": {"file": "../points.parquet", "rows": 1, "sha256": ""}}},
    ):
        before = (folder / MANIFEST_FILE).read_text()
        spoil_manifest(folder, lambda manifest, changed=changed: manifest.update(changed))
        with pytest.raises(RunDamaged, match=r"run\.json: not a valid manifest"):
            SweepStore(tmp_path).open(str(sweep))
        (folder / MANIFEST_FILE).write_text(before)
    moved = folder.with_name(str(sweep).replace(sweep.hash, "0" * 12))
    folder.rename(moved)
    with pytest.raises(RunDamaged, match="do not belong together"):
        SweepStore(tmp_path).open(moved.name)


@pytest.mark.parametrize("ladder", ["my ladder", "Gemm", "x" * 41])
def test_a_report_is_ingested_under_no_ladder_that_cannot_be_read_again(prof_here, reports, tmp_path, ladder):
    given = ("ingest", reports / "graph.ncu-rep", "--ladder", ladder, "--kernel", "5")
    done = prof_here("--runs", tmp_path / "runs", *given)
    assert done.returncode == 2
    assert "is not a valid ladder name" in " ".join(done.stderr.split())
    assert not (tmp_path / "runs").exists()


# Packs


@pytest.fixture
def pack(once, make_run, tmp_path):
    """A pack of eight runs, the only thing in its folder."""

    def fill(root):
        for number in range(8):
            make_run({"kernel": "k", "metrics": {"m": 1.0}}, name=f"name-{number}", root=root)
        store = RunStore(root)
        compact(store, plan_packs(store))

    root = shutil.copytree(once("packed-by-name", fill), tmp_path / "packed")
    (folder,) = (path for path in root.iterdir() if is_pack(path.name))
    return folder


def spoil_pack(folder, index=lambda _: None, line=lambda _: None):
    """The pack as somebody would write it who knows how: every hash fits."""
    made = json.loads((folder / PACK_FILE).read_text())
    lines, offset = [], 0
    for run_id, text in zip(made["runs"], (folder / MANIFESTS_FILE).read_bytes().splitlines(), strict=True):
        packed = json.loads(text)
        line(packed)
        packed["manifest"] = json.loads(sealed(json.dumps(packed["manifest"]).encode()))
        lines.append(json.dumps(packed).encode() + b"\n")
        made["runs"][run_id] = [offset, len(lines[-1]), hashlib.sha256(lines[-1]).hexdigest()]
        offset += len(lines[-1])
    (folder / MANIFESTS_FILE).write_bytes(b"".join(lines))
    made["files"][MANIFESTS_FILE] = {"bytes": offset, "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}
    index(made)
    data = json.dumps(made).encode()
    (folder / PACK_FILE).write_bytes(data)
    return folder.rename(folder.with_name(pack_name(folder.name.split("-")[1], data)))


def read_all(place):
    store = store_at(place)
    runs = store.open_all(store.ids())
    store.require_whole()
    for run in runs:
        run.verify()
        for table in TABLES:
            run.parquet(table)


def test_a_pack_that_is_written_again_by_hand_reads(pack, published):
    """So that nothing but the name is what the tests below are about."""
    place = published(spoil_pack(pack).parent)
    if place.startswith("http"):  # Python's own web server sends no parts of a file
        assert len(list(RunStore(place).manifests())) == 8
    else:
        read_all(place)


@pytest.mark.parametrize(
    ("index", "line", "fault"),
    [
        (lambda index: index["runs"].update({"../../x": [0, 1, ""]}), None, "'../../x' is out of place"),
        (lambda index: index["files"].update({"../x": {"bytes": 1, "sha256": ""}}), None, "'../x' is out of place"),
        (lambda index: index["files"].pop("rules.parquet"), None, "'rules.parquet' is out of place"),
        (None, lambda line: line["tables"].update({"../../../x": [0, 1, 0, 1]}), "table '../../../x' is out of place"),
        (None, lambda line: line["tables"].pop("rules"), "table 'rules' is out of place"),
        (None, lambda line: line["manifest"].update(name="../../x"), "'../../x' is no name of a run"),
        (None, lambda line: line["manifest"]["tables"]["rules"].update(file="../x"), "'../x' is no name of a file"),
        (None, lambda line: line["manifest"]["reports"][0].update(sha256="../x"), "'../x' is no SHA-256 of a report"),
        (
            None,
            lambda line: line["manifest"]["reports"][0].update(file="report.ncu-rep/../../../x", reference=None),
            "is no name of a report's file",
        ),
    ],
)  # fmt: skip
def test_a_name_in_a_pack_is_one_of_its_own(pack, published, index, line, fault):
    spoiled = spoil_pack(pack, index or (lambda _: None), line or (lambda _: None))
    with pytest.raises(RunDamaged) as caught:
        read_all(published(spoiled.parent))
    assert fault in str(caught.value)


def test_a_listing_holds_what_lies_there_and_nothing_else(runs, precious):
    """A server may list what it likes; a name that leads elsewhere is no file of the place."""
    url = f"memory://listed-{next(NAMES)}"
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    system = place._system  # private: a listing of this server is to be forged
    folder = the_run(runs).name
    entries = {f"/{url.removeprefix('memory://')}/{name}": {"size": 1} for name in (
        f"{folder}/{MANIFEST_FILE}", f"{folder}/../../x", "../x", "//etc/passwd", "", f"./{MANIFEST_FILE}", f"{folder}/./x",
    )}  # fmt: skip
    entries |= {"/elsewhere/x": {"size": 1}}
    listed = system.find
    try:
        system.find = lambda *_, **__: entries
        assert list(place.files()) == [f"{folder}/{MANIFEST_FILE}"]
        assert place.names() == [folder]
    finally:
        system.find = listed


# Any name at all

PARTS = st.one_of(
    st.sampled_from(["..", ".", "", "/", "launches.parquet", "report.ncu-rep", "-0", ".zst", "0123456789ab-", "\0", "\n"]),
    st.text(max_size=8),
)  # fmt: skip
HOSTILE = st.lists(PARTS, max_size=6).map("".join) | st.lists(PARTS, max_size=6).map("/".join)


def is_within(folder, name):
    return (folder / name).resolve().parent == folder


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_name_that_is_decoded_leaves_its_folder(recorded, table, report, name):
    known = recorded.find("textbook-5", "gemm").manifest
    folder = Path("/nowhere/runs/run")
    tables = known.tables | {"launches": msgspec.structs.replace(known.tables["launches"], file=table)}
    reports = [msgspec.structs.replace(known.reports[0], file=report)]
    given = msgspec.structs.replace(known, tables=tables)
    for spoiled in (
        given,
        msgspec.structs.replace(known, reports=reports),
        msgspec.structs.replace(known, name=name),
        msgspec.structs.replace(known, ladder=name),
        msgspec.structs.replace(known, run_id=name),
    ):
        try:
            manifest = decode_manifest(encode_manifest(spoiled), "run.json")
        except (RunDamaged, UnicodeEncodeError):
            continue
        files = [stored.file for stored in manifest.tables.values()]
        files += [report.file or "" for report in manifest.reports]
        named = [*files, manifest.run_id, f"{manifest.name}.ncu-rep", manifest.ladder or "none"]
        assert all(is_within(folder, one) for one in named)


@given(HOSTILE, st.sampled_from(sorted(TABLES)))
def test_a_name_of_a_file_is_one_part_of_a_path(name, table):
    if is_table_file(name, table) or is_report_file(name):
        assert is_within(Path("/nowhere"), name)


@given(HOSTILE)
def test_a_line_of_a_pack_names_tables_alone(name):
    line = {"manifest": {}, "tables": {table: [0, 1, 0, 1] for table in (*TABLES, name)}}
    if name not in TABLES:
        with pytest.raises(RunDamaged):
            read_line(msgspec.json.encode(line), "manifests.jsonl")


@given(HOSTILE)
def test_no_place_joins_a_name_that_leads_out_of_it(name):
    """The last wall: whatever was decoded, and by whom."""
    far = ObjectPlace("memory://nowhere", last_files=(MANIFEST_FILE,))
    for joined, root in (
        # private: joins names before a file is touched
        (FolderPlace(Path("/nowhere/runs"))._path, Path("/nowhere/runs")),
        (far._copy_of, far._spool),  # private: as above
    ):
        try:
            path = joined(name)
        except RunDamaged:
            continue
        assert root in path.resolve().parents


# Links beside the runs


@pytest.mark.parametrize("target", ["folder", "file", "nothing"])
@pytest.mark.parametrize("link", ["lock", "compact", "staging", "damaged", "reason"])
def test_a_link_beside_runs_leads_no_command_out_of_them(runs, tmp_path, prof_here, reports, link, target):
    """`.staging` is emptied, `damaged` filled and `.lock` made: all of it where a stranger's link leads."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "folder" / "old").mkdir(parents=True)
    (elsewhere / "folder" / "old" / "file").write_bytes(PRECIOUS)
    (elsewhere / "file").write_bytes(PRECIOUS)
    (run,) = runs.iterdir()
    (run / "rules.parquet").write_bytes(b"damaged")
    before = {path: path.is_file() and path.read_bytes() for path in elsewhere.rglob("*")}
    path = {"reason": runs / "damaged" / f"{run.name}.txt", "damaged": runs / "damaged"}.get(
        link, runs / f".{link}"
    )
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(elsewhere / target)

    for words in (["ingest", reports / "gemm_6.ncu-rep"], ["compact"], ["fsck", "--repair"]):
        done = prof_here("--runs", runs, *words)
        assert done.returncode != 70, done.stderr
        assert {path: path.is_file() and path.read_bytes() for path in elsewhere.rglob("*")} == before, words
    if link != "reason":
        assert f"{path}: a link is there" in done.stderr


def test_pipes_links_and_files_among_unfinished_work_are_removed_without_waiting(runs, tmp_path, prof_here):
    """Removing a folder opens it first, and whoever opens a pipe waits while all others wait for the lock."""
    (tmp_path / "elsewhere" / "folder").mkdir(parents=True)
    staging = runs / ".staging"
    staging.mkdir()
    os.mkfifo(staging / "pipe")
    (staging / "link").symlink_to(tmp_path / "elsewhere")
    (staging / "file").write_text("left")
    done = prof_here("--runs", runs, "fsck", "--repair")
    assert done.returncode == 0, done.stderr
    assert not staging.exists()
    assert (tmp_path / "elsewhere" / "folder").is_dir()


def test_a_link_to_sweeps_elsewhere_is_named_and_never_followed(runs, tmp_path, prof_here, recorded):
    """Beyond it, a repair would set sweeps aside, empty a staging folder, and `prof tune` would measure."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".staging" / "left").mkdir(parents=True)
    sweep = recorded.sweep_ids()[0]
    (elsewhere / str(sweep)).mkdir()
    (elsewhere / str(sweep) / MANIFEST_FILE).write_bytes(b"damaged")
    (runs / "sweeps").symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))

    for words in (["fsck"], ["fsck", "--repair"], ["list", "--ladder", "gemm"], ["doctor"]):
        done = prof_here("--runs", runs, *words)
        assert sorted(elsewhere.rglob("*")) == before, words
        assert str(sweep) not in done.stdout
        assert words != ["fsck"] or f"{runs / 'sweeps'}: a link is there" in done.stdout
        assert done.returncode != 70, done.stderr
    with pytest.raises(RunUnreadable, match="a link is there"):
        SweepStore(runs)


def test_a_report_that_is_a_link_is_whole_in_its_pack(recorded, tmp_path):
    """A relative link would lead elsewhere from the folder of a pack, and the run's own folder is removed."""
    root, beside = tmp_path / "linked", tmp_path / "reports"
    beside.mkdir()
    folders = [path.parent for path in recorded.root.glob("*/run.json")]
    for source in sorted(folders, key=lambda folder: not list(folder.glob("report*.zst")))[:8]:
        run = shutil.copytree(source, root / source.name)
        for report in list(run.glob("report*.zst")):
            report.rename(beside / f"{run.name}-{report.name}")
            report.symlink_to(f"../../reports/{run.name}-{report.name}")
    compact(RunStore(root), plan_packs(RunStore(root)))
    store = RunStore(root)
    runs = store.open_all(store.ids())
    assert (len(runs), len(list(root.glob("pack-*")))) == (8, 1)
    for run in runs:
        run.verify()


def test_a_pipe_in_an_unfinished_collection_is_not_waited_for(tmp_path):
    folder = tmp_path / ".pending" / "key"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "plan.json")
    assert planned_gpu(tmp_path, "key") == ""
    assert check_unfinished(tmp_path).state == "warn"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["export", "textbook-5", "-o", "."], "textbook-5.ncu-rep"),
        (["report", "textbook-5", "-o", "page.html"], "page.html"),
        (["query", "select 1", "-o", "rows.csv"], "rows.csv"),
    ],
    ids=["export", "report", "query"],
)
def test_what_is_written_aside_follows_no_link(runs, precious, prof_here, tmp_path, monkeypatch, words, name):
    """A stranger's folder, such as the one that a repository is cloned to, may have it ready."""
    folder = tmp_path / "cloned"
    folder.mkdir()
    monkeypatch.chdir(folder)
    of_name = hashlib.sha256(name.encode()).hexdigest()[:16]
    (folder / f".prof-{of_name}-0123456789abcdef.part").symlink_to(precious)
    assert prof_here("--runs", runs, *words).returncode == 0
    assert precious.read_bytes() == PRECIOUS
    assert (folder / name).stat().st_size > 0


def test_a_link_in_an_unfinished_collection_is_not_followed(tmp_path, precious):
    """Whoever knows the key of a collection knows the names of its files."""
    with UnfinishedCollection(tmp_path / "runs", "key") as unfinished:
        (unfinished.folder / "plan.json").symlink_to(precious)
        unfinished.plan(UnfinishedPlan("mine", 1))
    assert precious.read_bytes() == PRECIOUS
    shutil.rmtree(tmp_path / "runs" / ".pending")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs" / ".pending").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreNotWritable, match="a link is there"):
        UnfinishedCollection(tmp_path / "runs", "key")
    assert list((tmp_path / "elsewhere").iterdir()) == []
