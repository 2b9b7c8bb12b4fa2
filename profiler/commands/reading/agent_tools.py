"""The tools of `prof mcp`: for each, its description, its arguments and the finding that it returns.

In: the arguments that an agent sent. Out: the JSON of a finding or of a failure. Nothing here depends on the
protocol, and nothing writes: the findings are those that the verbs print. A tool opens only files within the reach
of the settings (`reach.py`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from profiler.analyse.ladder.ladder import LadderView
from profiler.ask.check import check
from profiler.ask.code import find_machine_code
from profiler.ask.compare import answer_of, compare
from profiler.ask.ladder import climb_ladder, find_ideas
from profiler.ask.listing import list_stored
from profiler.ask.show import recordings_meant, show_recordings
from profiler.catalog.patterns import MOST_CHARACTERS
from profiler.commands.shared.failure import failure_json
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.output import json_answer
from profiler.errors import InternalError, ProfError

INSTRUCTIONS = """\
prof reads recorded Nsight Compute profiles of CUDA kernels and says what changed between two of them, why, and how surely.
Begin with `list` (what is recorded) or `ladder` (every kernel of a series at once), then `compare` two of them; `show` is \
one recording by itself, `sass` the machine code of hot loops, and `check` whether a kernel got worse. Nothing is ever measured or written.
A recording is named by its kernel number in the ladder (6), by a run's name or run_id from `list`, or by the path of a \
.ncu-rep file as `list` gives it, relative to a folder that the server was started with: it opens no other file, and no URL. A number or a name means its newest run; `size` chooses another.
An answer of `show`, `compare`, `check` and `ladder` begins with `headline` (what, why, next); `show`, and `compare` of several kernels, go on with `index`: every kernel by its \
share of the time, or by its change. Ask for one with its `kernel_name`. Each of the `causes` says `where` it is, what to `try` and what that `saves_pct`. \
Where the first would save less than 40 %, weigh the first three: it is often not the one to change.
Duration decides: a utilisation that went up is `changed`, neither better nor worse. `unclear` means that the launches \
cannot decide it, and `reason` says why. Quote figures with their interval.
Answers hold the most important 8 KB, with numbers of six digits. `left_out` counts what was cut: a list that it names is not all, even where it is absent or empty. `full` gives everything, \
which may be a hundred times as much, and `brief` only the headline with what to doubt. The remedy of an error may name an option of the command line: `--kernel-name` is \
the argument `kernel_name`."""

_PARSER_EXIT_CODE = 2
_MOST_SHOWN = 200  # recordings in one call

LongestText = Annotated[str, Meta(max_length=4096)]  # a path has no more
Reference = Annotated[
    LongestText | int,
    Meta(
        description="Kernel number, name or run_id of a run, or path of a .ncu-rep file as `list` gives it.",
        examples=[6, "gemm-6", "a.ncu-rep"],
    ),
]
Pattern = Annotated[str, Meta(max_length=MOST_CHARACTERS)]
KernelPattern = Annotated[Pattern, Meta(description="Regular expression that chooses kernels.")]
OtherKernel = Annotated[Pattern, Meta(description="The kernel of `after`, if it is another one.")]
OtherCandidate = Annotated[Pattern, Meta(description="The kernel of `candidate`, if it is another one.")]
Nvtx = Annotated[Pattern, Meta(description="Only launches in matching NVTX ranges.")]
Launch = Annotated[
    str, Meta(pattern="^[0-9]+(-[0-9]+)?$", max_length=20, description="Only launch 3, or 4-6.")
]
LadderSize = Annotated[
    int | LongestText,
    Meta(description="Size of the workload, if not the one that most rungs share: 4096 or 512x4096x1024."),
]
AskedView = Annotated[LadderView, Meta(description="Counters of kernels that compute, or that move bytes.")]
MostSlower = Annotated[
    float, Meta(ge=0, description="Percent that the duration may rise, if not what the project allows.")
]
ListedName = Annotated[
    LongestText | int,
    Meta(
        description="List every run of this kernel number, of this name, or of names that match a shell pattern.",
        examples=[6, "gemm-6", "gemm-6*"],
    ),
]
RunSize = Annotated[
    LongestText | int, Meta(description="The newest run of this size: 2048 or 512x4096x1024.")
]
LadderName = Annotated[LongestText, Meta(description="Ladder of kernel numbers, if not the server's.")]
GpuName = Annotated[LongestText, Meta(description="Only runs of this GPU, by a part of its name.")]
Full = Annotated[bool, Meta(description="Everything, not the most important 8 KB.")]
Brief = Annotated[bool, Meta(description="The headline alone, with what to doubt: 1 KB.")]


class Input(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments that every tool takes."""

    full: Full = False
    ladder: LadderName | None = None
    gpu: GpuName | None = None


