"""The runs folder: find a run, read its tables, refuse it when it changed."""

import json
import shutil
from pathlib import Path

import pytest

from profiler.errors import ReportDamaged, RunDamaged, RunNotFound
from profiler.store.ingest.ingest import IngestOptions, ingest_reports
from profiler.store.reports.identity import pack_report, sha256_of_report
from profiler.store.runs.file_names import MANIFEST_FILE
from profiler.store.runs.manifest import read_manifest
from profiler.store.runs.run_id import RunId, path_name
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.seal import sealed
from profiler.store.runs.unstored import open_report, open_reports
from profiler.store.tables.schema import SCHEMA_VERSION, TABLES
from tests.store.flips import flip

GRAPH_ID = "20261121t085400z-graph-dd9b57cb58c9"


@pytest.fixture
def copy(store, tmp_path):
    """A store of two runs that a test may change."""
    for name in ("graph", "range"):
        run = store.find(name, ladder="gemm")
        shutil.copytree(run.path, tmp_path / "runs" / run.path.name)
    return RunStore(tmp_path / "runs")


@pytest.fixture
def graph(copy):
    return copy.root / GRAPH_ID


# Finding


@pytest.mark.parametrize("reference", [GRAPH_ID, "graph", GRAPH_ID[:17], "20261121t085400"])
def test_a_run_is_found_by_its_id_its_name_or_the_start_of_its_id(copy, reference):
    assert copy.find(reference, ladder="gemm").manifest.run_id == GRAPH_ID


def test_a_number_is_a_kernel_of_the_ladder(reports, tmp_path):
    store = RunStore(tmp_path)
    for ladder, name in (("gemm", "graph"), ("reduce", "range")):
        list(ingest_reports([reports / f"{name}.ncu-rep"], store, IngestOptions(ladder=ladder, kernel=5)))

    assert store.find("5", ladder="gemm").label == "gemm 5"
    assert store.find("5", ladder="reduce").label == "reduce 5"
    assert store.find("gemm-5", ladder="other").label == "gemm 5"
    with pytest.raises(RunNotFound, match=r"no run of kernel 6; gemm has runs of 5$"):
        store.find("6", ladder="gemm")


def test_a_number_is_the_kernels_profile_or_its_timings_where_it_was_never_profiled(make_run, tmp_path):
    make_run(name="gemm-1-timed", root=tmp_path, timings=[1.0])
    store = RunStore(tmp_path)
    assert store.find("1", ladder="gemm").manifest.name == "gemm-1-timed"
    make_run({"kernel": "k"}, name="gemm-1", root=tmp_path)
    assert store.find("1", ladder="gemm").manifest.name == "gemm-1"


def test_the_newest_of_several_runs_of_a_name_is_meant(copy, graph, dated):
    newer = dated(shutil.copytree(graph, copy.root / "newer"), 400 * 86400)

    assert copy.find("graph", ladder="gemm").manifest.run_id == newer != graph.name


def test_a_run_is_found_by_the_name_that_it_was_given(make_run, tmp_path):
    run = make_run({"kernel": "k"}, name="my-kernel", root=tmp_path)  # of `prof ingest --name "My Kernel"`
    store = RunStore(tmp_path)

    assert store.find("My Kernel", ladder="gemm").manifest.run_id == run.manifest.run_id
    with pytest.raises(RunNotFound, match="no run of 'My Kernal'; did you mean 'my-kernel'"):
        store.find("My Kernal", ladder="gemm")


def test_a_number_longer_than_any_kernels_is_just_not_there(make_run, tmp_path):
    make_run({"kernel": "k"}, name="gemm-1", root=tmp_path)

    with pytest.raises(RunNotFound, match=r"no run of kernel 9{5000}; gemm has runs of 1$"):
        RunStore(tmp_path).find("9" * 5000, ladder="gemm")


def test_nothing_is_not_the_start_of_the_only_run(make_run, tmp_path):
    """A script's variable may be empty, and must not mean whatever is stored."""
    make_run({"kernel": "k"}, root=tmp_path)
    with pytest.raises(RunNotFound, match="no run of ''"):
        RunStore(tmp_path).find("", "gemm")


def test_an_ambiguous_start_lists_what_it_may_mean(copy):
    with pytest.raises(RunNotFound, match="start of 2 run ids") as caught:
        copy.find("20261121t", ladder="gemm")

    assert GRAPH_ID in "\n".join([str(caught.value), *caught.value.details])
    assert caught.value.remedy == "Give more of the id."


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("grap", "did you mean 'graph'?"),
        ("rnage", "did you mean 'range'?"),
        ("rangraph", "did you mean 'graph' or 'range'?"),
        ("x", "it holds runs of graph, range"),
    ],
)
def test_a_name_that_is_not_there_names_those_near_or_all(copy, reference, hint):
    with pytest.raises(RunNotFound) as caught:
        copy.find(reference, ladder="gemm")
    assert caught.value.message == f"{copy.root}: no run of '{reference}'; {hint}"
    assert "`prof list` shows what is stored" in caught.value.remedy


