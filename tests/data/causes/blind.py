#!/usr/bin/env python3
"""Scores a blind test of the diagnosis: blind.py TEST FOLDER [FOLDER ...] [--prof PROGRAM]

A blind test holds kernels of other people that nobody who works on the diagnosis has seen. FOLDER has

    pairs.toml       the pairs, labelled before anything ran: [[pair]] with `name`, `file`, `cause` (the answers that are right),
                     `lines` (of the file, or of a string that CuPy compiles, that a right answer points at; none where the cause is
                     one of the whole kernel), `source` (who wrote it), and `two_versions_of_authors` (whether they wrote both)
    times.csv        what each version takes without the profiler: pair,before_us,after_us,verified
    reports/         NAME.ncu-rep, of the version before the change

Adds what `prof show` says of each pair to blind_pairs.csv, in place of what stands there for the same test. Pairs whose change saves
less than 10 %, or whose versions do not agree, are left out. From all pairs, it counts anew for `prof` how sure each answer is.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))
from profiler.catalog.causes.sureness import COLUMNS as COUNTED, RECORD, Answers, band_of  # noqa: E402
from profiler.text import is_cupy_source  # noqa: E402

SCORED = HERE / "blind_pairs.csv"
# What following the first cause did: where the author had changed something else, and before anyone who followed knew what the author had changed.
FOLLOWED, FOLLOWED_UNSEEN = HERE / "followed.csv", HERE / "followed_unseen.csv"
WORTH_A_PAIR = 10.0  # percent that the change saves
NEAR = 2  # lines: a statement may go on for some
NAMED = 3
COLUMNS = (
    "test", "pair", "both_versions_by_authors", "source", "saved", "right",
    *(f"{what}_{place}" for place in range(1, NAMED + 1) for what in ("named", "expects")),
    "rank", "line_is_right", "expected", "at_most",
)  # fmt: skip


def score(test: str, folder: Path, prof: str) -> Iterator[dict[str, Any]]:
    """Yields a row for each pair of a folder that counts."""
    with (folder / "times.csv").open(newline="") as file:
        times = {row["pair"]: row for row in csv.DictReader(file)}
    for pair in tomllib.loads((folder / "pairs.toml").read_text())["pair"]:
        report = folder / "reports" / f"{pair['name']}.ncu-rep"
        saved = _saved(times.get(pair["name"]))
        if saved is None or saved < WORTH_A_PAIR or not report.exists():
            print(
                f"{pair['name']} does not count: {'no result' if saved is None else f'saves {saved:.0f} %'}"
            )
            continue
        yield {
            "test": test,
            "pair": pair["name"],
            "both_versions_by_authors": _word(pair["two_versions_of_authors"]),
            "source": source_of(pair["source"]),
            "saved": round(saved, 1),
            "right": " ".join(pair["cause"]),
            **judge(pair, diagnose(report, prof)),
        }


def _saved(times: dict[str, str] | None) -> float | None:
    """Returns what a change saved, in percent, or None if its versions did not run or did not agree."""
    if times is None or times["verified"] not in ("1", "true"):
        return None
    return 100 * (1 - float(times["after_us"]) / float(times["before_us"]))


def source_of(said: str) -> str:
    """Returns the repository that a source begins with, or else its first words."""
    repository = re.match(r"[\w.-]+/[\w.-]+(?=[ ,:])", said)
    return repository[0] if repository else re.split(r"[:;,(]", said)[0].strip()


def diagnose(report: Path, prof: str) -> list[dict[str, Any]]:
    """Returns the causes of the longest kernel of a report."""
    done = subprocess.run(
        [prof, "show", report, "--full", "--format", "json"], capture_output=True, text=True, check=True
    )
    kernels = json.loads(done.stdout)["kernels"]
    causes: list[dict[str, Any]] = max(kernels, key=_duration)["causes"]
    return causes


def _duration(kernel: dict[str, Any]) -> float:
    return next((one["mean"] for one in kernel["metrics"] if one["name"] == "duration_ns"), None) or 0.0


def judge(pair: dict[str, Any], causes: list[dict[str, Any]]) -> dict[str, Any]:
    """Compares the causes that are named with the label."""
    row: dict[str, Any] = {}
    for place, cause in enumerate(causes[:NAMED], 1):
        row |= {f"named_{place}": cause["cause"], f"expects_{place}": cause["saves_pct"]["expected"]}
    rank = next((place for place, one in enumerate(causes, 1) if one["cause"] in pair["cause"]), None)
    found = causes[rank - 1] if rank else None
    if pair.get("lines"):
        at = [
            place["line"]
            for place in (found or {}).get("where", ())
            if place.get("line") and _is_in(place.get("file") or "", pair["file"])
        ]
        row["line_is_right"] = _word(any(abs(line - right) <= NEAR for line in at for right in pair["lines"]))
    return (
        row
        | {"rank": rank}
        | ({key: found["saves_pct"][key] for key in ("expected", "at_most")} if found else {})
    )


def _is_in(place: str, file: str) -> bool:
    """Returns whether a place is in a pair's file; code that CuPy compiles is a string in it."""
    return Path(place).name == Path(file).name or is_cupy_source(place)


