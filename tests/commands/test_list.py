"""`prof list` shows what is there, also when part of it is damaged."""

from __future__ import annotations

import shutil


def test_a_damaged_run_hides_no_other_and_is_named(store, prof, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(store.root, runs)
    damaged, whole = store.ids()[:2]
    (runs / str(damaged) / "run.json").write_text("not JSON")

    listed = prof("list", "--runs", runs, "--format", "csv")

    rows = {row.split(",")[0]: row for row in listed.stdout.splitlines()[1:]}
    assert f"damaged,{damaged}" in rows[damaged.name]
    assert rows[whole.name].endswith(str(whole))
    assert listed.returncode == 22
    assert str(runs / str(damaged) / "run.json") in listed.stderr
