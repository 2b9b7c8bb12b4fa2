"""How sure a first cause is: how often such a cause was right on kernels that nobody who worked on the diagnosis had seen.

`unseen_kernels.csv` counts those kernels by the cause that stood first, and by what it was likely to save: these two say more about
who is right than anything else that was tried. tests/data/causes/blind.py writes the file from its record of blind tests.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from profiler.catalog.causes.ceilings import CEILINGS

RECORD = Path(__file__).with_name("unseen_kernels.csv")
COLUMNS = ("first", "likely_pct", "kernels", "right_first", "among_three")
# Percent of the time that the first cause is likely to save: where the bands begin.
BANDS = (0, 20, 40, 60)
# With fewer, a single kernel moves the share by more than ten points. Where each blind test was predicted from the others, 3 to 10 did
# about as well, and with more, the cause said next to nothing.
_ENOUGH = 10


class Answers(NamedTuple):
    """Counts the kernels that got such an answer, and those for which it was right."""

    kernels: int
    right_first: int
    among_three: int


class Sureness(Struct, frozen=True):
    """How many answers of blind tests were right, of those that are most like one."""

    kernels: Annotated[int, Meta(description="How many kernels got such an answer.")]
    right_first: Annotated[
        int, Meta(description="For how many the first cause was one that the next version removed.")
    ]
    among_three: Annotated[
        int, Meta(description="For how many one that the next version removed was among the first three.")
    ]
    of_this_cause: Annotated[
        bool,
        Meta(
            description=f"Whether these answers named this cause first. If not, fewer than {_ENOUGH} did, and all count that expected to save "
            "about as much; of a kernel at a ceiling, all that named a ceiling."
        ),
    ]

    @property
    def right_first_pct(self) -> float:
        return 100 * self.right_first / self.kernels


CEILING_NAMES = {kind.name for kind in CEILINGS}
AnswersByFirst = Mapping[tuple[str, int], Answers]


def how_sure(first: str, expected: float, record: AnswersByFirst | None = None) -> Sureness:
    """Returns how often answers were right that named `first` before all others and expected to save about as much by it.

    If these are few, it goes by all answers that expected to save about as much. Ceilings, which expect to save nothing, and other causes
    say nothing of each other.
    """
    record = record or read_record()
    band = band_of(expected)
    of_cause = record.get((first, band))
    if of_cause and of_cause.kernels >= _ENOUGH:
        return Sureness(*of_cause, of_this_cause=True)
    alike = [
        count
        for (name, its_band), count in record.items()
        if its_band == band and (name in CEILING_NAMES) == (first in CEILING_NAMES)
    ]
    kernels, right_first, among_three = map(sum, zip(*alike, strict=True))
    return Sureness(kernels, right_first, among_three, of_this_cause=False)


def answers_naming(cause: str) -> Answers:
    """Counts the kernels for which this cause stood first, whatever it was likely to save."""
    counts = [count for (first, _), count in read_record().items() if first == cause]
    return Answers(*map(sum, zip(*counts, strict=True))) if counts else Answers(0, 0, 0)


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
