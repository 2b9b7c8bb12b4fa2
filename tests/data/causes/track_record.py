#!/usr/bin/env python3
"""Measures how often the diagnosis is right: track_record.py [--keep FOLDER] [--check]

Diagnoses every kernel of `pairs.toml` from its recording, compares the answer with what the known change saved, and writes
`record.json`, which docs/track-record.md and the tests read. --check writes nothing, and exits with 1 where the answers differ.
--keep stores what was read of the reports in FOLDER, so that the next time takes seconds.

Each pair is diagnosed three times: from its recording with the preset "default"; from the part of it that the preset "counters"
would have recorded; and, for 50 kernels, from a recording with every section of Nsight Compute. NVIDIA's rules in the first and the
last of these recordings are ranked by the speedup that they estimate.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT), str(HERE)]
from pairs import read_pairs  # noqa: E402

from profiler.analyse.causes.cause import Cause  # noqa: E402
from profiler.analyse.causes.detectors.candidate import Candidate  # noqa: E402
from profiler.analyse.causes.diagnose import diagnose  # noqa: E402
from profiler.analyse.causes.find import find_candidates, look_at  # noqa: E402
from profiler.analyse.causes.nvidia_rules import causes_of_rule  # noqa: E402
from profiler.analyse.causes.together import saved_together  # noqa: E402
from profiler.analyse.recording.profile import profile_kernel  # noqa: E402
from profiler.store.ingest.ingest import IngestOptions, ingest_reports  # noqa: E402
from profiler.store.runs.run import Run  # noqa: E402
from profiler.store.runs.run_store import RunStore  # noqa: E402
from profiler.store.runs.unstored import open_reports  # noqa: E402
from profiler.store.tables.columns import labels_of  # noqa: E402

RECORD = HERE / "record.json"
EVERY_SECTION = "full"  # the pack of the kernels that were recorded again with every section
PACKS = tuple(
    pack
    for path in sorted(HERE.glob("*.tar.xz"))
    if (pack := path.name.removesuffix(".tar.xz")) != EVERY_SECTION
)
# A promise counts as broken where more was saved than it allows by over three points: two recordings of one kernel differ by
# up to two.
TOLERANCE = 3.0
AGAIN = "-again"  # ends the name of a kernel of a pair that was recorded once more
# A recording of the counters alone, of the same GPU and the same ncu: it says which metrics the preset "counters" holds.
_OF_COUNTERS = ("gemm-4", "gemm")


def names_of(listed: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[str]:
    """Returns every kernel that pairs.toml names."""
    found = [
        pair[side] for kind in ("pair", "alone") for pair in listed[kind] for side in ("before", "after")
    ]
    found += [kernel for one in listed["alone"] for kernel in one["instead"]]
    return list(
        dict.fromkeys(found + [one["kernel"] for kind in ("ceiling", "decoy") for one in listed[kind]])
    )


def unpack(packs: Iterable[str], folder: Path, names: Collection[str] | None = None) -> dict[str, Path]:
    """Unpacks the reports of these kernels, or all; returns their files by kernel."""
    found = {}
    for name in packs:
        with tarfile.open(HERE / f"{name}.tar.xz") as packed:
            for member in packed:
                kernel = member.name.removesuffix(".ncu-rep")
                if names is None or kernel in names:
                    content = packed.extractfile(member)
                    assert content is not None
                    found[kernel] = folder / Path(member.name).name
                    found[kernel].write_bytes(content.read())
    return found


def open_kernels(names: Collection[str]) -> dict[str, Run]:
    """Reads the recordings of some kernels with the preset "default"."""
    with tempfile.TemporaryDirectory() as scratch:
        found = unpack(PACKS, Path(scratch), names)
        return dict(zip(found, open_reports(list(found.values())), strict=True))


def read_store(packs: Iterable[str], folder: Path) -> dict[str, Run]:
    """Returns the recordings of the packs from a store in `folder`; those that are not there yet are read."""
    store = RunStore(folder)
    kept = {run_id.name.lower() for run_id in store.ids()}
    with tempfile.TemporaryDirectory() as scratch:
        found = unpack(packs, Path(scratch))
        reports = [report for kernel, report in found.items() if kernel.lower() not in kept]
        for one in ingest_reports(reports, store, IngestOptions()) if reports else ():
            assert one.error is None, one.error
    return {run_id.name.lower(): store.open(run_id) for run_id in store.ids()}


def as_counters(run: Run, like: Run) -> Run:
    """Returns the part of a recording that the preset "counters" would have recorded.

    The metrics and their instances are those that a recording with that preset has too. Its rules and its stall samples are left
    out, and so is the text of the source.
    """
    tables = {name: run.table(name) for name in ("launches", "timings")}
    for name in ("metrics", "instances"):
        known = pa.array(sorted(set(labels_of(like.table(name), "metric"))))
        metrics = run.table(name).column("metric").cast(pa.string())
        tables[name] = run.table(name).filter(pc.is_in(metrics, value_set=known))
    instructions = run.table("instructions")
    for name in ("samples", "stalls", "source"):
        at = instructions.schema.get_field_index(name)
        field = instructions.schema.field(at)
        instructions = instructions.set_column(at, field, pa.nulls(instructions.num_rows, field.type))
    tables["instructions"] = instructions
    tables["rules"] = run.table("rules").slice(0, 0)
    return Run(run.path, run.manifest, stored=False, _tables=tables)


def duration_of(run: Run) -> float:
    return profile_kernel(run, kernel_of(run)).series["duration_ns"].mean


def kernel_of(run: Run) -> str:
    return max(run.manifest.kernels, key=lambda kernel: kernel.launches).name


def causes_of(run: Run) -> list[Cause]:
    return diagnose(profile_kernel(run, kernel_of(run))).causes


def judge(pair: Mapping[str, Any], causes: list[Cause], saved: float) -> dict[str, Any]:
    """Compares a diagnosis with what the change saved, in percent."""
    names = [one.cause for one in causes]
    rank = _rank([[name] for name in names], pair["causes"])
    found = causes[rank - 1] if rank else None
    first = names[0] if names else None
    line = None
    if "lines" in pair:
        low, high = pair["lines"]
        line = found is not None and any(
            (place.file or "").endswith(pair["file"]) and place.line is not None and low <= place.line <= high
            for place in found.where
        )
    return {
        "rank": rank,
        "first": first,
        "first_is": "right" if rank == 1 else "left" if first in pair.get("also", ()) else "wrong" if first else "none",
        "named": names[:3],
        "line": line,
        "expected": found.saves_pct.expected if found else None,
        "at_most": found.saves_pct.at_most if found else None,
        "broken": found is not None and saved > found.saves_pct.at_most + TOLERANCE,
    }  # fmt: skip


def rules_of(run: Run) -> list[tuple[str, ...]]:
    """Returns the causes that NVIDIA's rules amount to, the largest estimated speedup first, each answer once."""
    found = [
        (row["speedup_pct"] or 0.0, causes)
        for row in run.table("rules").to_pylist()
        if (causes := causes_of_rule(row))
    ]
    return list(dict.fromkeys(causes for _, causes in sorted(found, key=lambda one: -one[0])))


