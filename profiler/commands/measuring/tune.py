"""`prof tune` measures which parameter values make a kernel fastest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Context, Option

from profiler.analyse.tuning import TuningFinding
from profiler.ask.collect import find_best_points, find_newest_sweep
from profiler.ask.named.ladders import open_ladder, workloads
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.commands.measuring.tune_progress import TuneProgress
from profiler.commands.shared import options
from profiler.commands.shared.failure import print_schema
from profiler.commands.shared.files import ChartOptions
from profiler.commands.shared.ladders import choose_rungs
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_answer
from profiler.commands.shared.progress import continuable
from profiler.errors import DefaultsNotFound, LadderInvalid
from profiler.measuring.tools.gpus import find_gpu
from profiler.measuring.tools.process import shown
from profiler.measuring.tools.toolchain import find_toolchain
from profiler.measuring.tune.defaults import read_defaults, with_defaults
from profiler.measuring.tune.points import sweep_of
from profiler.measuring.tune.stages import TunePlan
from profiler.measuring.tune.sweep import SweepMeasurement
from profiler.present.documents.sweep import diff_lines, sweep_document
from profiler.store.disk import write_whole
from profiler.store.sweeps import StoredSweep, SweepStore
from profiler.text import printable, shortest_path

_MEASURING = ("limit", "seed", "repeats", "processes", "within", "profile_extremes", "again")


def tune(
    *,
    context: Context,
    kernel: Annotated[
        str | None,
        Option(metavar="N", help="Number of the kernel; its entry in ladder.toml declares [kernel.tune]."),
    ] = None,
    size: Annotated[
        str | None, Option(metavar="S", help="Size of the workload [default: the ladder's].")
    ] = None,
    set_param: options.ParameterOption = None,
    limit: Annotated[
        int | None,
        Option(metavar="N", min=1, help="Try at most this many points, drawn with the seed [default: all]."),
    ] = None,
    seed: Annotated[
        int | None,
        Option(
            metavar="N",
            min=0,
            max=2**64 - 1,
            help="Seed of the order and the inputs [default: a random one].",
        ),
    ] = None,
    repeats: Annotated[
        int, Option(metavar="N", min=2, help="Timed launches of a promising point, in each process.")
    ] = 20,
    processes: Annotated[
        int, Option(metavar="N", min=1, help="Processes for each of the best few points, which take turns.")
    ] = 3,
    within: Annotated[
        float,
        Option(
            min=0.0,
            metavar="PCT",
            help="Time the points that are within PCT % of the best in full.",
        ),
    ] = 5.0,
    top: Annotated[int, Option(metavar="N", min=1, help="Number of best points to show.")] = 10,
    profile_extremes: Annotated[
        bool, Option("--profile-extremes", help="Profile the best and the slowest point, and compare them.")
    ] = False,
    apply: Annotated[
        bool, Option("--apply", help="Write the best values into the source's #define lines.")
    ] = False,
    chart: Annotated[  # noqa: ARG001 - the picture is made of it
        Path | None,
        Option("--chart", "-o", metavar="FILE", help="Also draw a chart: a .svg, .png, .html or .json file."),
    ] = None,
    picture: ChartOptions,
    stored: Annotated[
        bool, Option("--stored", help="Show the newest stored result instead of measuring; needs no GPU.")
    ] = False,
    again: Annotated[bool, Option("--again", help="Measure again even if a result is stored.")] = False,
    schema: options.SchemaOption = False,
    jobs: options.JobsOption = None,
    timeout: options.TimeoutOption = 120.0,
    settings: options.RungSettings,
) -> None:
    """Find the fastest values of a kernel's parameters.

    The ladder declares the values to try and their constraints; a point is one allowed combination of values. `prof`
    compiles, verifies and briefly times every point. It times the points near the best in full, and the best few
    once more, taking turns, to find the winner. It stores every measurement at once, so the same command continues
    after an interruption.

    Examples:
      prof tune --kernel 7
      prof tune --kernel 7 --size 4096 --limit 60 --seed 1 -o tuning.svg
      prof tune --kernel 7 --apply
      prof tune --kernel 7 --stored -o tuning.svg
    """
    if schema:
        print_schema("tune", TuningFinding, brief=False)
        return

    if stored:
        _refuse_to_measure(context)
    opened = open_ladder(settings)
    chosen = choose_rungs(opened, [kernel]) if kernel else []
    if len(chosen) != 1:
        raise Misuse("name one kernel: `prof tune --kernel 7`")
    (values,) = workloads(opened, None if size is None else [size], set_param)
    current = _current(opened, chosen[0], must_apply=apply)
    if stored:
        sweeping, sweep = None, find_newest_sweep(settings, opened, chosen[0], values)
        settings.say(f"recorded {sweep.manifest.recorded}, {sweep.path}", "")
    else:
        toolchain = find_toolchain()
        plan = TunePlan(
            ladder=opened,
            kernel=chosen[0],
            values=values,
            gpu=find_gpu(),
            nvcc_version=toolchain.version,
            limit=limit,
            seed=seed,
            repeats=repeats,
            within_pct=within,
            processes=processes,
            timeout_s=timeout,
        )
        plan.check()
        sweeping = SweepMeasurement(plan, toolchain, SweepStore(settings.runs_folder), current, jobs)
        sweep = _measured(sweeping, settings, afresh=again)
    finding = find_best_points(sweep, current, top)
    print_answer(finding, lambda: sweep_document(finding), settings.format)
    picture.draw(lambda charts: charts.tuning_chart(find_best_points(sweep, current)))
    picture.report(settings)
    if profile_extremes and sweeping is not None:
        from profiler.commands.measuring.profile_extremes import print_extremes

        print_extremes(sweeping, sweep, finding, settings)
    if apply:
        _apply(finding, chosen[0], settings)
    elif not finding.best.is_current:
        settings.say("", f"to write the best into {_shown_path(chosen[0])}: {_with_apply(sys.argv[1:])}")


def _refuse_to_measure(context: Context) -> None:
    """Refuses options that say how to measure together with --stored."""
    typed = options.typed_options(context)
    if words := ", ".join(typed[name] for name in _MEASURING if name in typed):
        raise Misuse(f"--stored measures nothing: leave out {words}")


def _current(ladder: Ladder, kernel: Kernel, *, must_apply: bool) -> dict[str, int] | None:
    """Returns the values in the source now, or None if it has no #define lines for them and `must_apply` is false."""
    try:
        return read_defaults(_read_source(kernel), sweep_of(kernel, ladder).parameters)
    except DefaultsNotFound:
        if must_apply:
            raise
    return None


