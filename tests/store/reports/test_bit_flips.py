"""Reports with flipped bits, through the real command: some in the suite, thousands in the campaign.

Nothing can tell every flipped bit from a value that was measured; what must hold is that
no damage takes `prof` down, hangs it, or leaves anything but whole runs.
"""

import hashlib
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from profiler.errors import IngestIncomplete
from profiler.store.runs.run_store import RunStore
from tests.store.flips import flipped

SEED = 2026
SAMPLE, BATCH = 20, 500  # mutants in the suite, and in each of the batches of the campaign
REFUSALS = ("damaged", "does not start with", "cannot be decoded", "crashed", "in time", "out of memory")
SMALL = ("graph", "range", "graph", "range", "hostile")


def write_mutants(reports, folder, count, seed, names):
    """Each has one to four bits flipped, anywhere in the file."""
    rng = random.Random(seed)
    whole = {name: (reports / f"{name}.ncu-rep").read_bytes() for name in names}
    folder.mkdir()
    for number in range(count):
        name = rng.choice(names)
        bits = rng.sample(range(len(whole[name]) * 8), rng.randint(1, 4))
        (folder / f"{number:04}-{name}.ncu-rep").write_bytes(flipped(whole[name], bits))


def ingest_mutants(prof, folder, runs):
    """Ingest them; every one is a whole verified run or one line of refusal."""
    mutants = {path.name: path for path in folder.iterdir()}
    done = prof("--runs", runs, "ingest", folder, "--timeout", "30")

    assert done.returncode == IngestIncomplete.exit_code, done.stderr[-2000:]
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said[max(0, said.find("Traceback") - 500) :][:3000]
    stored = {
        Path(match[1]).name
        for line in done.stdout.splitlines()
        if (match := re.match(r"(?:stored|known) .*?(\S+\.ncu-rep)(?:  \(without .*\))?$", line))
    }
    refused = {
        Path(match[1]).name: match[2]
        for line in done.stderr.splitlines()
        if (match := re.fullmatch(r"failed +(\S+\.ncu-rep): (.+)", line))
    }
    assert len(done.stdout.splitlines()) == len(stored)
    assert len([line for line in done.stderr.splitlines() if line.startswith("failed")]) == len(refused)
    assert stored.isdisjoint(refused)
    assert stored | set(refused) == set(mutants)

    store = RunStore(runs)
    hashes = set()
    for run_id in store.ids():
        run = store.open(run_id)
        run.verify()
        assert run.table("launches").num_rows == run.manifest.launches > 0
        hashes.add(run.manifest.reports[0].sha256)
    assert hashes == {hashlib.sha256(mutants[name].read_bytes()).hexdigest() for name in stored}
    assert sorted(path.name for path in runs.iterdir() if path.is_file()) == [".lock"]
    assert not (runs / ".staging").exists()
    return Counter(stored=len(stored)) + Counter(kind_of(reason) for reason in refused.values())


def kind_of(reason):
    (kind,) = [kind for kind in REFUSALS if kind in reason] or [reason]
    return kind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "count"),
    [(SEED, SAMPLE), *(pytest.param(SEED + more, BATCH, marks=pytest.mark.campaign) for more in range(5))],
)
def test_reports_with_flipped_bits(reports, tmp_path, prof, seed, count):
    write_mutants(reports, tmp_path / "mutants", count, seed, SMALL)

    outcomes = ingest_mutants(prof, tmp_path / "mutants", tmp_path / "runs")

    print(f"seed {seed}: {count} reports: {dict(outcomes)}")
    assert sum(outcomes.values()) == count
    assert set(outcomes) <= {"stored", *REFUSALS}, "a refusal of a new kind: a bug in prof?"
    assert outcomes["damaged"] > count / 10, "these mutants hardly differ from the reports"
    assert outcomes["stored"] > count / 10, "these mutants are all refused: nothing was tried"


@pytest.mark.campaign
def test_flipped_bits_in_larger_reports(reports, tmp_path, prof):
    names = ("gemm_5", "gemm_6", "several", "processes", "pm_sampling")
    write_mutants(reports, tmp_path / "mutants", 1000, SEED, names)

    outcomes = ingest_mutants(prof, tmp_path / "mutants", tmp_path / "runs")

    print(dict(outcomes))
    assert set(outcomes) <= {"stored", *REFUSALS}
