"""The causes for docs/causes.md, and their record for docs/track-record.md and docs/track-record-tests.md: tables, failures, and a picture of expected
against saved.

The figures come from tests/data/causes/record.json, which tests/data/causes/track_record.py measures.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import altair as alt
from altair.typing import ChartType
from recorded_tables import prose, table_text

from profiler.catalog.causes import BY_NAME, CAUSES, GROUPS
from profiler.catalog.causes.kind import CauseKind
from profiler.present.style import BLUE, CATEGORIES, GREY, RED, chart_of, heading

DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "causes"
Row = dict[str, Any]
# What counts as a failure that is explained: a wrong first answer, a right one beyond the third place, or a wrong line.
AMONG = 3
ALIKE = 3.0  # points: two recordings of one kernel differ by up to two


def read_record() -> dict[str, list[Row]]:
    record: dict[str, list[Row]] = json.loads((DATA / "record.json").read_text())
    return record


def causes_list() -> str:
    """A section for each group, with one for each cause, so that a link leads to it."""
    sections = []
    for group in GROUPS:
        of_group = [_cause_text(one) for one in CAUSES if one.group == group]
        sections.append("\n\n".join((f"### {group.capitalize()}", *of_group)))
    return "\n\n".join(sections)


def _cause_text(one: CauseKind) -> str:
    told = {"Example": one.example, "Change": one.remedy, "Detected by": one.detected}
    listed = "\n".join(f"* **{name}:** {prose(text)}" for name, text in told.items())
    return f"#### `{one.name}`\n\n{prose(one.what)}\n\n{listed}"


def record_tables() -> str:
    """The record by cause and by kernel: each cause, kernels without a cause, and the failures."""
    record = read_record()
    return "\n\n".join(
        (
            "### Each cause",
            _by_cause(record),
            "### Kernels with nothing to gain, and kernels that only look like a cause",
            _others(record),
            "### Kernels of which several causes were removed",
            alone_table(record["alone"]),
            "### Kernels of which two causes were removed together",
            together_table(record["together"]),
            "### Failures",
            _failures(record),
        )
    )


def totals_table() -> str:
    """What the whole record comes to, and what NVIDIA's rules say of the same kernels."""
    pairs = read_record()["pairs"]
    full = [pair for pair in pairs if "full" in pair]
    rows = [
        ("`prof`, preset `default`", *_judged(pairs)),
        ("`prof`, what the preset `counters` records", *_judged([pair["counters"] | {"saved": pair["saved"]} for pair in pairs])),
        ("NVIDIA's rules in the same recordings (`default`)", *_ranked(pairs)),
        ("`prof`, every section (`--set full`)", *_judged([pair["full"] | {"saved": pair["saved"]} for pair in full])),
        ("NVIDIA's rules in these recordings", *_ranked([pair["full"] for pair in full])),
    ]  # fmt: skip
    header = ("", "pairs", "right first", "first one that remains", "right among three", "right line",
              "bounds broken", "mean error of expected, points")  # fmt: skip
    return table_text(header, rows, right=range(1, 8))


def _judged(rows: Sequence[Row]) -> tuple[str | int, ...]:
    lines = [row["line"] for row in rows if row["line"] is not None]
    return (
        len(rows),
        _share(row["first_is"] == "right" for row in rows),
        _share(row["first_is"] == "left" for row in rows),
        _share(_is_among(row["rank"]) for row in rows),
        f"{sum(lines)} of {len(lines)}",
        f"{sum(row['broken'] for row in rows)} of {sum(row['rank'] is not None for row in rows)}",
        f"{mean_error(rows):.1f}",
    )


def _ranked(rows: Sequence[Row]) -> tuple[str | int, ...]:
    return (
        len(rows),
        _share(row["rules_first_is"] == "right" for row in rows),
        _share(row["rules_first_is"] == "left" for row in rows),
        _share(_is_among(row["rules_rank"]) for row in rows),
        "",
        "",
        "",
    )


def _is_among(rank: int | None) -> bool:
    return rank is not None and rank <= AMONG


