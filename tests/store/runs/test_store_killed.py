"""Killed at any moment, a commit to an object store and `prof compact` lose no run and double none.

`killed_store.py` does the killing: real processes, SIGKILL, seeded random times.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from profiler.store.runs.manifest import StoredReport, write_manifest

SCRIPT = Path(__file__).with_name("killed_store.py")
RUNS = 8
SEED = 20261121


@pytest.fixture(scope="module")
def base(once, make_run):
    """Some small runs, each with a report."""

    def fill(folder):
        for number in range(RUNS):
            report = f"report {number}".encode()
            run = make_run(
                {"kernel": "k", "metrics": {"m": float(number)}}, name=f"n-{number}", root=folder / "runs"
            )
            stored = StoredReport(hashlib.sha256(report).hexdigest(), len(report), file="report.ncu-rep.zst")
            manifest = replace(run.manifest, reports=[stored], content_sha256=run.manifest.sha256)
            write_manifest(manifest, run.path)
            (run.path / "report.ncu-rep.zst").write_bytes(report)

    return once("killed-store", fill) / "runs"


@pytest.fixture(autouse=True)
def remains(monkeypatch, tmp_path):
    """Puts what a killed process leaves in the temporary folder into the test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def killed(what, base, location, kills):
    """How many of so many trials were killed before their end."""
    command = [sys.executable, SCRIPT, what, base, str(location), str(kills), str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["killed"]


def test_compacting_a_folder(base, tmp_path):
    assert killed("compact", base, tmp_path / "runs", 6) >= 2


@pytest.mark.slow
def test_committing_to_a_bucket(base, s3):
    assert killed("commit", base, s3(), 2) >= 1


@pytest.mark.campaign
@pytest.mark.parametrize("what", ["compact", "commit"])
@pytest.mark.parametrize("where", ["folder", "bucket"])
def test_two_hundred_times(what, where, base, s3, tmp_path):
    location = tmp_path / "runs" if where == "folder" else s3()
    count = killed(what, base, location, 200)
    print(f"\n{what}, {where}: killed {count} times in 200 trials")
    assert count >= 100
