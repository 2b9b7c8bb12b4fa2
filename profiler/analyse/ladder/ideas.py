"""Finds what each idea of a ladder was worth: the gain that is claimed for its step, and the gain here.

A climb in; an `IdeasFinding` out. A claim is the ratio of two figures that were published of both rungs of a step
for one GPU, or what the ladder expects. It holds if the step here certainly goes the claimed way: faster, slower,
or no better if no gain was claimed. A claimed ratio holds only where the ratio here is within a tenth of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Annotated, Literal, get_args

from msgspec import Struct

from profiler.analyse.agreed_names import WithAgreedNames
from profiler.analyse.compare.changes import judge_speedup
from profiler.analyse.findings import SCHEMA_VERSION, LeftOut, Speedup, VerdictName
from profiler.analyse.importance import Importance
from profiler.analyse.ladder.climb import Climb
from profiler.analyse.ladder.ladder import LadderStep, MissingRungs, name_cut
from profiler.analyse.ladder.reasons import explain_step
from profiler.analyse.recording.doubts import is_part_of_step
from profiler.catalog.ladders.ladder import Claim, Kernel, Ladder
from profiler.catalog.metrics import SMALLEST_RELATIVE_EFFECT

Story = Literal["holds", "direction only", "does not hold", "unclear", "not published"]
Figure = Literal["gflops", "gbytes_per_s", "time_us", "reference_pct"]

BAND = 1.1  # a claimed ratio holds if the ratio here is at most this factor away
_FIGURES = get_args(Figure)  # the first that both rungs have is taken


class PublishedStep(Struct, frozen=True):
    """`ratio` above 1 means that the second was faster on that GPU, going by that figure of both."""

    gpu: str
    ratio: float
    figure: Figure


class Idea(WithAgreedNames, Struct, frozen=True):
    """One rung against rung `before`.

    `claim` is what the ladder claims for the step, or what was `published`. `story` says whether that holds
    here. The step's `speedup` here has this `verdict`, which `warnings` qualify. `reason` names the first
    cause of each rung, and what became of the work.
    """

    kernel: int
    name: str
    idea: str
    before: int
    claim: Claim | None
    published: PublishedStep | None
    speedup: Speedup | None
    verdict: VerdictName | None
    story: Story
    reason: str
    refused: Annotated[list[str], Importance(93, each=3)]
    warnings: Annotated[list[str], Importance(93, each=3)] = []
    cautions: Annotated[list[str], Importance(93, each=3)] = []


class IdeasFinding(Struct, frozen=True):
    """The ideas that were added to the first rung, in the ladder's order, as recorded on this GPU with this workload.

    `missing` are the rungs without a result.
    """

    schema_version: int
    ladder: str
    title: str
    gpu: str
    workload: dict[str, int] | None
    ideas: Annotated[
        list[Idea],
        Importance(
            100,
            each=0.7,
            by=lambda idea, *_: idea.claim is None,  # ideas with a claim first
            keeps_order=True,
            instead=("missing", name_cut),
        ),
    ]
    missing: MissingRungs = []
    left_out: LeftOut = {}


def derive_ideas(climb: Climb) -> IdeasFinding:
    binding = {rung.kernel: rung.binding for rung in climb.finding.kernels}
    return IdeasFinding(
        schema_version=SCHEMA_VERSION,
        ladder=climb.ladder.name,
        title=climb.ladder.title,
        gpu=climb.conditions.gpu,
        workload=climb.finding.workload,
        ideas=[_idea(climb.ladder, step, binding) for step in climb.steps],
        missing=climb.finding.missing,
    )


def _idea(ladder: Ladder, step: LadderStep, binding: Mapping[int, str | None]) -> Idea:
    before, after = step.before, step.after
    causes = (binding.get(before.kernel.number), binding.get(after.kernel.number))
    published = find_published_step(before.kernel, after.kernel)
    claim = _claim(ladder, before.kernel, after.kernel, published)
    speedup = step.change.speedup if step.change else None
    # A kernel that is only a part of its step: the profiler's durations say nothing about the step.
    if speedup and speedup.basis == "profiled" and any(map(is_part_of_step, (before.profile, after.profile))):
        speedup = None
    verdict = judge_speedup(speedup) if speedup else None
    return Idea(
        kernel=after.kernel.number,
        name=after.kernel.name,
        idea=after.kernel.idea,
        before=before.kernel.number,
        claim=claim,
        published=published,
        speedup=speedup,
        verdict=verdict,
        story=judge_story(
            claim, verdict, speedup.ratio if speedup else None, published.ratio if published else None
        ),
        reason=explain_step(before.profile, after.profile, causes) if step.change else "",
        refused=list(step.refused),
        warnings=step.change.warnings if step.change else [],
    )


def find_published_step(before: Kernel, after: Kernel) -> PublishedStep | None:
    """Returns the published step, by the first GPU and figure that both rungs have."""
    for later, earlier, figure in product(after.published, before.published, _FIGURES):
        first, second = getattr(earlier, figure), getattr(later, figure)
        if earlier.gpu == later.gpu and first and second:
            ratio = first / second if figure == "time_us" else second / first
            return PublishedStep(later.gpu, ratio, figure)
    return None


def _claim(ladder: Ladder, before: Kernel, after: Kernel, published: PublishedStep | None) -> Claim | None:
    """Returns the claim. The ladder claims something of one step, and nothing where another rung is the one before."""
    numbers = [kernel.number for kernel in ladder.kernels]
    start = after.against if after.against is not None else numbers[numbers.index(after.number) - 1]
    if after.expects and before.number == start:
        return after.expects
    if published is None:
        return None
    if abs(published.ratio - 1) < SMALLEST_RELATIVE_EFFECT:
        return "same"
    return "faster" if published.ratio > 1 else "slower"


def judge_story(
    claim: Claim | None, verdict: VerdictName | None, ratio: float | None = None, claimed: float | None = None
) -> Story:
    """Judges a claim, and the claimed ratio if there is one. "No gain" holds also where the step is slower instead of the same."""
    if claim is None:
        return "not published"
    if verdict not in ("better", "same", "worse"):
        return "unclear"
    expected = {"faster": ("better",), "same": ("same", "worse"), "slower": ("worse",)}
    if verdict not in expected[claim]:
        return "does not hold"
    if claim == "same" or not ratio or not claimed:
        return "holds"
    return "holds" if is_as_claimed(ratio, claimed) else "direction only"


def is_as_claimed(figure: float, claimed: float) -> bool:
    """Returns whether a figure is within a tenth of the claimed one."""
    return 1 / BAND <= figure / claimed <= BAND
