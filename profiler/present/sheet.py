"""One recording as a sheet: its provenance, and per kernel its metrics and findings."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from msgspec import Struct

from profiler.analyse.profile import Profile, Series
from profiler.present.encode import markdown_text, to_csv, to_markdown
from profiler.present.terminal import render_table, styled
from profiler.present.text import number, printable, shortened, size
from profiler.store.manifest import Manifest
from profiler.store.runs import Run

_KERNEL_WIDTH = _NVTX_WIDTH = 110
_HEADER = ("metric", "unit", "mean", "spread", "ncu")


class SheetMetric(Struct, frozen=True):
    """Mean over launches; `spread` is the standard deviation, null with one launch."""

    name: str
    unit: str
    mean: float
    spread: float | None
    launches: int
    ncu: str


class SheetRule(Struct, frozen=True):
    section: str
    kind: str
    message: str
    speedup_pct: float | None


class Sheet(Struct, frozen=True):
    """`nvtx` holds the NVTX ranges around the launches, each nesting once: `outer > inner`."""

    kernel: str
    launches: int
    gpu: str
    nvtx: list[str]
    metrics: list[SheetMetric]
    rules: list[SheetRule]


class Sheets(Struct, frozen=True):
    run: Manifest
    kernels: list[Sheet]


def derive_sheet(run: Run, profile: Profile, full: bool) -> Sheet:
    series = list(profile.series.values())
    if full:
        catalogued = {one.ncu for one in series}
        series += [one for name, one in sorted(profile.raw.items()) if name not in catalogued]
    return Sheet(
        kernel=profile.kernel,
        launches=profile.launches,
        gpu=profile.gpu,
        nvtx=_nvtx(run, profile.kernel),
        metrics=[_metric(one) for one in series],
        rules=_rules(run, profile.kernel),
    )


def sheets_text(run: Run, sheets: Sequence[Sheet], *, colour: bool, width: int | None) -> str:
    parts = ["\n".join(f"{name:<10}{printable(value)}" for name, value in _provenance(run))]
    for one in sheets:
        title = f"{shortened(one.kernel, _KERNEL_WIDTH)}, {one.launches} launches"
        parts.append(styled(title, "bold", colour=colour))
        if one.nvtx:
            parts.append("\n".join(f"NVTX  {shortened(ranges, _NVTX_WIDTH)}" for ranges in one.nvtx))
        parts.append(
            render_table(
                _HEADER[:4],
                [_cells(metric)[:4] for metric in one.metrics],
                right=(2, 3),
                fold=0,
                colour=colour,
                width=width,
            )
        )
        parts += [printable(f"{rule.section}: {rule.message}") for rule in one.rules]
    return "\n\n".join(parts)


def sheets_markdown(run: Run, sheets: Sequence[Sheet]) -> str:
    parts = [to_markdown(("", ""), _provenance(run))]
    for one in sheets:
        parts.append(f"### {markdown_text(one.kernel)}")
        if one.nvtx:
            parts.append("\n".join(f"* NVTX: {markdown_text(ranges)}" for ranges in one.nvtx))
        parts.append(to_markdown(_HEADER, [_cells(metric) for metric in one.metrics], numeric=(2, 3)))
        parts += [f"* {markdown_text(f'{rule.section}: {rule.message}')}" for rule in one.rules]
    return "\n\n".join(parts)


def sheets_csv(sheets: Sequence[Sheet]) -> str:
    return to_csv(
        ("kernel", "metric", "unit", "mean", "spread", "launches", "ncu"),
        [
            (one.kernel, metric.name, metric.unit, metric.mean, metric.spread, metric.launches, metric.ncu)
            for one in sheets
            for metric in one.metrics
        ],
    )


def _metric(series: Series) -> SheetMetric:
    values = series.values
    return SheetMetric(
        name=series.metric.name,
        unit=series.metric.unit,
        mean=fmean(values),
        spread=stdev(values) if len(values) > 1 else None,
        launches=len(values),
        ncu=series.ncu,
    )


def _cells(metric: SheetMetric) -> tuple[str, str, str, str, str]:
    return (metric.name, metric.unit, number(metric.mean), number(metric.spread), metric.ncu)


def _nvtx(run: Run, kernel: str) -> list[str]:
    launches = run.table("launches").select(["kernel", "nvtx"]).to_pylist()
    nestings = (row["nvtx"] for row in launches if row["kernel"] == kernel and row["nvtx"])
    return list(
        dict.fromkeys(" > ".join(one["name"] or "(unnamed)" for one in nesting) for nesting in nestings)
    )


def _rules(run: Run, kernel: str) -> list[SheetRule]:
    """Nsight Compute's own findings for the kernel, each once, the largest estimate first."""
    launches = run.table("launches").to_pylist()
    numbers = {row["launch"] for row in launches if row["kernel"] == kernel}
    found: dict[str, SheetRule] = {}
    for row in run.table("rules").to_pylist():
        if row["launch"] in numbers and row["kind"] in ("optimization", "warning"):
            rule = SheetRule(row["section"], row["kind"], row["message"], row["speedup_pct"])
            found.setdefault(row["rule"], rule)
    return sorted(found.values(), key=lambda rule: -(rule.speedup_pct or 0.0))


def _report(manifest: Manifest) -> str:
    report = manifest.report
    return f"{size(report.bytes)}, SHA-256 {report.sha256}" if report is not None else ""


def _provenance(run: Run) -> list[tuple[str, str]]:
    manifest = run.manifest
    rows = [
        ("run", manifest.run_id if run.stored else f"not stored: {run.path}"),
        ("recorded", f"{manifest.recorded} on {', '.join(manifest.gpus) or 'an unknown GPU'}"),
        ("ncu", f"{manifest.ncu_version}, CUDA {manifest.cuda_version}"),
        (
            "measured",
            f"clock control {manifest.clock_control}, cache control {manifest.cache_control}, "
            f"{manifest.replay_mode} replay",
        ),
        ("sections", ", ".join(manifest.sections)),
        ("program", manifest.program),
        ("command", manifest.command_line),
        ("report", _report(manifest)),
    ]
    if manifest.origin == "ingested" and run.stored:
        rows.insert(1, ("origin", "ingested from a report, not collected by prof"))
    return [(name, value) for name, value in rows if value]
