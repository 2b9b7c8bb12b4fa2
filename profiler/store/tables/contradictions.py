"""Finds launches whose tables contradict themselves, as only damage makes them.

Nsight Compute states some counts more than once. A metric with instances is their sum, and the executed instructions of
each opcode are counted by opcode and by address. Other metrics have instances that are no parts of a sum: addresses,
times, limits. Only the counts below are added up.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from profiler.catalog.metrics import OPCODES

if TYPE_CHECKING:
    import pyarrow as pa

_ADDED = (
    r"^((thread_)?inst_executed(_true)?|sass__(thread_)?inst_executed(_true)?_per_opcode.*|smsp__pcsamp_.*)$"
)
_BY_OPCODE = "sass__inst_executed_per_opcode"
_NAMES_AGREE_SINCE = "2022"  # of ncu: older disassemblers call some opcodes otherwise, such as I2F for I2FP
_TOLERANCE = 1e-12  # of sums beyond 2^53, where float64 rounds

_Counts = dict[int, dict[str, float]]  # by launch, by name


def find_contradictions(tables: Mapping[str, pa.Table], ncu_version: str) -> Iterator[tuple[int, str]]:
    """Yields each launch that contradicts itself, and how; `ncu_version` recorded it."""
    yield from _wrong_sums(tables["metrics"], tables["instances"])
    if ncu_version >= _NAMES_AGREE_SINCE:
        yield from _wrong_opcodes(tables["instances"], tables["instructions"])


def _wrong_sums(metrics: pa.Table, instances: pa.Table) -> Iterator[tuple[int, str]]:
    import pyarrow.compute as pc

    def counts(table: pa.Table) -> pa.Table:
        names = table.column("metric").cast("string")
        short = table.select(["launch", "value"]).append_column("metric", names)
        return short.filter(pc.match_substring_regex(names, _ADDED))

    stated = {(row["launch"], row["metric"]): row["value"] for row in counts(metrics).to_pylist()}
    added = counts(instances).group_by(["launch", "metric"])
    # Nothing can be said of a sum with a part missing.
    keeps_nulls = pc.ScalarAggregateOptions(skip_nulls=False)
    for row in added.aggregate([("value", "sum", keeps_nulls)]).to_pylist():
        value, total = stated.get((row["launch"], row["metric"])), row["value_sum"]
        if value is not None and total is not None and not math.isclose(value, total, rel_tol=_TOLERANCE):
            yield row["launch"], f"{row['metric']} is {value:,.0f}, and its instances add up to {total:,.0f}"


def _wrong_opcodes(instances: pa.Table, instructions: pa.Table) -> Iterator[tuple[int, str]]:
    import pyarrow.compute as pc

    whole, metrics = _added_up(instructions, "opcode", "executed"), instances.column("metric").cast("string")
    for metric, counted in ((OPCODES, whole), (_BY_OPCODE, _without_modifiers(whole))):
        of_metric = instances.filter(pc.equal(metrics, metric))
        for launch, stated in _added_up(of_metric, "id_name", "value").items():
            executed = counted.get(launch, {})
            # Without counts by address, or without any opcode: NVIDIA's reader cannot disassemble every GPU's code.
            if not any(executed):
                continue
            for opcode in sorted(stated.keys() | executed.keys()):
                one, other = stated.get(opcode, 0), executed.get(opcode, 0)
                if one != other:
                    added = f"and the instructions add up to {other:,.0f}"
                    yield launch, f"{metric} has {one:,.0f} of {opcode}, {added}"


def _added_up(table: pa.Table, name: str, value: str) -> _Counts:
    """Adds up a column by launch and by name; leaves out the rows that lack a name or a value."""
    names = table.column(name).cast("string")
    rows = table.select(["launch", value]).append_column("name", names).drop_null()
    counts: _Counts = defaultdict(dict)
    for row in rows.group_by(["launch", "name"]).aggregate([(value, "sum")]).to_pylist():
        counts[row["launch"]][row["name"]] = row[f"{value}_sum"]
    return counts


def _without_modifiers(counts: _Counts) -> _Counts:
    plain: _Counts = {}
    for launch, by_opcode in counts.items():
        added = plain[launch] = defaultdict(float)
        for opcode, count in by_opcode.items():
            added[opcode.partition(".")[0]] += count
    return plain
