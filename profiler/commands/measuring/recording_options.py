"""Options of `prof collect` that say what ncu records, and how."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from profiler.catalog.presets import find_preset
from profiler.commands.shared.verb import OfOptions
from profiler.measuring.tools.ncu import CacheControl, ClockControl, Graphs, NcuOptions, Replay, nvtx_words


def recording_of(
    preset: Annotated[
        str, Option(metavar="NAME", help="Which metrics to record: see `prof presets`.")
    ] = "default",
    section: Annotated[
        list[str] | None, Option(metavar="NAME", help="Also record this section of ncu; may be repeated.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Also record this metric, by prof's or ncu's name; may be repeated."),
    ] = None,
    set_: Annotated[
        str | None, Option("--set", metavar="NAME", help="Also record this section set of ncu.")
    ] = None,
    nvtx: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help='Profile only what is launched inside this NVTX range, as `prof.range("NAME")` opens it; may be repeated.',
        ),
    ] = None,
    replay_mode: Annotated[Replay, Option(help="What ncu repeats for each pass.")] = "kernel",
    graph_profiling: Annotated[
        Graphs, Option(help="Profile CUDA graphs node by node, or each as a whole.")
    ] = "node",
    clock_control: Annotated[
        ClockControl, Option(help="How ncu sets the GPU's clocks; none leaves them as they are.")
    ] = "none",
    cache_control: Annotated[CacheControl, Option(help="Caches that ncu flushes before each pass.")] = "all",
    ncu_option: Annotated[
        list[str] | None, Option(metavar="WORD", help="Add this word to ncu's command line; may be repeated.")
    ] = None,
) -> NcuOptions:
    return NcuOptions(
        preset=find_preset(preset).with_more(section or (), metric or (), set_),
        replay=replay_mode,
        graphs=graph_profiling,
        clock=clock_control,
        cache=cache_control,
        extra=(*nvtx_words(nvtx or ()), *(ncu_option or ())),
    )


RecordingOptions = Annotated[NcuOptions, OfOptions(recording_of)]