def _share(hits: Iterable[bool]) -> str:
    listed = list(hits)
    return f"{sum(listed)} ({100 * sum(listed) / len(listed):.0f} %)"


def mean_error(rows: Iterable[Row]) -> float:
    """Returns how far the expectations are from what was saved, on average over the pairs whose cause was found."""
    errors = [abs(row["saved"] - row["expected"]) for row in rows if row["expected"] is not None]
    return sum(errors) / len(errors)


def _by_cause(record: dict[str, list[Row]]) -> str:
    pairs = record["pairs"]
    rows = []
    for kind in CAUSES:
        of_kind = [pair for pair in pairs if pair["right"][0] == kind.name]
        wrongly = sum(pair["first"] == kind.name and pair["first_is"] == "wrong" for pair in pairs)
        wrongly += sum(kind.name in set(one["named"]) & set(one["never"]) for one in record["decoys"]) + sum(
            one["named"][:1] == [kind.name] and not one["named_is_right"] for one in record["ceilings"]
        )
        if not (of_kind or wrongly):
            continue
        found = [pair for pair in of_kind if pair["rank"]]
        broken = sum(pair["broken"] for pair in found)
        rows.append(
            (
                f"`{kind.name}`",
                len(of_kind),
                sum(pair["rank"] == 1 for pair in of_kind),
                sum(_is_among(pair["rank"]) for pair in of_kind),
                sum(not _is_among(pair["rank"]) for pair in of_kind),
                wrongly,
                len(found) - broken,
                broken,
                f"{mean_error(found):.0f}" if found else "",
                sum(pair["rules_rank"] == 1 for pair in of_kind),
                sum(_is_among(pair["rules_rank"]) for pair in of_kind),
            )
        )
    header = ("cause", "pairs", "first", "among three", "missed", "named wrongly", "bounds kept", "broken",
              "error, points", "rules: first", "among three")  # fmt: skip
    return table_text(header, rows, right=range(1, 11))


def _others(record: dict[str, list[Row]]) -> str:
    rows = [
        (title, len(of_kind), sum(one["named_is_right"] for one in of_kind), sum(one["counters_is_right"] for one in of_kind))
        for title, of_kind in (
            ("nothing to gain: the ceiling comes first", record["ceilings"]),
            ("a decoy: its false causes are not among the first two", record["decoys"]),
        )
    ]  # fmt: skip
    return table_text(("kernels", "", "right, `default`", "right, `counters`"), rows, right=(1, 2, 3))


def alone_table(listed: Sequence[Row]) -> str:
    """What it saved to remove each of several causes of a kernel by itself: does the largest saving stand first?"""
    rows, behind = [], []
    for row in listed:
        removals = sorted(row["removals"], key=lambda one: -one["saved"])
        named = next(one for one in removals if row["first"] in one["removed"])
        behind.append(removals[0]["saved"] - named["saved"])
        others = (f"`{one['removed'][0]}` {_points(one['saved'])}" for one in removals if one is not named)
        rows.append(
            (
                f"`{row['kernel']}`",
                f"`{row['first']}`",
                _points(named["expected"]),
                _points(named["saved"]),
                ", ".join(others),
            )
        )
    missed = [gap for gap in behind if gap > ALIKE]
    said = (
        f"The largest saving stands first in {len(rows) - len(missed)} of {len(rows)} kernels, or within {ALIKE:.0f} points of what does"
        + (f"; where not, it is up to {max(missed):.0f} points behind" if missed else "")
        + f". What the removals were expected to save is wrong by {mean_error([one for row in listed for one in row['removals']]):.1f} points on average."
    )
    header = ("kernel", "named first", "expected, %", "saved, %", "what removing another cause saved, %")
    return f"{said}\n\n{table_text(header, rows, right=(2, 3))}"


def together_table(listed: Sequence[Row]) -> str:
    """What it saved to remove two causes of a kernel, against what was expected of each by itself and of both together."""
    rows = [
        (
            f"`{row['kernel']}`",
            ", ".join(f"`{name}` {_points(saved)}" for name, saved in row["removed"].items()),
            _points(row["expected"]),
            _points(row["saved"]),
        )
        for row in listed
    ]
    said = f"What both were expected to save together is wrong by {mean_error(listed):.1f} points on average."
    header = ("kernel", "expected of each, %", "of both, %", "saved, %")
    return f"{said}\n\n{table_text(header, rows, right=(2, 3))}"


