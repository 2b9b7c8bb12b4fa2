"""What following the advice did where an author had changed something else, for docs/track-record.md and docs/track-record-tests.md.

followed.csv in tests/data/causes has a row for each kernel: what the first cause was expected to save, and what it saved.
"""

import sys
from collections.abc import Sequence
from statistics import mean, median

from cause_record import ALIKE, DATA
from recorded_tables import table_text

sys.path.append(str(DATA))
from blind import WORTH_A_PAIR, read_followed

Row = dict[str, str]
_OFTEN = 3  # kernels, from which on a cause has a row of its own


def followed_text() -> str:
    """What following came to, in a sentence and by first cause."""
    rows = read_followed()
    by_cause: dict[str, list[Row]] = {}
    for row in rows:
        by_cause.setdefault(row["cause"], []).append(row)
    often = sorted((some for some in by_cause.values() if len(some) >= _OFTEN), key=len, reverse=True)
    rarely = [row for some in by_cause.values() if len(some) < _OFTEN for row in some]
    groups = [("all", rows), *((f"`{some[0]['cause']}`", some) for some in often), ("another", rarely)]
    error = mean(abs(float(row["saved"]) - float(row["expects"])) for row in rows)
    return (
        f"**Following the first cause made {_faster(rows)} of {len(rows)} kernels faster by {WORTH_A_PAIR:.0f} % or more, and {_as_much(rows)} by as "
        f"much as the author's change had, or by more.** {_slower(rows)} kernels became slower. The estimates were {error:.1f} points off on average.\n\n"
    ) + table_text(
        (
            "the first cause is", "kernels", f"faster by {WORTH_A_PAIR:.0f} % or more", "by as much as the author's change, or more",
            "likely to save, median", "saved, median",
        ),
        [_cells(said, some) for said, some in groups],
        right=range(1, 6),
    )  # fmt: skip


def every_followed_table() -> str:
    """A row for each kernel: what was done, what it was expected to save and saved, and what the author's change saved."""
    rows = [
        (row["test"], f"`{row['pair']}`", f"`{row['cause']}`", row["change"], row["expects"], row["saved"], row["authors"])
        for row in read_followed()
    ]  # fmt: skip
    header = (
        "test",
        "kernel",
        "first cause",
        "what was done",
        "likely to save, %",
        "saved, %",
        "the author's change saved, %",
    )
    return table_text(header, rows, right=(0, 4, 5, 6))


def _cells(said: str, rows: Sequence[Row]) -> tuple[str | int, ...]:
    expected, saved = (f"{median(float(row[name]) for row in rows):.0f} %" for name in ("expects", "saved"))
    return said, len(rows), _faster(rows), _as_much(rows), expected, saved


def _faster(rows: Sequence[Row]) -> int:
    return sum(float(row["saved"]) >= WORTH_A_PAIR for row in rows)


def _slower(rows: Sequence[Row]) -> int:
    return sum(float(row["saved"]) < 0 for row in rows)


def _as_much(rows: Sequence[Row]) -> int:
    return sum(float(row["saved"]) >= float(row["authors"]) - ALIKE for row in rows)
