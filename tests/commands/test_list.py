"""`prof list` shows what is there, also when part of it is damaged."""

from __future__ import annotations

import json
import shutil


def test_a_damaged_run_hides_no_other_and_is_named(store, prof_here, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(store.root, runs)
    damaged, whole = store.ids()[:2]
    (runs / str(damaged) / "run.json").write_text("not JSON")

    listed = prof_here("list", "--runs", runs, "--format", "csv")

    rows = {row.split(",")[0]: row for row in listed.stdout.splitlines()[1:]}
    assert f"damaged,{damaged}" in rows[damaged.name]
    assert rows[whole.name].endswith(str(whole))
    assert listed.returncode == 22
    assert str(runs / str(damaged) / "run.json") in listed.stderr


def test_a_run_that_is_called_damaged_is_not(prof_here, make_run, tmp_path):
    make_run({"kernel": "k"}, name="damaged", root=tmp_path)
    listed = prof_here("--runs", tmp_path, "list", "damaged", "--format", "json")
    assert listed.returncode == 0
    assert [row["origin"] for row in json.loads(listed.stdout)] == ["ingested"]


def test_keys_are_names(prof_here, recorded):
    for words in ([], ["gemm"], ["--kernels"]):
        rows = json.loads(prof_here("--runs", recorded.root, "list", *words, "--format", "json").stdout)
        assert all(key.isidentifier() for row in rows for key in row)


def test_beside_each_kernel_stands_what_is_stored_of_it(prof_here, recorded):
    """Sweeps lie beside the runs, and are counted as runs are."""
    listed = prof_here("--runs", recorded.root, "list", "--kernels", "--format", "json")
    rows = {row["kernel"]: row for row in json.loads(listed.stdout)}
    assert {number: row["tuned"] for number, row in rows.items() if row["tuned"]} == {7: 1}
    assert (rows[7]["profiled"], rows[7]["timed"]) == (1, 3)
