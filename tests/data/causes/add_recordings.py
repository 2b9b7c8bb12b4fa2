#!/usr/bin/env python3
"""Adds what record.py wrote to this folder: add_recordings.py OUT

Packs and times take the place of those of the same kernels. Pairs of `samples.toml` whose two kernels have a time now move to
`pairs.toml`. Then run track_record.py: what it says of these pairs is the diagnosis before anything was changed for them.
"""

from __future__ import annotations

import csv
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORTH_COUNTING = 3.0  # percent: less is within what two recordings differ by


def add_pack(pack: Path, folder: Path) -> None:
    """Adds the reports of a pack to that of the same name, in place of those of the same kernels."""
    there = folder / pack.name
    with tempfile.TemporaryDirectory() as scratch:
        for one in (there, pack):
            if one.exists():
                with tarfile.open(one) as packed:
                    packed.extractall(scratch, filter="data")
        with tarfile.open(made := Path(scratch) / "made.tar.xz", "w:xz", preset=9) as packed:
            for report in sorted(Path(scratch).glob("*.ncu-rep")):
                packed.add(report, report.name)
        shutil.move(made, there)


def read_times(path: Path) -> dict[str, str]:
    return dict(csv.reader(path.read_text().splitlines()))


def move_pairs(folder: Path, times: dict[str, str]) -> list[str]:
    """Moves the labelled pairs that are recorded, comments and all; returns what each saves without the profiler."""
    head, *blocks = re.split(r"(?m)^(?=\[\[pair\]\])", (folder / "samples.toml").read_text())
    moved, said = [], []
    for block in blocks:
        (pair,) = tomllib.loads(block)["pair"]
        if {pair["before"], pair["after"]} <= times.keys():
            moved.append(block.rstrip() + "\n\n")
            before = float(times[pair["before"]]) * pair.get("repeats", 1)
            saved = 100 * (1 - float(times[pair["after"]]) / before)
            too_little = ": too little to count" if saved < WORTH_COUNTING else ""
            said.append(f"{pair['before']} -> {pair['after']} saves {saved:.1f} %{too_little}")
    pairs = folder / "pairs.toml"
    at = re.search(r"(?m)^\[\[(ceiling|decoy)\]\]", text := pairs.read_text())
    place = at.start() if at else len(text)
    pairs.write_text(text[:place] + "".join(moved) + text[place:])
    left = [block for block in blocks if block.rstrip() + "\n\n" not in moved]
    (folder / "samples.toml").write_text(head + "".join(left))
    return said


def main(out: Path, folder: Path = HERE) -> None:
    for pack in sorted(out.glob("*.tar.xz")):
        add_pack(pack, folder)
    times = read_times(folder / "times.csv") | read_times(out / "times.csv")
    (folder / "times.csv").write_text("".join(f"{kernel},{time}\n" for kernel, time in times.items()))
    for line in move_pairs(folder, times):
        print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