def judge_rules(pair: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """Returns the rank of NVIDIA's first right rule, and whether the first one of all is right or names what remains."""
    answers = rules_of(run)
    first = set(answers[0]) if answers else set()
    known = (
        "right" if first & set(pair["causes"]) else "left" if first & set(pair.get("also", ())) else "wrong"
    )
    return {"rules_rank": _rank(answers, pair["causes"]), "rules_first_is": known if first else "none"}


def _rank(answers: Iterable[Iterable[str]], right: Iterable[str]) -> int | None:
    return next((place for place, names in enumerate(answers, 1) if set(names) & set(right)), None)


def judge_pairs(
    pairs: Iterable[Mapping[str, Any]], runs: Mapping[str, Run], full: Mapping[str, Run], like: Run
) -> Iterator[dict[str, Any]]:
    """Yields the record of each pair; `full` holds the recordings with every section, where there are any."""
    for pair in pairs:
        before = runs[pair["before"].lower()]
        saved = _saved(pair, runs)
        row = {
            "before": pair["before"],
            "after": pair["after"],
            "right": pair["causes"],
            "saved": round(saved, 1),
            "saved_alone": _saved_alone(pair),
            **judge(pair, causes_of(before), saved),
            **judge_rules(pair, before),
            "counters": judge(pair, causes_of(as_counters(before, like)), saved),
        }
        if everything := full.get(pair["before"].lower()):
            row["full"] = judge(pair, causes_of(everything), saved) | judge_rules(pair, everything)
        yield row


@cache
def times() -> dict[str, float]:
    """Returns the time of each kernel without the profiler, in microseconds."""
    return {name: float(time) for name, time in csv.reader((HERE / "times.csv").read_text().splitlines())}


def _saved(pair: Mapping[str, Any], runs: Mapping[str, Run]) -> float:
    """Returns what the change saved under the profiler, in percent."""
    before, after = (duration_of(runs[pair[side].lower()]) for side in ("before", "after"))
    return 100 * (1 - after / (before * pair.get("repeats", 1)))


def _saved_alone(pair: Mapping[str, Any]) -> float:
    """Returns what the change saved without the profiler, in percent."""
    before, after = times()[pair["before"]], times()[pair["after"]]
    return round(100 * (1 - after / (before * pair.get("repeats", 1))), 1)


def judge_alone(listed: Mapping[str, Any], runs: Mapping[str, Run]) -> Iterator[dict[str, Any]]:
    """Yields each kernel of which several causes were removed, each by itself: what is named, and what each removal saved."""
    for one in listed["alone"]:
        causes = causes_of(runs[one["before"].lower()])
        yield {
            "kernel": one["before"].removesuffix(AGAIN),
            "first": causes[0].cause if causes else None,
            "removals": [
                _judge_removal({"before": one["before"], **removal}, causes, runs)
                for removal in removals_of(one, listed["pair"])
            ],
        }


def removals_of(one: Mapping[str, Any], pairs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the versions of a kernel without one of its causes, and which cause that is; what a pair removes, its list says."""
    kernels = {one["before"].removesuffix(AGAIN), *one.get("like", ())}
    of_pairs = [pair for pair in pairs if pair["before"] in kernels]
    found = [{"after": one["after"], "causes": one["causes"]}]
    for after in one["instead"]:
        same = [pair for pair in of_pairs if pair["after"] == after.removesuffix(AGAIN)]
        found.append({"after": after, "causes": (same or of_pairs)[0]["causes"]})
    return found


def _judge_removal(
    removal: Mapping[str, Any], causes: list[Cause], runs: Mapping[str, Run]
) -> dict[str, Any]:
    saved = _saved(removal, runs)
    judged = judge(removal, causes, saved)
    return {
        "after": removal["after"],
        "removed": removal["causes"],
        "saved": round(saved, 1),
        "saved_alone": _saved_alone(removal),
        **{key: judged[key] for key in ("rank", "expected", "at_most", "broken")},
    }


def judge_together(listed: Mapping[str, Any], runs: Mapping[str, Run]) -> Iterator[dict[str, Any]]:
    """Yields each kernel of which two causes were removed one after the other: what was expected of both together, and saved."""
    steps = {
        (one["before"], other["after"]): (one, other)
        for one in listed["pair"]
        for other in listed["pair"]
        if one["after"] == other["before"] and not set(one["causes"]) & set(other["causes"])
    }
    for (before, after), pairs in steps.items():
        run = runs[before.lower()]
        evidence = look_at(profile_kernel(run, kernel_of(run)))
        candidates = find_candidates(evidence)
        found = [
            _best([one for one in candidates if one.name in pair["causes"]], candidates) for pair in pairs
        ]
        both = {one: candidates[one] for one in found if one is not None}
        left = prod(1 - _saved(pair, runs) / 100 for pair in pairs)
        yield {
            "kernel": before,
            "after": after,
            "removed": {one.name: round(100 * saved, 1) for one, saved in both.items()},
            "expected": round(100 * saved_together(evidence.model, both), 1),
            "saved": round(100 * (1 - left), 1),
        }


def _best(named: Iterable[Candidate], saved: Mapping[Candidate, float]) -> Candidate | None:
    return max(named, key=lambda one: saved[one], default=None)


def judge_others(listed: Mapping[str, Any], runs: Mapping[str, Run], like: Run) -> dict[str, Any]:
    """Returns the record of the kernels with nothing to gain, and of those that only look like a cause."""
    found: dict[str, Any] = {}
    for kind, asked in (("ceiling", "causes"), ("decoy", "never")):
        rows = []
        for one in listed[kind]:
            run = runs[one["kernel"].lower()]
            row = {"kernel": one["kernel"], asked: one[asked]}
            for key, recording in (("named", run), ("counters", as_counters(run, like))):
                names = [cause.cause for cause in causes_of(recording)][:2]
                row[key] = names
                row[f"{key}_is_right"] = _is_right(kind, names, one[asked])
            rows.append(row)
        found[f"{kind}s"] = rows
    return found


def _is_right(kind: str, names: list[str], asked: list[str]) -> bool:
    """Returns whether a ceiling is named first, or a decoy's false causes are not among the first two."""
    return bool(names) and names[0] in asked if kind == "ceiling" else not set(names) & set(asked)


def measure(runs: Mapping[str, Run], full: Mapping[str, Run]) -> dict[str, Any]:
    """Returns the whole record."""
    listed = read_pairs()
    like = RunStore(HERE.parent / "runs").find(*_OF_COUNTERS)
    return {
        "pairs": list(judge_pairs(listed["pair"], runs, full, like)),
        "alone": list(judge_alone(listed, runs)),
        "together": list(judge_together(listed, runs)),
        **judge_others(listed, runs, like),
    }


def as_text(record: Mapping[str, list[Any]]) -> str:
    """Returns the record as JSON, one line for each kernel, so that a change of one is one line."""
    lists = (
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in record.items()
    )
    return "{" + ",\n".join(lists) + "}\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="a folder for what was read of the reports")
    parser.add_argument("--check", action="store_true", help="compare with the record that is stored")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        text = as_text(
            measure(read_store(PACKS, folder / "source"), read_store([EVERY_SECTION], folder / EVERY_SECTION))
        )
    if asked.check:
        is_same = RECORD.read_text() == text
        print(
            RECORD.name, "is current" if is_same else "is not current: run tests/data/causes/track_record.py"
        )
        return not is_same
    RECORD.write_text(text)
    print(f"{RECORD.name} written: {len(json.loads(text)['pairs'])} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
