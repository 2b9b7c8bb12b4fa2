"""Says in blocks why one kernel is faster: the speedup as a product of its factors, in a sentence and a table.

Figures have as many digits as it takes for the printed factors to multiply to the printed speedup. A factor
`not accounted for` holds what the others miss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from profiler.analyse import findings
from profiler.analyse.compare.quantities import bounded_exp
from profiler.catalog.metrics import BY_NAME, DURATION, SMALLEST_RELATIVE_EFFECT
from profiler.catalog.presets import find_preset
from profiler.present.document import Chart, Column, Folded, Heading, Nested, Row, Section, Table, Text
from profiler.store.runs.run_id import DEFAULT_PRESET
from profiler.text import unit_for_people

_MOST_PARTS = 5
_LARGEST_GAP_PCT = 1.0
_LARGEST_MAGNITUDE = 4
# In a speedup of 5 %, a factor that is uncertain by 0.1 % is uncertain by 2 % of its share.
_LEAST_SHARED = 0.05

_VIEWS: dict[findings.AttributionView, str] = {
    "issue": "by the number of instructions and how fast they issue",
    "bytes": "by the bytes moved and the bandwidth",
    "tensor": "by the work of the tensor pipe and how busy it is",
    "cycles": "by cycles alone",
}
# How to name a factor that speeds up, slows down, or does neither.
_PHRASES = {
    "instructions": ("fewer instructions", "more instructions", "instructions"),
    "issue_rate": ("higher issue rate", "lower issue rate", "issue rate"),
    "sm_active": ("higher SM activity", "lower SM activity", "SM activity"),
    "clock": ("higher clock", "lower clock", "clock"),
    "bytes_moved": ("fewer bytes moved", "more bytes moved", "bytes moved"),
    "bandwidth": ("higher bandwidth", "lower bandwidth", "bandwidth"),
    "tensor_work": ("less tensor work", "more tensor work", "tensor work"),
    "tensor_pipe_pct": ("busier tensor pipe", "less busy tensor pipe", "use of the tensor pipe"),
    "mean_cycles": ("fewer cycles", "more cycles", "cycles"),
}
# Factors that are sums, if they have no factors themselves, and the unit of their parts.
_SUMS = {"wait_per_issue": "cycle/issue", "bytes_moved": "byte", "moved_per_useful_byte": "byte"}
_DISPATCH = "stall_dispatch"
_OF_A_SCHEDULER = "instructions: of one scheduler, on average"
_OF_ALL_SMS = "mean_cycles: of all SMs, on average; `cycles` is the highest of any SM"
_HELD_BACK = f"{_DISPATCH}: held back at dispatch, since operands of arithmetic share a register bank"
_NO_USEFUL_BYTES = "the useful share of the bytes is unknown, because no ladder declares what the work needs"
_NO_STALLS = "the stall reasons are left out, because their sum is far from wait_per_issue"
_INFERRED_WARPS = "warps_in_use: inferred from issue_rate and wait_per_issue"
_MEANING = "the split says where the time went, and does not prove what caused it"
# Digits of the whole and of its factors, the fewest first.
_PRECISIONS = ((3, 3), (3, 4), (3, 5), (4, 5), (4, 6), (5, 7), (6, 9))


def attribution_blocks(comparison: findings.ComparisonFinding, full: bool) -> Section:
    """Returns the sentence, the table under it, and notes on how far to trust both."""
    heading = Heading("Factors of the speedup")
    attribution = comparison.attribution
    if attribution is None:
        missing = comparison.attribution_missing
        why = f"the speedup cannot be split; zero or not recorded: {_names(missing)}"
        return [heading, Text(why), Text(_remedy(missing))] if missing else []
    columns = _factor_columns(attribution)
    rows, all_rows = (_factor_rows(attribution, most) for most in (_MOST_PARTS, None))
    every = [Folded("every factor and part", [Table(columns, all_rows)], "every part with --full")]
    return [
        heading,
        Text(f"the speedup, split {_VIEWS[attribution.view]}: {attribution.why}"),
        Text(speedup_sentence(attribution), strong=True, wraps=False),
        Chart("waterfall_chart", comparison),
        Chart("stalls_chart", comparison),
        Table(columns, all_rows if full else rows),
        *(every if len(rows) < len(all_rows) and not full else []),
        *(Text(note) for note in _attribution_notes(comparison, attribution)),
    ]


def speedup_sentence(attribution: findings.Attribution) -> str:
    """Returns `1.26x as fast = 1.14x (fewer instructions) x 1.11x (higher issue rate) x 1.00x (clock)`."""
    whole_digits, digits = _precision(attribution)
    factors = [
        f"{_ratio(factor.ratio, digits)} ({_phrase(factor, digits)})" for factor in attribution.factors
    ]
    if float(_rounded(_gap(attribution), digits)) != 1:
        factors.append(f"{_ratio(_gap(attribution), digits)} (not accounted for)")
    return f"{_ratio(attribution.profiled_ratio, whole_digits)} as fast = {' x '.join(factors)}"


# Figures that agree with each other as they are printed


def _precision(attribution: findings.Attribution) -> tuple[int, int]:
    ratios = [*(factor.ratio for factor in attribution.factors), _gap(attribution)]
    for whole, digits in _PRECISIONS:
        product = math.prod(float(_rounded(ratio, digits)) for ratio in ratios)
        if _rounded(product, whole) == _rounded(attribution.profiled_ratio, whole):
            return whole, digits
    return _PRECISIONS[-1]


def _gap(attribution: findings.Attribution) -> float:
    """Returns the factor that the others lack to make the whole."""
    return bounded_exp(-attribution.closure_error_pct / 100)


def _rounded(ratio: float, digits: int) -> str:
    """Rounds to a number of digits: 126, 1.26 and 0.126 have three.

    Ratios from 0.5 to 1 get one digit less, since 0.79 is as exact as 1.26.
    """
    magnitude = math.floor(math.log10(ratio)) if 0 < ratio < math.inf else 0
    if abs(magnitude) > _LARGEST_MAGNITUDE:
        return f"{ratio:.{digits - 1}e}"
    return f"{ratio:.{max(0, digits - 1 - magnitude - (0.5 <= ratio < 1))}f}"


def _ratio(ratio: float, digits: int) -> str:
    return f"{_rounded(ratio, digits)}x"


def _phrase(factor: findings.Factor, digits: int) -> str:
    gain, loss, neither = _PHRASES[factor.name]
    if float(_rounded(factor.ratio, digits)) == 1:
        return neither
    return gain if factor.ratio > 1 else loss


# The table


def _factor_columns(attribution: findings.Attribution) -> tuple[Column, ...]:
    """Returns the columns of a table of factors; shares only if they mean something."""
    columns = (
        Column("factor of the duration"),
        Column("unit"),
        Column("before", "number"),
        Column("after", "number"),
        Column("speedup", right=True),
        Column("share", right=True, stays=0),  # follows from the speedup
    )
    return columns if _has_shares(attribution) else columns[:-1]


def _has_shares(attribution: findings.Attribution) -> bool:
    """Returns whether shares mean anything: shares of a speedup close to 1x are large, and noise becomes a share."""
    return abs(math.log(attribution.profiled_ratio)) >= _LEAST_SHARED


def _factor_rows(attribution: findings.Attribution, most: int | None) -> list[Row]:
    """Returns each factor with its own factors below it, and their product as the last row."""
    _, digits = _precision(attribution)
    columns = len(_factor_columns(attribution))

    def row(depth: int, part: findings.Factor | findings.Part, unit: str) -> Row:
        divisor, shown = unit_for_people(unit, part.before, part.after)
        sides = (part.before / divisor, part.after / divisor)
        values = (Nested(part.name, depth), shown, *sides, *effect(part.ratio, part.share))
        return Row(values[:columns])

    def effect(ratio: float, share: float) -> tuple[str, str]:
        return _ratio(ratio, digits), "" if _is_same(ratio) else f"{round(100 * share, 1) + 0.0:,.1f} %"

    def rows(factors: Sequence[findings.Factor], depth: int) -> Iterator[Row]:
        for factor in factors:
            yield row(depth, factor, factor.unit)
            yield from rows(factor.factors, depth + 1)
            for part in _leading(parts_of(factor, attribution), most):
                yield row(depth + 1, part, _SUMS[factor.name])

    product = math.prod(factor.ratio for factor in attribution.factors)
    whole = ("all", "", None, None, *effect(product, sum(factor.share for factor in attribution.factors)))
    return [*rows(attribution.factors, 0), Row(whole[:columns])]


def parts_of(factor: findings.Factor, attribution: findings.Attribution) -> list[findings.Part]:
    """Returns the parts that a factor without factors of its own is the sum of."""
    is_sum = factor.name in _SUMS and not factor.factors
    return [*attribution.stalls, *attribution.traffic] if is_sum else []


def _is_same(ratio: float) -> bool:
    """Returns whether a factor is too close to 1x to explain anything."""
    return ratio > 0 and abs(math.log(ratio)) < SMALLEST_RELATIVE_EFFECT


def _leading(parts: Sequence[findings.Part], most: int | None) -> list[findings.Part]:
    """Returns the largest parts, and the rest added up as one."""
    if most is None or len(parts) <= most + 1:
        return list(parts)
    rest = parts[most:]
    others = findings.Part(
        name=f"{len(rest)} others",
        before=sum(part.before for part in rest),
        after=sum(part.after for part in rest),
        ratio=math.prod(part.ratio for part in rest),
        share=sum(part.share for part in rest),
    )
    return [*parts[:most], others]


# How far to trust it


def _attribution_notes(
    comparison: findings.ComparisonFinding, attribution: findings.Attribution
) -> list[str]:
    """Returns what a reader must know of the factors: what some of them mean, and what could not be known."""
    missing, view = comparison.attribution_missing, attribution.view
    is_split = any(factor.factors for factor in attribution.factors)
    has_shares = _has_shares(attribution)
    dispatch = [part for part in attribution.stalls[:_MOST_PARTS] if part.name == _DISPATCH]
    durations = [one for one in comparison.metrics if one.name == DURATION]
    unclear = [one for one in durations if one.verdict == "unclear" and one.reason != "beyond_launches"]
    timed = comparison.speedup is not None and comparison.speedup.basis == "unprofiled"
    notes = [
        (True, _closure(attribution)),
        (True, _MEANING),
        (any(factor.name == "instructions" for factor in attribution.factors), _OF_A_SCHEDULER),
        (view == "cycles", _OF_ALL_SMS),
        (attribution.bandwidth_from, f"bandwidth: follows the {attribution.bandwidth_from}"),
        (any(not _is_same(part.ratio) for part in dispatch), _HELD_BACK),
        (timed, "these are factors of the duration under the profiler, not of the one without it"),
        (not has_shares, "the durations are too close for shares to mean anything"),
        (has_shares and unclear, "the durations do not differ for certain, so these factors may be noise"),
        (view == "bytes" and not is_split, _NO_USEFUL_BYTES),
        (view == "issue" and is_split and not attribution.stalls, _NO_STALLS),
        (is_split and any(one.name == "active_warps" for one in missing), _INFERRED_WARPS),
        (missing, f"zero or not recorded: {_names(missing)}"),
        (missing, _remedy(missing)),
    ]
    return [note for holds, note in notes if holds]


def _closure(attribution: findings.Attribution) -> str:
    if attribution.clock == "inferred":
        return "clock: inferred, because no cycles were recorded, so the factors fit the durations by construction"
    clock = f"clock: {attribution.clock}; " if attribution.clock else ""
    gap = abs(attribution.closure_error_pct)
    shown = "less than 0.01" if gap < 0.01 else f"{gap:.2f}"
    error = f"{clock}closure error against the measured durations: {shown} %"
    if gap <= _LARGEST_GAP_PCT:
        return error
    return f"caution: {error}, so the passes of the profiler did not measure the same work"


def _names(missing: Sequence[findings.MissingMetric]) -> str:
    lacking: dict[str, list[str]] = {}
    for one in missing:
        lacking.setdefault(one.name, []).append(one.missing_in)
    return ", ".join(
        name if len(sides) == 2 else f"{name} (not {sides[0]})" for name, sides in lacking.items()
    )


def _remedy(missing: Sequence[findings.MissingMetric]) -> str:
    """Returns how to record the missing metrics: with the default preset, if it has them all, or by name."""
    ncu = dict.fromkeys(BY_NAME[one.name].ncu[0] for one in missing)
    by_prof = "`prof collect`, or by " if ncu.keys() <= set(find_preset(DEFAULT_PRESET).metrics) else ""
    return f"recorded by {by_prof}`ncu --metrics {','.join(ncu)}`"
