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
from profiler.store.tables.columns import labels_of

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
    whole = _executed(instructions)
    for metric, counted in ((OPCODES, whole), (_BY_OPCODE, _without_modifiers(whole))):
        for launch, stated in _named_instances(instances, metric).items():
            executed = counted.get(launch, {})
            # Without counts by address, or without any opcode: NVIDIA's reader cannot disassemble every GPU's code.
            if not any(executed):
                continue
            for opcode in sorted(stated.keys() | executed.keys()):
                one, other = stated.get(opcode, 0), executed.get(opcode, 0)
                if one != other:
                    added = f"and the instructions add up to {other:,.0f}"
                    yield launch, f"{metric} has {one:,.0f} of {opcode}, {added}"


def _executed(instructions: pa.Table) -> _Counts:
    executed = instructions.filter(instructions.column("executed").is_valid())
    opcodes = executed.column("opcode").cast("string")
    short = executed.select(["launch", "executed"]).append_column("opcode", opcodes)
    counts: _Counts = defaultdict(dict)
    for row in short.group_by(["launch", "opcode"]).aggregate([("executed", "sum")]).to_pylist():
        counts[row["launch"]][row["opcode"]] = row["executed_sum"]
    return counts


def _without_modifiers(counts: _Counts) -> _Counts:
    plain: _Counts = {}
    for launch, by_opcode in counts.items():
        added = plain[launch] = defaultdict(float)
        for opcode, count in by_opcode.items():
            added[opcode.partition(".")[0]] += count
    return plain


def _named_instances(instances: pa.Table, metric: str) -> _Counts:
    import pyarrow.compute as pc

    found = instances.filter(pc.equal(instances.column("metric").cast("string"), metric))
    counts: _Counts = defaultdict(dict)
    launches, values = found.column("launch").to_pylist(), found.column("value").to_pylist()
    for launch, opcode, value in zip(launches, labels_of(found, "id_name"), values, strict=True):
        if opcode is not None and value is not None:
            counts[launch][opcode] = value
    return counts
