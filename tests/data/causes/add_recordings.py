#!/usr/bin/env python3
"""Adds what record.py wrote to this folder: add_recordings.py OUT

Packs and times take the place of those of the same kernels. What `samples.toml` lists and whose kernels all have a time now
moves to `pairs.toml`. Then run track_record.py: what it says of these pairs is the diagnosis before anything was changed for them.
"""

from __future__ import annotations

import csv
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
KINDS = ("pair", "ceiling", "decoy", "alone")  # in the order of pairs.toml
WORTH_COUNTING = 3.0  # percent: less is within what two recordings differ by


def add_pack(pack: Path, folder: Path) -> None:
    """Adds the reports of a pack to that of the same name, in place of those of the same kernels."""
    there = folder / pack.name
    with tempfile.TemporaryDirectory() as scratch:
        for one in (there, pack):
            if one.exists():
                with tarfile.open(one) as packed:
                    for member in packed:
                        content = packed.extractfile(member)
                        assert content is not None
                        (Path(scratch) / Path(member.name).name).write_bytes(content.read())
        with tarfile.open(made := Path(scratch) / "made.tar.xz", "w:xz", preset=9) as packed:
            for report in sorted(Path(scratch).glob("*.ncu-rep")):
                packed.add(report, report.name)
        shutil.move(made, there)


def read_times(path: Path) -> dict[str, str]:
    return dict(csv.reader(path.read_text().splitlines()))


def move_recorded(folder: Path, times: dict[str, str]) -> list[str]:
    """Moves what is labelled and recorded, comments and all, before the next kind; returns what each pair saves without the profiler."""
    head, *blocks = re.split(
        rf"(?m)^(?=\[\[(?:{'|'.join(KINDS)})\]\])", (folder / "samples.toml").read_text()
    )
    moved, said = [], []
    for block in blocks:
        ((kind, (one,)),) = tomllib.loads(block).items()
        kernels = {one[side] for side in ("before", "after", "kernel") if side in one}
        if not kernels | set(one.get("instead", ())) <= times.keys():
            continue
        moved.append(block)
        _insert(folder / "pairs.toml", block.rstrip() + "\n\n", KINDS[KINDS.index(kind) + 1 :])
        if kind == "pair":
            said.append(_what_it_saves(one, times))
    (folder / "samples.toml").write_text(head + "".join(block for block in blocks if block not in moved))
    return said


def _insert(path: Path, block: str, later: Sequence[str]) -> None:
    """Inserts a block before the first of a later kind, with the heading of that kind."""
    text = path.read_text()
    at = re.search(rf"(?m)^(?:# -.*\n+)?\[\[(?:{'|'.join(later)})\]\]", text) if later else None
    place = at.start() if at else len(text)
    before = text[:place].rstrip("\n") + "\n\n"
    path.write_text(before + block.rstrip("\n") + "\n" + ("\n" + text[place:] if at else ""))


def _what_it_saves(pair: Mapping[str, Any], times: Mapping[str, str]) -> str:
    before = float(times[pair["before"]]) * pair.get("repeats", 1)
    saved = 100 * (1 - float(times[pair["after"]]) / before)
    too_little = ": too little to count" if saved < WORTH_COUNTING else ""
    return f"{pair['before']} -> {pair['after']} saves {saved:.1f} %{too_little}"


def main(out: Path, folder: Path = HERE) -> None:
    for pack in sorted(out.glob("*.tar.xz")):
        add_pack(pack, folder)
    times = read_times(folder / "times.csv") | read_times(out / "times.csv")
    (folder / "times.csv").write_text("".join(f"{kernel},{time}\n" for kernel, time in times.items()))
    for line in move_recorded(folder, times):
        print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