def _word(is_so: bool) -> str:
    return "yes" if is_so else "no"


def read_scored() -> list[dict[str, str]]:
    with SCORED.open(newline="") as file:
        return list(csv.DictReader(file))


def read_followed(path: Path = FOLLOWED) -> list[dict[str, str]]:
    """Returns the kernels for which somebody did what their first cause advises; `saved` is empty where nothing could be done."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_all_followed() -> list[dict[str, str]]:
    return [*read_followed(), *read_followed(FOLLOWED_UNSEEN)]


def count_answers(
    pairs: Iterable[dict[str, str]], followed: Iterable[dict[str, str]] = ()
) -> dict[tuple[str, int], Answers]:
    """Counts the pairs, those right first and those right among three, by the first cause and by what it is likely to save.

    Of those right first, it adds up how far that was from what was saved. Of the others, it counts those whose first cause was `followed`,
    and those that this made faster; not those with another first cause when they were first diagnosed.
    """
    counts: dict[tuple[str, int], Answers] = {}
    saved_by = {(one["test"], one["pair"], one["cause"]): float(one["saved"] or 0) for one in followed}
    for pair in pairs:
        expected, is_right = float(pair["expects_1"] or 0), pair["rank"] == "1"
        like = pair["named_1"], band_of(expected)
        had = counts.get(like, Answers(0, 0, 0, 0.0))
        is_among = bool(pair["rank"]) and int(pair["rank"]) <= NAMED
        off = round(had.points_off + is_right * abs(expected - float(pair["saved"])), 1)
        followed_saved = None if is_right else saved_by.get((pair["test"], pair["pair"], pair["named_1"]))
        counts[like] = Answers(
            had.kernels + 1,
            had.right_first + is_right,
            had.among_three + is_among,
            off,
            had.followed + (followed_saved is not None),
            had.faster + (followed_saved is not None and followed_saved >= WORTH_A_PAIR),
        )
    return dict(sorted(counts.items()))


def write_record(counts: dict[tuple[str, int], Answers]) -> None:
    with RECORD.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COUNTED)
        writer.writerows((*like, *count) for like, count in counts.items())


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("test", type=int, help="which blind test it is, such as 16")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--prof", default="prof", help="the program to ask [default: prof]")
    asked = parser.parse_args()
    test = str(asked.test)
    rows: list[dict[str, Any]] = [row for row in read_scored() if row["test"] != test]
    new = [row for folder in asked.folders for row in score(test, folder, asked.prof)]
    with SCORED.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*rows, *new], key=lambda row: int(row["test"])))
    write_record(count_answers(read_scored(), read_all_followed()))
    print(f"{sum(row['rank'] == 1 for row in new)} of {len(new)} right first")


if __name__ == "__main__":
    main()