def test_a_missing_number_is_an_error_that_lists_the_ladders_others(make_run, tmp_path):
    names = [*(f"gemm-{number}" for number in (0, 1, 2, 4, 9, 10)), "gemm-3-timed", "gemm-7-counters"]
    for name in [*names, "gemm-fp16-5", "other-8"]:
        make_run({"kernel": "k"}, name=name, root=tmp_path)
    store = RunStore(tmp_path)
    with pytest.raises(RunNotFound, match=r"no run of kernel 66; gemm has runs of 0 to 4, 9 to 10$"):
        store.find("66", ladder="gemm")
    with pytest.raises(
        RunNotFound, match=r"no run of kernel 7 with the default preset; there is gemm-7-counters$"
    ):
        store.find("7", ladder="gemm")
    with pytest.raises(RunNotFound, match="no run of kernel 1; reduce has no runs"):
        store.find("1", ladder="reduce")


def test_a_number_is_no_start_of_an_id_before_it_is_a_whole_date(make_run, tmp_path):
    """Otherwise, with a single run stored, kernel 2 would mean that run of 2026, whatever it is."""
    run = make_run({"kernel": "k"}, name="gemm-1", root=tmp_path)
    store = RunStore(tmp_path)
    for number in ("2", "20", "2026"):
        with pytest.raises(RunNotFound, match=f"no run of kernel {number};"):
            store.find(number, ladder="gemm")
    assert store.find("20260101", ladder="gemm").manifest.run_id == run.manifest.run_id


def test_a_ladder_is_known_by_a_run_of_any_of_its_kernels(make_run, tmp_path):
    for name in ("gemm-7-source", "relu-0-timed", "relu-fp16-x"):
        make_run({"kernel": "k"}, name=name, root=tmp_path)
    known = [
        ladder for ladder in ("gemm", "relu", "relu-fp16", "gem") if RunStore(tmp_path).knows_ladder(ladder)
    ]
    assert known == ["gemm", "relu"]


def test_an_empty_store_says_so(tmp_path):
    for root, said in ((tmp_path, "it holds no runs"), (tmp_path / "not there", "not there: no such folder")):
        assert RunStore(root).ids() == []
        with pytest.raises(RunNotFound, match=said):
            RunStore(root).find("5", ladder="gemm")


def test_other_folders_beside_the_runs_are_no_runs(copy):
    for name in (".staging", "notes", "20261121t085400z-graph", "20261121t085400z-UPPER-dd9b57cb58c9"):
        (copy.root / name).mkdir()

    assert [run_id.name for run_id in copy.ids()] == ["graph", "range"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gemm_5", "gemm_5"),
        ("../../etc/passwd", "etc-passwd"),
        ("Größe 雪", "gr-e"),
        ("\x1b[31m\n", "31m"),
        ("...", "report"),
        ("", "report"),
        ("x" * 500, "x" * 60),
        ("CON.txt", "con.txt"),
    ],
)
def test_any_text_becomes_a_name_that_is_safe_in_a_path(text, name):
    assert path_name(text) == name
    assert RunId.parse(str(RunId.make(None, text, "0" * 64))) is not None


# Refusing


def rewrite(folder, manifest):
    data = json.dumps(manifest).encode()
    (folder / MANIFEST_FILE).write_bytes(sealed(data) if isinstance(manifest, dict) else data)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


def empty(path):
    path.write_bytes(b"")


FILES = ["report.ncu-rep.zst", *(f"{table}.parquet" for table in TABLES)]


@pytest.mark.parametrize("damage", [flip, truncate, empty, Path.unlink])
@pytest.mark.parametrize("file", FILES)
def test_a_file_that_changed_is_refused_with_its_name(copy, graph, file, damage):
    damage(graph / file)

    with pytest.raises(RunDamaged) as caught:
        copy.open(copy.ids()[0]).verify()

    assert str(graph / file) in str(caught.value)


@pytest.mark.parametrize("table", TABLES)
def test_a_changed_table_is_an_error_and_never_a_figure(copy, graph, table):
    flip(graph / f"{table}.parquet")
    run = copy.open(copy.ids()[0])

    with pytest.raises(RunDamaged, match=rf"{table}\.parquet: the table is not the one recorded"):
        run.table(table)
    others = [name for name in TABLES if name != table]
    assert [run.table(name).num_rows for name in others] == [
        run.manifest.tables[name].rows for name in others
    ]


def test_another_report_in_its_place_is_refused(copy, graph, reports):
    """Also when the hash in the manifest is made to fit: the run's own name tells."""
    packed = graph / "report.ncu-rep.zst"
    pack_report(reports / "range.ncu-rep", packed)
    with pytest.raises(RunDamaged, match=r"report\.ncu-rep\.zst: .* not the one recorded"):
        copy.open(copy.ids()[0]).verify_reports()

    manifest = json.loads((graph / MANIFEST_FILE).read_text())
    manifest["reports"][0]["sha256"] = sha256_of_report(packed)
    rewrite(graph, manifest)
    with pytest.raises(RunDamaged, match="its id ends in dd9b57cb58c9, and the SHA-256 of what was recorded"):
        copy.open(copy.ids()[0])


