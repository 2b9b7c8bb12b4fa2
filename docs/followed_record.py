"""What following the first cause did, for docs/track-record.md and docs/track-record-tests.md.

In tests/data/causes, followed_unseen.csv has a row for each kernel that was followed before its author's change was known, and
followed.csv for each whose author was known to have changed something else: what the cause was expected to save, and what it saved.
"""

import sys
from collections.abc import Sequence
from statistics import mean, median

from cause_record import ALIKE, DATA
from recorded_tables import table_text

sys.path.append(str(DATA))
from blind import FOLLOWED_UNSEEN, WORTH_A_PAIR, read_followed, read_scored

Row = dict[str, str]
_OFTEN = 3  # kernels, from which on a cause has a row of its own


def followed_unseen_text() -> str:
    """What following came to before the author's change was known, in a sentence and by whether it was the same."""
    rows = read_followed(FOLLOWED_UNSEEN)
    tried = [row for row in rows if row["saved"]]
    same = {(pair["test"], pair["pair"]) for pair in read_scored() if pair["rank"] == "1"}
    groups = [
        ("all", rows),
        ("what the author changed", [row for row in rows if (row["test"], row["pair"]) in same]),
        ("something else", [row for row in rows if (row["test"], row["pair"]) not in same]),
    ]
    saved, authors = (median(float(row[name]) for row in tried) for name in ("saved", "authors"))
    return (
        f"**Of {len(rows)} kernels, following the first cause made {_faster(rows)} faster by {WORTH_A_PAIR:.0f} % or more, and {_as_much(rows)} by as much as "
        f"the author's change, or by more.** {_slower(rows)} became slower, and for {len(rows) - len(tried)} there was nothing to follow. Of those that were tried, "
        f"following saved {saved:.0f} % of the time (the median), and the authors' changes {authors:.0f} %. The estimates were {_error(tried):.1f} points off on average.\n\n"
    ) + table_text(
        (
            "the first cause is", "kernels", f"faster by {WORTH_A_PAIR:.0f} % or more", "by as much as the author's change, or more",
            "likely to save, median", "saved, median", "the author's change saved, median",
        ),
        [(*_cells(said, some), _median(some, "authors")) for said, some in groups],
        right=range(1, 7),
    )  # fmt: skip


def followed_text() -> str:
    """What following came to, in a sentence and by first cause."""
    rows = read_followed()
    by_cause: dict[str, list[Row]] = {}
    for row in rows:
        by_cause.setdefault(row["cause"], []).append(row)
    often = sorted((some for some in by_cause.values() if len(some) >= _OFTEN), key=len, reverse=True)
    rarely = [row for some in by_cause.values() if len(some) < _OFTEN for row in some]
    groups = [("all", rows), *((f"`{some[0]['cause']}`", some) for some in often), ("another", rarely)]
    return (
        f"**Following the first cause made {_faster(rows)} of {len(rows)} kernels faster by {WORTH_A_PAIR:.0f} % or more, and {_as_much(rows)} by as "
        f"much as the author's change had, or by more.** {_slower(rows)} kernels became slower. The estimates were {_error(rows):.1f} points off on average.\n\n"
    ) + table_text(
        (
            "the first cause is", "kernels", f"faster by {WORTH_A_PAIR:.0f} % or more", "by as much as the author's change, or more",
            "likely to save, median", "saved, median",
        ),
        [_cells(said, some) for said, some in groups],
        right=range(1, 6),
    )  # fmt: skip


def every_followed_table() -> str:
    return _table_of_each(read_followed())


def every_followed_unseen_table() -> str:
    return _table_of_each(read_followed(FOLLOWED_UNSEEN))


def _table_of_each(followed: Sequence[Row]) -> str:
    """A row for each kernel: what was done, what it was expected to save and saved, and what the author's change saved."""
    rows = [
        (row["test"], f"`{row['pair']}`", f"`{row['cause']}`", row["change"], row["expects"], row["saved"], row["authors"])
        for row in followed
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
    return said, len(rows), _faster(rows), _as_much(rows), _median(rows, "expects"), _median(rows, "saved")


def _median(rows: Sequence[Row], name: str) -> str:
    return f"{median(float(row[name] or 0) for row in rows):.0f} %"


def _error(rows: Sequence[Row]) -> float:
    return mean(abs(float(row["saved"]) - float(row["expects"])) for row in rows)


def _faster(rows: Sequence[Row]) -> int:
    return sum(float(row["saved"] or 0) >= WORTH_A_PAIR for row in rows)


def _slower(rows: Sequence[Row]) -> int:
    return sum(float(row["saved"] or 0) < 0 for row in rows)


def _as_much(rows: Sequence[Row]) -> int:
    return sum(bool(row["saved"]) and float(row["saved"]) >= float(row["authors"]) - ALIKE for row in rows)
