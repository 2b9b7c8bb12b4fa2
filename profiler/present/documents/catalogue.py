"""The catalogue as documents: the metrics, the causes and the presets, all or one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from profiler.catalog.causes import CAUSES, CauseKind
from profiler.catalog.causes.sureness import answers_naming
from profiler.catalog.metrics import CATALOGUE, SMALLEST_SHARE_OF_WHOLE, Metric, derivation
from profiler.catalog.presets import MEASURED_ON, Preset
from profiler.present.document import (
    Column,
    Document,
    Facts,
    Heading,
    Plain,
    Records,
    Row,
    Section,
    Table,
    Text,
)
from profiler.text import counted

_METRIC_HEADER = ("name", "unit", "better", "group", "meaning", "ncu")
_METRIC_COLUMNS = (
    Column("name"), Column("unit"), Column("better"), Column("group", wide=True), Column("meaning", folds=True),
    Column("ncu", wide=True),
)  # fmt: skip
_CAUSE_TOLD = ("cause", "group", "what", "detected", "example", "remedy")
_CAUSE_HEADER = (*_CAUSE_TOLD, "stood_first", "right_first", "among_three", "points_off")
_CAUSE_COLUMNS = (
    Column("cause"),
    Column("group", wide=True),
    Column("what", folds=True),
    Column("remedy", wide=True),
)
_PRESET_HEADER = ("preset", "passes", "sections", "metrics", "records")
_PRESET_COLUMNS = (Column("preset"), Column("passes", right=True), Column("records", folds=True))


def metrics_document(metrics: Sequence[Metric]) -> Document:
    """Returns a table with a row for each metric."""
    records = _metric_records(metrics)
    return Document("", [[Table(_METRIC_COLUMNS, [Row(row) for row in records.rows])]], records)


def names_document(metrics: Collection[str], causes: Collection[str]) -> Document:
    """Returns the meaning of these names, as far as they are in the catalogue."""
    kinds = [Row((one.name, one.what)) for one in CAUSES if one.name in causes]
    known = [Row((one.name, one.unit, one.doc)) for one in CATALOGUE if one.name in metrics]
    meaning = Column("meaning", folds=True)
    causes_table = Table((Column("cause"), meaning), kinds)
    metrics_table = Table((Column("metric"), Column("unit"), meaning), known)
    sections: list[Section] = [[Heading("Causes"), causes_table], [Heading("Metrics"), metrics_table]]
    return Document("What the names mean", sections)


def metric_document(metric: Metric) -> Document:
    """Returns everything about one metric."""
    records = _metric_records([metric])
    facts = [(name, str(value)) for name, value in zip(records.header, records.rows[0], strict=True) if value]
    if metric.part_of:
        share = f"a change below {100 * SMALLEST_SHARE_OF_WHOLE:.1f} % of it is the same"
        facts.append(("part of", f"{' + '.join(metric.part_of)}: {share}"))
    return Document("", [[Facts(facts)]], records)


def _metric_records(metrics: Sequence[Metric]) -> Records:
    rows = [
        (one.name, one.unit, one.better or "", one.group, one.doc, " ".join(one.ncu) or derivation(one))
        for one in metrics
    ]
    return Records(_METRIC_HEADER, rows)


def causes_document(kinds: Sequence[CauseKind]) -> Document:
    """Returns a table with a row for each cause."""
    rows = [Row((one.name, one.group, one.what, one.remedy)) for one in kinds]
    return Document("", [[Table(_CAUSE_COLUMNS, rows)]], _cause_records(kinds))


def cause_document(kind: CauseKind) -> Document:
    """Returns everything about one cause."""
    facts = list(zip(_CAUSE_TOLD, _told(kind), strict=True))
    return Document("", [[Facts([*facts, ("tests", _tests_text(kind.name))])]], _cause_records([kind]))


def _told(kind: CauseKind) -> tuple[str, ...]:
    return kind.name, kind.group, kind.what, kind.detected, kind.example, kind.remedy


def _tests_text(name: str) -> str:
    answers = answers_naming(name)
    if not answers.kernels:
        return "It stood first for none of the kernels that prof had not seen."
    seen = counted(answers.kernels, "kernel")
    off = answers.mean_points_off
    return (
        f"It stood first for {seen} that prof had not seen. It was what the author then changed for {answers.right_first}, and one of the first three "
        f"was for {answers.among_three}.{'' if off is None else f' Where it was, its estimates were {off:.0f} points off on average.'}"
    )


def _cause_records(kinds: Sequence[CauseKind]) -> Records:
    return Records(_CAUSE_HEADER, [(*_told(one), *_tests_of(one.name)) for one in kinds])


def _tests_of(name: str) -> Sequence[Plain]:
    kernels, right_first, among_three, *_ = answers = answers_naming(name)
    off = answers.mean_points_off
    return kernels, right_first, among_three, None if off is None else round(off, 1)


def presets_document(presets: Sequence[Preset]) -> Document:
    """Returns a table with a row for each preset and the passes that it takes."""
    rows = [Row((one.name, one.passes, one.doc)) for one in presets]
    note = f"passes as counted on {MEASURED_ON}; --section, --metric and --set add to a preset"
    return Document("", [[Table(_PRESET_COLUMNS, rows)], [Text(note, wraps=False)]], _preset_records(presets))


def preset_document(preset: Preset) -> Document:
    """Returns everything about one preset."""
    facts: list[tuple[str, str | Sequence[str]]] = [("passes", f"{preset.passes} on {MEASURED_ON}")]
    if sections := _sections(preset):
        facts.append(("sections", sections))
    facts.append(("metrics", list(preset.metrics)))
    return Document("", [[Text(preset.doc, wraps=False)], [Facts(facts)]], _preset_records([preset]))


def _preset_records(presets: Sequence[Preset]) -> Records:
    rows: list[Sequence[Plain]] = [
        (one.name, one.passes, _sections(one), " ".join(one.metrics), one.doc) for one in presets
    ]
    return Records(_PRESET_HEADER, rows)


def _sections(preset: Preset) -> str:
    return f"--set {preset.set}" if preset.set else " ".join(preset.sections)
