#!/usr/bin/env python3
"""Prints pairs.toml with line numbers in place of marks: pairs.py > RESOLVED.toml

A mark is a comment at the end of a line, `// <- NAME` or `# <- NAME`. The lines of a mark go from the first to the last of its name, so that
the numbers follow the source wherever it moves.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARK = re.compile(r"(?://|#).*<- (\w+)\s*$")


def marked(source: str) -> dict[str, list[int]]:
    """Returns the first and the last line of each mark of a source."""
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(source.splitlines(), 1):
        if found := MARK.search(line):
            lines.setdefault(found[1], [number, number])[1] = number
    return lines


def read_pairs(folder: Path = HERE) -> dict[str, list[dict]]:
    """Returns the lists `pair`, `ceiling`, `decoy` and `alone`, with `lines` for each pair that blames a line."""
    listed = tomllib.loads((folder / "pairs.toml").read_text())
    for pair in listed["pair"]:
        mark = pair.pop("mark", pair["before"].split("-")[0])
        if mark:
            pair["lines"] = marked((folder / pair["file"]).read_text())[mark]
    return listed


def main() -> None:
    for kind, rows in read_pairs().items():
        for row in rows:
            print(
                f"[[{kind}]]",
                *(f"{key} = {json.dumps(value)}" for key, value in row.items()),
                sep="\n",
                end="\n\n",
            )


if __name__ == "__main__":
    main()
