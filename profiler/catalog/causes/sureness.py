"""How sure a first cause is: how often such a cause was right on kernels that nobody who worked on the diagnosis had seen.

`unseen_kernels.csv` counts those kernels by the cause that stood first, and by what it was likely to save: these two say more about
who is right than anything else that was tried. tests/data/causes/blind.py writes the file from its record of blind tests.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from profiler.catalog.causes.ceilings import CEILINGS

RECORD = Path(__file__).with_name("unseen_kernels.csv")
COLUMNS = ("first", "likely_pct", "kernels", "right_first", "among_three")
# Percent of the time that the first cause is likely to save: where the bands begin.
BANDS = (0, 20, 40, 60)
# A band counts as much as so many kernels beside those of one cause in it, and so do all kernels beside a band. Where each blind test
# was predicted from the others, 2 to 8 did about as well, and fewer or more did worse.
_COUNTS_AS = 5


class Sureness(Struct, frozen=True):
    """How often such an answer is right, in percent of the kernels of blind tests."""

    right_first_pct: Annotated[
        float, Meta(description="How often such a first cause was the one that the next version removed.")
    ]
    among_three_pct: Annotated[
        float, Meta(description="How often the one that the next version removed was among the first three.")
    ]


class Answers(NamedTuple):
    """Counts the kernels that got such an answer, and those for which it was right."""

    kernels: int
    right_first: int
    among_three: int


_NONE = Answers(0, 0, 0)
_CEILINGS = {kind.name for kind in CEILINGS}
AnswersByFirst = Mapping[tuple[str, int], Answers]


def how_sure(first: str, expected: float, record: AnswersByFirst | None = None) -> Sureness:
    """Returns how sure an answer is that names `first` before all others and expects to save so much by it, in percent.

    It goes by how often that cause was right where it promised about as much, and, the fewer such kernels there are, by how often
    any cause was that did.
    """
    record = record or read_record()
    band = band_of(expected)
    # Of kernels with nothing to gain, too few were tried, and they say nothing of others.
    faults = {like: count for like, count in record.items() if like[0] not in _CEILINGS}
    of_band = _sum(count for (_, its_band), count in faults.items() if its_band == band)
    of_cause = record.get((first, band), _NONE)
    in_all = _shares(_sum(faults.values()))
    first_share, three_share = _shares(of_cause, _shares(of_band, in_all, _COUNTS_AS), _COUNTS_AS)
    return Sureness(100 * first_share, 100 * three_share)


def band_of(expected: float) -> int:
    return max(begin for begin in BANDS if begin <= max(expected, 0))


@cache
def read_record() -> AnswersByFirst:
    """Returns the counts of each first cause and band."""
    with RECORD.open(newline="") as file:
        return {
            (row["first"], int(row["likely_pct"])): Answers(*(int(row[name]) for name in COLUMNS[2:]))
            for row in csv.DictReader(file)
        }


def _sum(counts: Iterable[Answers]) -> Answers:
    return Answers(*map(sum, zip(_NONE, *counts, strict=True)))


def _shares(
    count: Answers, otherwise: tuple[float, float] = (0.0, 0.0), counts_as: int = 0
) -> tuple[float, float]:
    """Returns how often answers were right, first and among three; what is known `otherwise` counts as so many kernels."""
    of = count.kernels + counts_as
    return (
        (count.right_first + counts_as * otherwise[0]) / of,
        (count.among_three + counts_as * otherwise[1]) / of,
    )