@pytest.mark.parametrize("verb", ["show", "compare", "ingest"])
@pytest.mark.parametrize("file", ["report.ncu-rep.zst", "metrics.parquet", MANIFEST_FILE])
def test_show_compare_and_ingest_refuse_a_damaged_run(copy, graph, reports, prof_here, verb, file):
    truncate(graph / file)
    arguments = {"show": ["graph"], "compare": ["graph", "graph"], "ingest": [reports / "graph.ncu-rep"]}[
        verb
    ]

    done = prof_here("--runs", copy.root, verb, *arguments)

    assert done.returncode == RunDamaged.exit_code, done.stderr
    assert str(graph / file) in done.stderr
    assert done.stdout == ""
    assert len(copy.ids()) == 2


def test_a_run_of_a_newer_schema_asks_for_a_newer_prof(copy, graph):
    manifest = json.loads((graph / MANIFEST_FILE).read_text())
    rewrite(graph, {**manifest, "schema_version": SCHEMA_VERSION + 1, "invented_later": [1]})

    with pytest.raises(
        RunDamaged,
        match=rf"written by a newer prof \(schema {SCHEMA_VERSION + 1}, this one reads {SCHEMA_VERSION}\)",
    ) as caught:
        copy.open(copy.ids()[0])
    assert "Upgrade prof" in caught.value.remedy


def test_fields_that_this_version_does_not_know_are_no_harm(copy, graph):
    manifest = json.loads((graph / MANIFEST_FILE).read_text())
    rewrite(graph, {**manifest, "invented_later": {"a": [1, 2]}})

    copy.open(copy.ids()[0]).verify()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda manifest: {k: v for k, v in manifest.items() if k != "kernels"}, "missing required field `kernels`"),
        (lambda manifest: {**manifest, "kernels": "none"}, r"Expected `array`, got `str` - at `\$\.kernels`"),
        (lambda manifest: {**manifest, "origin": "found"}, "Invalid enum value 'found'"),
        (
            lambda manifest: {**manifest, "run_id": GRAPH_ID.replace("graph", "other")},
            "the name in its id is 'other', and that of the run 'graph'",
        ),
        (lambda manifest: {**manifest, "tables": {}}, "do not belong together"),
        (lambda manifest: [manifest], "Expected `object`, got `array`"),
    ],
)  # fmt: skip
def test_a_manifest_that_makes_no_sense_is_refused(copy, graph, spoil, reason):
    rewrite(graph, spoil(json.loads((graph / MANIFEST_FILE).read_text())))

    with pytest.raises(RunDamaged, match=reason) as caught:
        copy.open(copy.ids()[0])
    assert str(graph) in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\xfe", b'{"schema_version": 1', b"null", b'"\xed\xa0\x80"']
)
def test_a_manifest_that_is_no_json_is_refused(graph, data):
    (graph / MANIFEST_FILE).write_bytes(data)

    with pytest.raises(RunDamaged, match=r"run\.json: not a valid manifest"):
        read_manifest(graph)


# Reports that are not stored


def test_a_report_that_is_not_stored_reads_as_its_run_would(store, reports):
    stored = store.find("graph", ladder="gemm")
    run = open_report(reports / "graph.ncu-rep")

    assert not run.stored
    assert run.label == str(reports / "graph.ncu-rep")
    for name in TABLES:
        assert run.table(name).equals(stored.table(name))


@pytest.mark.slow
def test_several_reports_come_back_in_order_and_one_bad_one_is_named(reports, tmp_path):
    paths = [reports / f"{name}.ncu-rep" for name in ("range", "graph", "hostile")]
    assert [run.manifest.name for run in open_reports(paths)] == ["range", "graph", "hostile"]

    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(paths[0].read_bytes()[:-1])
    with pytest.raises(ReportDamaged, match=r"cut\.ncu-rep: damaged or cut short"):
        open_reports([*paths, cut])


def test_a_run_knows_its_tables_as_pandas_too(store):
    run = store.find("graph", ladder="gemm")

    frame = run.to_pandas("launches")
    assert frame["kernel"].tolist() == ["graph", "graph"]
    assert set(frame["run_id"]) == {GRAPH_ID}


# Some columns of a table


@pytest.mark.parametrize("table", TABLES)
def test_columns_read_alone_are_those_of_the_whole_table(store, table):
    whole = store.find("several", "").table(table)

    for column in whole.column_names:
        alone = store.find("several", "").columns(table, column)
        assert alone.column_names == [column]
        assert alone.equals(whole.select([column]))


def test_columns_come_in_the_tables_order_whether_the_table_was_read_before_or_not(store):
    run = store.find("several", "")
    before = run.columns("launches", "kernel", "launch")
    run.table("launches")

    assert before.column_names == ["launch", "kernel"]
    assert run.columns("launches", "kernel", "launch").equals(before)


def test_columns_of_a_table_that_changed_are_refused(copy):
    run = copy.find("graph", ladder="gemm")
    file = run.path / run.manifest.tables["launches"].file
    file.write_bytes(file.read_bytes().replace(b"PAR1", b"PAR2"))

    with pytest.raises(RunDamaged, match="not the one recorded"):
        run.columns("launches", "kernel")