class CompareInput(Input, frozen=True):
    before: Reference
    after: Annotated[
        LongestText | int | None,
        Meta(description="Default: `before` is compared with the last run before it."),
    ] = None
    size: RunSize | None = None
    kernel_name: KernelPattern | None = None
    other_kernel: OtherKernel | None = None
    nvtx: Nvtx | None = None
    launch: Launch | None = None
    all: Annotated[bool, Meta(description="Compare every kernel that both recordings hold.")] = False
    metric: Annotated[list[str], Meta(description="Metrics to include, by prof's or ncu's name.")] = []
    force: Annotated[
        bool, Meta(description="Compare even recordings that were measured differently; the warnings stay.")
    ] = False
    brief: Brief = False


class LadderInput(Input, frozen=True):
    size: LadderSize | None = None
    set_param: Annotated[
        list[str], Meta(description="Single parameters of the workload, for example m=1000.")
    ] = []
    view: AskedView | None = None
    ideas: Annotated[
        bool,
        Meta(description="Return what each idea was worth: the gain claimed, and that measured."),
    ] = False
    brief: Brief = False


class ShowInput(Input, frozen=True):
    source: Reference | Annotated[list[LongestText | int], Meta(min_length=2, max_length=_MOST_SHOWN)]
    size: RunSize | None = None
    kernel_name: KernelPattern | None = None
    nvtx: Nvtx | None = None
    launch: Launch | None = None
    brief: Brief = False


class SassInput(Input, frozen=True, kw_only=True):
    before: Reference
    after: Reference | None = None
    size: RunSize | None = None
    kernel_name: KernelPattern | None = None
    nvtx: Nvtx | None = None
    launch: Launch | None = None
    full: Annotated[bool, Meta(description="The whole function, not its hot loop.")] = False


class CheckInput(Input, frozen=True, kw_only=True):
    baseline: Reference
    candidate: Reference | None = None
    kernel_name: KernelPattern | None = None
    other_kernel: OtherCandidate | None = None
    all: Annotated[bool, Meta(description="Check every kernel that both recordings hold.")] = False
    max_slower_pct: MostSlower | None = None
    brief: Brief = False


class ListInput(Input, frozen=True):
    name: ListedName | None = None


class ToolFailed(Exception):
    """The failure of a tool; its text is the JSON of a `Failure`."""


def _named(reference: LongestText | int | None) -> str | None:
    return None if reference is None else str(reference)


def _compare(given: CompareInput, settings: VerbSettings) -> str:
    comparisons = compare(
        str(given.before),
        _named(given.after),
        settings,
        kernel_name=given.kernel_name,
        every=given.all or None,
        metrics=given.metric,
        force=given.force,
        other_kernel=given.other_kernel,
    )
    return json_answer(answer_of(comparisons, every=given.all), given.full, given.metric, alone=given.brief)


def _ladder(given: LadderInput, settings: VerbSettings) -> str:
    climb = climb_ladder(settings, given.set_param, given.view)
    return json_answer(find_ideas(climb) if given.ideas else climb.finding, given.full, alone=given.brief)


def _show(given: ShowInput, settings: VerbSettings) -> str:
    named = given.source if isinstance(given.source, list) else [given.source]
    sources = recordings_meant(list(map(str, named)), settings)
    if len(sources) > _MOST_SHOWN:
        raise msgspec.ValidationError(
            f"these are {len(sources)} recordings, and one call shows {_MOST_SHOWN} at most"
        )
    shown = show_recordings(
        sources, settings, kernel_name=given.kernel_name, full=given.full, keeps_index=True
    )
    return json_answer(shown.finding, given.full, alone=given.brief)


def _sass(given: SassInput, settings: VerbSettings) -> str:
    sides = str(given.before), _named(given.after)
    view = find_machine_code(*sides, settings, kernel_name=given.kernel_name, whole=given.full)
    return json_answer(view.finding, given.full)


def _list(given: ListInput, settings: VerbSettings) -> str:
    return json_answer(list_stored(settings, _named(given.name)), given.full)