def _measured(sweeping: SweepMeasurement, settings: options.VerbSettings, *, afresh: bool) -> StoredSweep:
    """Returns the stored sweep of the same plan, or measures one now."""
    known = None if afresh else sweeping.known()
    if known is not None:
        settings.say(f"measured before: {known.manifest.run_id}; `--again` measures it again")
        return known
    with continuable("measurements"), TuneProgress(settings) as progress:
        stored = sweeping.measure(progress.observer())
    settings.say(f"stored      {stored.path}", "")
    return stored


def _apply(finding: TuningFinding, kernel: Kernel, settings: options.VerbSettings) -> None:
    """Prints the change of the source file, then writes it as a whole."""
    before = _read_source(kernel)
    after = with_defaults(before, finding.best.settings)
    path = _source_of(kernel)
    if before == after:
        print(f"{_shown_path(kernel)} has the best values already", file=sys.stderr)
        return
    print("\n".join(["", *diff_lines(before, after, _shown_path(kernel))]), file=sys.stderr)
    mode = path.stat().st_mode
    write_whole(after.encode(), path)
    path.chmod(mode)
    settings.say(f"Wrote {path}")


def _source_of(kernel: Kernel) -> Path:
    """Returns the source file, after following links."""
    assert kernel.source is not None  # it declares a sweep, and so is compiled
    return kernel.source.resolve()


def _shown_path(kernel: Kernel) -> str:
    return printable(shortest_path(_source_of(kernel)))


def _read_source(kernel: Kernel) -> str:
    """Returns the text of the source with its own line ends."""
    path = _source_of(kernel)
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise LadderInvalid(f"{path}: cannot be read as text: {error}") from None


def _with_apply(arguments: list[str]) -> str:
    """Returns the typed command with --apply, without options that would measure again."""
    kept = [word for word in arguments if word not in ("--again", "--profile-extremes")]
    return shown(["prof", *kept, "--apply"])
