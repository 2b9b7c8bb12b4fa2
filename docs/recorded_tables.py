"""The tables of the documentation, made from what `runs/` and the last campaign hold; each function returns one in Markdown."""

import contextlib
import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, groupby
from pathlib import Path

from profiler.analyse.ladder.climb import Climb
from profiler.analyse.ladder.ideas import derive_ideas
from profiler.analyse.ladder.ladder import LadderView, RungElsewhere, RungFinding, choose_view
from profiler.analyse.ladder.rungs import Rung
from profiler.analyse.recording.doubts import mostly_reads
from profiler.analyse.recording.overview import times_of
from profiler.analyse.statistics.timings import TimingSummary, summarise
from profiler.ask.ladder import find_climb
from profiler.catalog.ladders.ladder import LADDER_FILE, Ladder, Published, find_ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.project import find_declared
from profiler.errors import RunNotFound
from profiler.present.documents.ideas import IDEA_COLUMNS, idea_row
from profiler.present.documents.parts.memory import width_text
from profiler.present.render.markdown import markdown_table, markdown_text
from profiler.store.remote.places import Location
from profiler.store.runs.run_store import RunStore
from profiler.text import number, short_gpu, spread

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs"
FAULTS = ROOT / "tests" / "data" / "faults.csv"
SIZES, SHOWN_SIZE = (1024, 2048, 4096, 8192), 4096
_TORCH = ("torch_eager", "torch_compile", "torch_autotuned")
# The ordering of rung 5 gains by ids that repeat, and is no lookup as PyTorch does it (NOTES.md).
_OTHER_WORK = {("embedding-rmsnorm", 5)}


def ladder_table(name: str) -> str:
    """One row a kernel that was timed: percent of the reference by size, GFLOP/s, and what was published."""
    climbs = [recorded_climb(find_ladder(name, ROOT), RUNS, **dict.fromkeys("mnk", size)) for size in SIZES]
    found = [{one.kernel: one for one in climb.finding.kernels} for climb in climbs]
    shown = climbs[SIZES.index(SHOWN_SIZE)]
    rows: list[tuple[str | int, ...]] = []
    for rung, reached in zip(shown.rungs, shown.finding.kernels, strict=True):
        if rung.timed is None:
            continue
        kernel = rung.kernel
        spread_pct = summarise(rung.timed.table("timings").column("kernel_ns").to_pylist()).spread_pct
        rows.append(
            (
                kernel.number,
                kernel.idea,
                *(_both(at_size[kernel.number]) if kernel.number in at_size else "" for at_size in found),
                f"{reached.gflops:,.0f} ± {spread(spread_pct)} %",
                *(f"{one.gflops:,.0f}, {one.reference_pct:.1f}" for one in kernel.published[:1] or ()),
                *([] if kernel.published else [""]),
            )
        )
    header = ("", "idea", *map(str, SIZES), f"GFLOP/s at {SHOWN_SIZE}", "published: GFLOP/s, %")
    return markdown_table(header, rows, right=(0, *range(2, 8)))


def _both(reached: RungFinding | RungElsewhere | TimingSummary) -> str:
    """The percentage of the reference as one calls it, and of its fastest algorithm where that was timed."""
    known = [one for one in (reached.reference_pct, reached.best_pct) if one is not None]
    return " / ".join(f"{one:.1f}" for one in known)


def shapes_table(name: str, gpu: str, store: RunStore) -> str:
    """One row a shape, in percent of the reference on this GPU; empty where a rung refuses the shape or is not timed."""
    timed = recorded_timings(name, gpu, store)
    ladder = read_ladder(find_ladder(name, ROOT))
    kernels = sorted({number for number, _ in timed})
    shapes = sorted({shape for _, shape in timed}, key=lambda shape: (math.prod(shape), shape))
    rows = [
        (
            " x ".join(map(str, shape)),
            *(_both(timed[number, shape]) if (number, shape) in timed else "" for number in kernels),
        )
        for shape in shapes
    ]
    header = ("m x n x k", *(f"{number} {ladder.kernel(number).name}" for number in kernels))
    return markdown_table(header, rows, right=range(1, len(header)))


def recorded_timings(
    name: str, gpu: str, store: RunStore
) -> dict[tuple[int, tuple[int, ...]], TimingSummary]:
    """The newest timings of every kernel and shape on this GPU, as `prof time` and `prof collect` summarise them."""
    summaries = {}
    for run_id in store.ids():
        run = store.open(run_id)
        manifest = run.manifest
        timings = run.table("timings")
        if manifest.ladder != name or manifest.workload is None or not timings.num_rows:
            continue
        if not any(gpu in one for one in manifest.gpus):
            continue
        summaries[manifest.kernel, tuple(manifest.workload.values())] = summarise(*times_of(timings))
    return summaries