def _check(given: CheckInput, settings: VerbSettings) -> str:
    finding = check(
        str(given.baseline),
        _named(given.candidate),
        settings,
        kernel_name=given.kernel_name,
        other_kernel=given.other_kernel,
        every=given.all,
        max_slower_pct=given.max_slower_pct,
    )
    return json_answer(finding, given.full, alone=given.brief)


@dataclass(frozen=True)
class Tool:
    """A tool, the type of the arguments that it `takes`, and the function that has its `answer`."""

    name: str
    title: str
    description: str
    takes: type[Input]
    answer: Callable[[Any, VerbSettings], str]

    @property
    def input_schema(self) -> dict[str, Any]:
        _, definitions = msgspec.json.schema_components([self.takes])
        schema: dict[str, Any] = definitions[self.takes.__name__]
        return schema

    def call(self, arguments: Mapping[str, Any], settings: VerbSettings) -> str:
        """Returns the JSON of the finding; raises ToolFailed for any error."""
        try:
            return self._answer(arguments, settings)
        except msgspec.ValidationError as error:
            takes = (
                f"{self.name} takes {', '.join(self.takes.__struct_fields__)}; its input schema says more."
            )
            failure, exit_code = ProfError(f"{self.name}: {error}", remedy=takes), _PARSER_EXIT_CODE
        except ProfError as error:
            failure, exit_code = error, error.exit_code
        except Exception as error:
            failure, exit_code = InternalError(f"{type(error).__name__}: {error}"), InternalError.exit_code
            if settings.verbose:
                traceback.print_exc()
        raise ToolFailed(failure_json(failure, exit_code))

    def _answer(self, arguments: Mapping[str, Any], settings: VerbSettings) -> str:
        given = msgspec.convert(arguments, self.takes)
        if given.ladder is not None:
            if settings.reach is not None and given.ladder != settings.ladder:
                settings.reach.check_ladder(given.ladder)
            settings = replace(settings, ladder=given.ladder, ladder_given=True)
        chosen: dict[str, Any] = {
            name: getattr(given, name, None) for name in ("gpu", "size", "nvtx", "launch")
        }
        return self.answer(given, replace(settings, **chosen))


TOOLS = (
    Tool(
        "compare",
        "Compare two kernels",
        "Says what changed between two recordings of a CUDA kernel, why, and how surely: the speedup with its 95 % interval, "
        "split into instructions, issue rate, stalls and clock, or bytes moved; the metrics that changed, each with interval and "
        "verdict; what binds the second; the instructions and loads that changed. Of runs that were only timed, the speedup, and "
        "how close each comes to the reference. Use it for every question about a difference, instead of two calls of `show`.",
        CompareInput,
        _compare,
    ),
    Tool(
        "ladder",
        "Every rung of a ladder",
        "Shows a series of kernels, each improving on the one before: time, work per second, percent of the reference, main "
        "counters, the change from the rung it follows with its verdict, and what binds each. `missing` lists the rungs that "
        "the answer lacks, and why. Use it to find the step to look into with `compare`.",
        LadderInput,
        _ladder,
    ),
    Tool(
        "show",
        "One recording",
        "Shows one recording: where it comes from and how it was measured, its metrics with their spread, what binds "
        "it with the figures that say so, and Nsight Compute's own findings; of a run of timings, its times. Of a list of "
        "recordings, or a folder, shows all kernels, the longest first, with cause and likely saving: where to begin.",
        ShowInput,
        _show,
    ),
    Tool(
        "sass",
        "Machine code of hot loops",
        "Shows the machine code of a kernel's hot loop, or of two: instructions and FMAs per iteration, opcodes with counts, "
        "widths and source lines, which loads feed each operand, and what became of them. Use it when `compare` says that "
        "instructions or stalls changed.",
        SassInput,
        _sass,
    ),
    Tool(
        "check",
        "Did it get worse?",
        "Says whether a kernel got slower than a baseline, beyond noise and beyond what the project allows. For a regression, "
        "`pairs` say why, with the main factors, the first cause and what to try. Without a candidate, it checks the newest "
        "run with the baseline's name. Use it before you keep a change.",
        CheckInput,
        _check,
    ),
    Tool(
        "list",
        "What is recorded",
        "Lists what there is to compare: the kernels of the ladder with their ideas, the newest run of each name, and the report files. "
        "With `name`, lists every run that it means, to choose an older one by its run_id. Use it first when you do not know what "
        "is recorded.",
        ListInput,
        _list,
    ),
)