def _points(percent: float | None) -> str:
    return "" if percent is None else f"{percent:.0f}"


def failures(record: dict[str, list[Row]]) -> list[tuple[str, str]]:
    """Returns each kernel that is diagnosed wrongly with the preset "default", and what was answered."""
    found = []
    for pair in record["pairs"]:
        wrong = []
        if pair["rank"] is None:
            wrong.append(f"not named; first `{pair['first']}`")
        elif pair["first_is"] == "wrong" or not _is_among(pair["rank"]):
            wrong.append(f"place {pair['rank']}; first `{pair['first']}`")
        if pair["line"] is False and pair["rank"]:
            wrong.append("another line")
        if pair["broken"]:
            wrong.append(f"saved {pair['saved']} %, promised {pair['at_most']} % at most")
        if wrong:
            found.append((f"{pair['before']} → {pair['after']}", "; ".join(wrong)))
    for kind in ("ceilings", "decoys"):
        found += [
            (one["kernel"], "named " + ", ".join(f"`{name}`" for name in one["named"]))
            for one in record[kind]
            if not one["named_is_right"]
        ]
    return found


def explanations() -> dict[str, str]:
    """Returns why a kernel is diagnosed wrongly, as `failure` in pairs.toml says it."""
    listed = tomllib.loads((DATA / "pairs.toml").read_text())
    return {f"{pair['before']} → {pair['after']}": pair["failure"] for pair in listed["pair"] if "failure" in pair} | {
        one["kernel"]: one["failure"] for kind in ("ceiling", "decoy") for one in listed[kind] if "failure" in one
    }  # fmt: skip


def _failures(record: dict[str, list[Row]]) -> str:
    why = explanations()
    rows = [
        (f"`{kernel}`".replace(" → ", "` → `"), answer, prose(why.get(kernel, "")))
        for kernel, answer in failures(record)
    ]
    return table_text(("kernel", "answer", "why"), rows) if rows else "None."


def expected_chart() -> ChartType:
    """Returns what was expected and promised of each right cause, against what the change saved."""
    pairs = read_record()["pairs"]
    rows = [
        {key: pair[key] for key in ("before", "saved", "expected", "at_most")} | {"group": BY_NAME[pair["right"][0]].group}
        for pair in pairs
        if pair["expected"] is not None
    ]  # fmt: skip
    axis: Callable[[str], Any] = lambda title: {  # noqa: E731
        "title": title, "scale": alt.Scale(domain=[0, 100]), "axis": alt.Axis(grid=True, minExtent=0),
    }  # fmt: skip
    x = alt.X("saved:Q", **axis("saved by the change, % of the kernel's time"))
    base = chart_of(rows, width=520, height=520)
    colour = alt.Color(
        "group:N",
        scale=alt.Scale(domain=list(GROUPS[:5]), range=[BLUE, *CATEGORIES, RED]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    even = chart_of([{"saved": 0, "expected": 0}, {"saved": 100, "expected": 100}]).mark_line(strokeDash=[4, 4], strokeWidth=1)  # fmt: skip
    y = alt.Y("expected:Q", **axis("expected, and up to the promised bound, %"))
    promises = base.mark_rule(opacity=0.35, strokeWidth=1.5).encode(x=x, y=y, y2="at_most:Q", color=colour)
    points = base.mark_point(filled=True, size=42, opacity=0.9).encode(x=x, y=y, color=colour)
    broken = sum(pair["broken"] for pair in pairs)
    title = f"What {len(rows)} changes saved: {broken or 'no'} bounds broken, {mean_error(rows):.0f} points of mean error"
    chart: ChartType = alt.layer(
        even.encode(x=x, y=y, color=alt.value(GREY)), promises, points
    ).properties(
        title=heading(
            title, "a point is the expectation for the right cause, its line ends at the promised bound;", "a line that ends below the dashes is a bound that was broken"
        )
    )  # fmt: skip
    return chart
