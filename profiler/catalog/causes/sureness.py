"""Says how far to trust a first cause and its estimate, by blind tests: on kernels that nobody who worked on the diagnosis had seen.

`unseen_kernels.csv` counts these kernels by the cause that stood first, and by what it was likely to save. Nothing else that was tried
says more about whether an answer is right. tests/data/causes/blind.py writes the file from its record of the tests.
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
COLUMNS = ("first", "likely_pct", "kernels", "right_first", "among_three", "points_off", "followed", "faster")
# Percent of the time that the first cause is likely to save: where the bands begin.
BANDS = (0, 20, 40, 60)
# With fewer, a single kernel moves the share by more than ten points. Where each blind test was predicted from the others, 3 to 10 did
# about as well, and with more, the cause said next to nothing.
_ENOUGH = 10
# How far off the estimates of one cause were says the less the fewer they are: so many typical ones of the same band count beside them. Predicted so, each
# blind test was 4 % less wrong, by the mean of the squares, than by those of the cause alone; with 3 to 10, the same.
_TYPICAL = 5


class Answers(NamedTuple):
    """Counts the kernels that got such an answer, and those for which it was right.

    An answer is right if it names what the author of the kernel changed. `points_off` adds up how far the estimates were from what was
    saved, in percent of the time, where the first cause was right. Of some kernels whose author had changed something else, the first cause
    was `followed`, which made some of them `faster` by a tenth or more.
    """

    kernels: int
    right_first: int
    among_three: int
    points_off: float
    followed: int = 0
    faster: int = 0

    @property
    def mean_points_off(self) -> float | None:
        return self.points_off / self.right_first if self.right_first >= _ENOUGH else None

    def points_off_beside(self, typical: float) -> float:
        """Returns the mean of these estimates and a few that are as far off as is `typical` of them."""
        return (self.points_off + _TYPICAL * typical) / (self.right_first + _TYPICAL)


class Sureness(Struct, frozen=True):
    """How many answers of blind tests were right, of those that are most like one, and how far off their estimates were."""

    kernels: Annotated[int, Meta(description="How many kernels got such an answer.")]
    right_first: Annotated[
        int,
        Meta(description="For how many the first cause was one that the next version of the author removed."),
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

    points_off: Annotated[
        float | None,
        Meta(
            description="How far the estimate was from what was saved, on average, in percent of the time, where the first cause was right. Of all that "
            f"expected to save about as much, {_TYPICAL} typical ones count beside those of the cause. Null for a ceiling, which estimates nothing."
        ),
    ]

    followed: Annotated[
        int,
        Meta(
            description="Of all answers that expected to save about as much, and did not name first what the author changed: for how many kernels somebody "
            "did what the first cause advised."
        ),
    ] = 0
    faster: Annotated[
        int, Meta(description="How many of these became faster by 10 percent of the time or more.")
    ] = 0

    @property
    def right_first_pct(self) -> float:
        return 100 * self.right_first / self.kernels


_NONE = Answers(0, 0, 0, 0.0)
CEILING_NAMES = {kind.name for kind in CEILINGS}
AnswersByFirst = Mapping[tuple[str, int], Answers]


def how_sure(first: str, expected: float, record: AnswersByFirst | None = None) -> Sureness:
    """Returns how often answers were right that named `first` before all others and expected to save about as much by it.

    If these are few, it goes by all answers that expected to save about as much. Ceilings, which expect to save nothing, and other causes
    say nothing of each other.
    """
    record = record or read_record()
    band = band_of(expected)
    of_cause = record.get((first, band), _NONE)
    is_ceiling = first in CEILING_NAMES
    alike = _added(
        count
        for (name, its_band), count in record.items()
        if its_band == band and (name in CEILING_NAMES) == is_ceiling
    )
    is_alone = of_cause.kernels >= _ENOUGH
    counted = of_cause if is_alone else alike
    typical = alike.mean_points_off
    return Sureness(
        counted.kernels,
        counted.right_first,
        counted.among_three,
        of_this_cause=is_alone,
        points_off=None if is_ceiling or typical is None else round(of_cause.points_off_beside(typical), 1),
        followed=alike.followed,
        faster=alike.faster,
    )


def answers_naming(cause: str) -> Answers:
    """Counts the kernels for which this cause stood first, whatever it was likely to save."""
    return _added(count for (first, _), count in read_record().items() if first == cause)


def _added(counts: Iterable[Answers]) -> Answers:
    return Answers(*map(sum, zip(_NONE, *counts, strict=True)))


def band_of(expected: float) -> int:
    return max(begin for begin in BANDS if begin <= max(expected, 0))


@cache
def read_record() -> AnswersByFirst:
    """Returns the counts of each first cause and band."""
    with RECORD.open(newline="") as file:
        return {
            (row["first"], int(row["likely_pct"])): Answers(
                int(row["kernels"]),
                int(row["right_first"]),
                int(row["among_three"]),
                float(row["points_off"]),
                int(row["followed"]),
                int(row["faster"]),
            )
            for row in csv.DictReader(file)
        }