def memory_table(ladder: Ladder, store: RunStore) -> str:
    """One row a rung of kernels that move bytes: speed, what decides it, and what was published."""
    climb = recorded_climb(ladder.path, store.root)
    references = {rung.reference for rung in climb.finding.kernels if rung.reference}
    header = (
        "", "idea", "GB/s", f"% of {references.pop() if len(references) == 1 else 'reference'}",
        "Max Bandwidth, %", "instructions per byte", "bits per access", "published",
    )  # fmt: skip
    rows = [_memory_row(rung, found) for rung, found in zip(climb.rungs, climb.finding.kernels, strict=True)]
    return markdown_table(header, rows, right=(0, *range(2, 7)))


def _memory_row(rung: Rung, found: RungFinding) -> tuple[str | int, ...]:
    figures = found.metrics
    widths = [width_text(figures, kind) for kind in ("load", "store")] if "bulk_loads" in figures else [""]
    return (
        found.kernel,
        rung.kernel.idea,
        _speed(rung, found),
        "" if found.reference_pct is None else f"{found.reference_pct:.1f}",
        f"{figures['max_bandwidth_pct']:.1f}" if "max_bandwidth_pct" in figures else "",
        number(figures["inst_per_byte"]) if "inst_per_byte" in figures else "",
        widths[0] if len(set(widths)) == 1 else "/".join(widths),
        "; ".join(_published(one) for one in rung.kernel.published),
    )


def _speed(rung: Rung, found: RungFinding) -> str:
    """Returns the speed, with the spread of its repeats if the rung was timed."""
    if found.gbytes_per_s is None:
        return ""
    if rung.timed is None:
        return f"{found.gbytes_per_s:,.0f} profiled"
    spread_pct = summarise(rung.timed.table("timings").column("kernel_ns").to_pylist()).spread_pct
    return f"{found.gbytes_per_s:,.0f} ± {spread(spread_pct)} %"


def _published(one: Published) -> str:
    figures = {"GB/s": one.gbytes_per_s, "us": one.time_us, "% of its reference": one.reference_pct}
    figures_here = [f"{number(value)} {unit}" for unit, value in figures.items() if value is not None]
    return f"{', '.join(figures_here)} on {short_gpu(one.gpu)}"


def recorded_climbs(kernels: Path, store: RunStore) -> Iterator[Climb]:
    """Every ladder with runs, by name."""
    for path in sorted(kernels.glob(f"*/{LADDER_FILE}")):
        with contextlib.suppress(RunNotFound):
            yield recorded_climb(path, store.root)


@cache
def recorded_climb(ladder_file: Path, runs: Location, **workload: int) -> Climb:
    """The climb of a ladder, which several tables ask for, with this workload or the most common one."""
    declared = find_declared(ROOT, "gpu")
    usual_gpu = declared[1] if declared else None
    return find_climb(RunStore(runs), read_ladder(ladder_file), workload or None, usual_gpu=usual_gpu)


def best_table(kernels: Path, store: RunStore) -> str:
    """One row a ladder with a device-to-device copy as reference: its fastest rung, beside that copy and PyTorch.

    How many times as fast it is follows from the percentages of the copy that each program timed beside its kernel.
    """
    rows = []
    for climb in recorded_climbs(kernels, store):
        name = climb.ladder.name
        if choose_view(climb.ladder) != "memory" or climb.ladder.reference != 0 or name.endswith("-variants"):
            continue
        found = {one.name: one for one in climb.finding.kernels if one.kernel and one.reference_pct}
        torch = {mode: found.pop(mode) for mode in _TORCH if mode in found}
        ours = [one for one in found.values() if (name, one.kernel) not in _OTHER_WORK]
        best = max(ours, key=lambda one: one.reference_pct)
        times = [
            f"{best.reference_pct / torch[mode].reference_pct:.3f}x" if mode in torch else ""
            for mode in _TORCH
        ]
        title = re.split(": " if ": " in climb.ladder.title else ", ", climb.ladder.title)[0]
        rung = f"{best.kernel} {best.name}"
        share = _of_reading(climb, best, kernels, store)
        rows.append(
            (name, title, rung, f"{best.gbytes_per_s:,.0f}", f"{best.reference_pct:.1f}", share, *times)
        )
    header = (
        *("ladder", "", "fastest rung", "GB/s", "% of the copy", "% of reading"),
        *("as fast as eager", "as torch.compile", "as its max-autotune"),
    )
    return markdown_table(header, rows, right=range(3, 9))


