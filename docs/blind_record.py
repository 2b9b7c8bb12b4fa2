"""The record of the diagnosis on kernels that it had not seen, for docs/track-record.md and docs/track-record-tests.md.

blind_tests.csv in tests/data/causes has a row for each blind test, and blind_pairs.csv one for each pair of the eleventh and later
ones, as tests/data/causes/blind.py scored it before anything was changed for it.
"""

import csv
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from cause_record import ALIKE, AMONG, DATA
from recorded_tables import table_text

from profiler.catalog.causes.sureness import BANDS, CEILING_NAMES, how_sure

sys.path.append(str(DATA))
from blind import count_answers

Pair = dict[str, str]
_JUDGED = (
    "counted", "right first", "first one that remains", "right among three", "right line", "bounds broken", "mean error",
)  # fmt: skip
_OFTEN = 10  # pairs, from which on a share says something


class Totals(NamedTuple):
    """What a blind test came to."""

    counted: int
    right_first: int
    among_three: int
    lines_right: int
    lines: int
    broken: int
    error: float


def read_pairs() -> list[Pair]:
    """Returns the pairs of the eleventh test and of later ones."""
    return _read("blind_pairs.csv")


def _read(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def totals_of(pairs: Sequence[Pair]) -> Totals:
    """Returns what these pairs come to; the error is that of the pairs whose cause was named."""
    lines = [pair["line_is_right"] for pair in pairs if pair["line_is_right"]]
    named = [pair for pair in pairs if pair["rank"]]
    return Totals(
        len(pairs),
        sum(pair["rank"] == "1" for pair in pairs),
        sum(int(pair["rank"]) <= AMONG for pair in named),
        lines.count("yes"),
        len(lines),
        sum(float(pair["saved"]) > float(pair["at_most"]) + ALIKE for pair in named),
        sum(abs(float(pair["saved"]) - float(pair["expected"])) for pair in named) / len(named),
    )


def totals_table() -> str:
    """What all blind tests came to, and the last ten, when they were first diagnosed."""
    tests, found = _read_tests()
    rows = []
    for said, last in ((f"all {len(tests)} tests", 0), ("the last ten", -10)):
        whole = _added(found[last:])
        remains = sum(int(test["remains"]) for test in tests[last:])
        rows.append((said, *_cells(whole, _share(remains, whole.counted), _share)))
    return table_text(("", *_JUDGED), rows, right=range(1, 8))


def tests_table() -> str:
    """A row for each blind test."""
    tests, found = _read_tests()
    rows = [
        (test["test"], test["kernels"], *_cells(one, test["remains"]), test["right_first_known"])
        for test, one in zip(tests, found, strict=True)
    ]
    return table_text(
        ("test", "kernels", *_JUDGED, "right first, pairs known"), rows, right=(0, *range(2, 10))
    )


def _read_tests() -> tuple[list[dict[str, str]], list[Totals]]:
    pairs, tests = read_pairs(), _read("blind_tests.csv")
    return tests, [_totals(test, [pair for pair in pairs if pair["test"] == test["test"]]) for test in tests]


def _totals(test: dict[str, str], pairs: Sequence[Pair]) -> Totals:
    if pairs:
        return totals_of(pairs)
    return Totals._make(float(test[name]) if name == "error" else int(test[name]) for name in Totals._fields)


def _added(found: Sequence[Totals]) -> Totals:
    added = Totals._make(sum(column) for column in zip(*found, strict=True))
    return added._replace(error=sum(one.error * one.counted for one in found) / added.counted)


def _cells(
    one: Totals, remains: str, share: Callable[[int, int], str] = lambda some, _: str(some)
) -> tuple[str | int, ...]:
    return (
        f"{one.counted:,}",
        share(one.right_first, one.counted),
        remains,
        share(one.among_three, one.counted),
        f"{one.lines_right:,} of {one.lines:,}",
        one.broken,
        f"{one.error:.1f}",
    )


def _share(some: int, of: int) -> str:
    return f"{some:,} ({100 * some / of:.0f} %)"


def sureness_tables() -> str:
    """How often the first cause is right: by what it is expected to save, and by which one it is.

    Those that begin with a ceiling have a row of their own, as how_sure() counts them apart.
    """
    pairs = read_pairs()
    expects: Callable[[Pair], float] = lambda pair: float(pair["expects_1"] or 0)  # noqa: E731
    at_ceiling = [pair for pair in pairs if pair["named_1"] in CEILING_NAMES]
    others = [pair for pair in pairs if pair["named_1"] not in CEILING_NAMES]
    tables = {
        "the first cause is likely to save": [("nothing: a ceiling comes first", at_ceiling), *_ranges(others, expects, BANDS)],
        "the first cause is": _by_first_cause(pairs),
    }  # fmt: skip
    return _answers_tables(tables)


def further_tables() -> str:
    """How often the first cause is right: by what the other tests predicted, and by what the change did."""
    pairs = read_pairs()
    saved: Callable[[Pair], float] = lambda pair: float(pair["saved"])  # noqa: E731
    several = {many: [pair for pair in pairs if (" " in pair["right"]) == many] for many in (False, True)}
    tables = {
        "predicted share right, from the other tests": _ranges(pairs, _predicted(pairs), (0, 50, 70, 85)),
        "the change saved": _ranges(pairs, saved, (0, 25, 50, 75)),
        "the change removed": [("one cause", several[False]), ("several causes", several[True])],
    }
    return _answers_tables(tables)


def reader_table() -> str:
    """What a reader of the source lines and the counters says of the pairs of some tests, beside what `prof` said."""
    pairs = {(pair["test"], pair["pair"]): pair for pair in read_pairs()}
    read = [_as_read(pairs[row["test"], row["pair"]], row) for row in _read("blind_reader.csv")]
    named = [pairs[pair["test"], pair["pair"]] for pair in read]
    return _answers_table("", [("the reader", read), ("`prof`, as it first diagnosed them", named)])


def _answers_tables(tables: Mapping[str, Sequence[tuple[str, Sequence[Pair]]]]) -> str:
    return "\n\n".join(_answers_table(of, groups) for of, groups in tables.items())


def _answers_table(of: str, groups: Iterable[tuple[str, Sequence[Pair]]]) -> str:
    """A row for each group of answers: how many were right, and how far off they were."""
    rows = []
    for said, some in groups:
        one = totals_of(some)
        rows.append(
            (said, one.counted, _share(one.right_first, one.counted), _share(one.among_three, one.counted), f"{one.error:.1f}")
        )  # fmt: skip
    return table_text(
        (of, "counted", "right first", "right among three", "mean error"), rows, right=range(1, 5)
    )


def _as_read(pair: Pair, said: Pair) -> Pair:
    """Returns a pair with the answers of the reader in place of those of `prof`; a reader gives no bound."""
    places = range(1, AMONG + 1)
    rank = next((str(place) for place in places if said[f"named_{place}"] in pair["right"].split()), "")
    expected = said[f"expects_{rank}"] if rank else ""
    return {**pair, "rank": rank, "expected": expected, "at_most": "100", "line_is_right": ""}


def _predicted(pairs: Sequence[Pair]) -> Callable[[Pair], float]:
    """Returns what tells how sure the answer to a pair is, in percent, by the record of all tests but its own."""
    records = {
        test: count_answers(pair for pair in pairs if pair["test"] != test)
        for test in {pair["test"] for pair in pairs}
    }
    return lambda pair: (
        how_sure(pair["named_1"], float(pair["expects_1"] or 0), records[pair["test"]]).right_first_pct
    )


def _by_first_cause(pairs: Iterable[Pair]) -> list[tuple[str, list[Pair]]]:
    """Returns the pairs of each cause that stood first often, the surest cause first."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair["named_1"], []).append(pair)
    often = [(f"`{name}`", some) for name, some in found.items() if len(some) >= _OFTEN]
    return sorted(often, key=lambda one: -totals_of(one[1]).right_first / len(one[1]))


def _ranges(
    pairs: Iterable[Pair], value: Callable[[Pair], float], limits: Sequence[int]
) -> list[tuple[str, list[Pair]]]:
    ranges = list(zip(limits, [*limits[1:], 101], strict=True))
    return [
        (_range_text(low, high), [pair for pair in pairs if low <= value(pair) < high])
        for low, high in ranges
    ]


def _range_text(low: int, high: int) -> str:
    return f"under {high} %" if low == 0 else f"{low} % or more" if high > 100 else f"{low} to {high} %"