def _of_reading(climb: Climb, best: RungFinding, kernels: Path, store: RunStore) -> str:
    """The speed in percent of the ceiling of device memory that is only read, for a rung that reads more than it writes."""
    (profile,) = [rung.profile for rung in climb.rungs if rung.kernel.number == best.kernel]
    if not mostly_reads(profile):
        return ""
    ceilings = recorded_climb(kernels / "ceilings" / LADDER_FILE, store.root).finding.kernels
    dram = next(one.gbytes_per_s for one in ceilings if one.name == "dram")
    return f"{100 * best.gbytes_per_s / dram:.1f}"


def gpus_table(view: LadderView, kernels: Path, store: RunStore) -> str:
    """One row a rung that was timed on two GPUs, of the ladders that compute or of those that move bytes."""
    rows: list[tuple[str, ...]] = []
    names: dict[str, None] = {}
    for climb in recorded_climbs(kernels, store):
        if choose_view(climb.ladder) != view or climb.ladder.name == "ceilings":
            continue
        here = {one.kernel: one for one in climb.finding.kernels}
        for there in climb.finding.elsewhere:
            names |= dict.fromkeys(map(short_gpu, (climb.finding.gpu, there.gpu)))
            for one in there.kernels:
                sides = (here.get(one.kernel), one)
                cells = chain(*(_speed_and_share(side, view) for side in sides))
                rows.append(
                    (climb.ladder.name, f"{one.kernel} {climb.ladder.kernel(one.kernel).name}", *cells)
                )
    unit, of = ("GFLOP/s", "% of cuBLAS") if view == "compute" else ("GB/s", "% of the copy")
    header = ("ladder", "rung", *(title for gpu in names for title in (f"{gpu}: {unit}", of)))
    return markdown_table(header, rows, right=range(2, 6))


def _speed_and_share(found: RungFinding | RungElsewhere | None, view: LadderView) -> tuple[str, str]:
    """Returns a rung's speed on a GPU and its percentages of the reference; both empty if it was not timed there."""
    if found is None:
        return "", ""
    return f"{found.gflops if view == 'compute' else found.gbytes_per_s:,.0f}", _both(found)


def ideas_table(kernels: Path, store: RunStore) -> str:
    """One row a step of which something is claimed, of every ladder with runs that moves bytes."""
    rows: list[tuple[str, ...]] = []
    for climb in recorded_climbs(kernels, store):
        if choose_view(climb.ladder) != "memory":
            continue
        finding = derive_ideas(climb)
        claimed = [idea_row(one).values for one in finding.ideas if one.claim is not None]
        rows += [(finding.ladder, f"{kernel} {name}", *rest) for kernel, name, *rest in claimed]
    return markdown_table(("ladder", "rung", *(column.title for column in IDEA_COLUMNS[2:])), rows)


def prose(text: str) -> str:
    """Returns a text for a cell, with what is in backticks as code."""
    parts = text.split("`")
    return "".join(f"`{part}`" if place % 2 else markdown_text(part) for place, part in enumerate(parts))


def table_text(header: Sequence[str], rows: Iterable[Sequence[str | int]], right: Iterable[int] = ()) -> str:
    """Returns a table of cells that are Markdown already."""
    aligned = set(right)
    rule = ("---:" if place in aligned else "---" for place in range(len(header)))
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (header, rule, *rows))


def faults_table() -> str:
    """One row an operation: how many of its calls failed in how many ways, and how the command ended."""
    with FAULTS.open() as file:
        recorded = list(csv.DictReader(file))
    rows = []
    for operation, of_it in groupby(recorded, lambda row: row["operation"]):
        kinds = list(of_it)
        counted = [
            f"{sum(int(row[column]) for row in kinds):,}"
            for column in ("faults", "error", "power_lost", "completed")
        ]
        rows.append(
            (operation, kinds[0]["faults"], *counted, " ".join(sorted({row["commit"] for row in kinds})))
        )
    header = (
        "operation",
        "calls",
        "faults",
        "ended with an error",
        "by the power loss",
        "without an error",
        "commit",
    )
    return markdown_table(header, rows, right=range(1, 6))
