"""An `IdeasFinding` as a terminal page, Markdown or CSV: each idea's step, claimed and here."""

from __future__ import annotations

from profiler.analyse.ladder.ideas import Idea, IdeasFinding
from profiler.catalog.ladders.ladder import Claim, size_text
from profiler.present.encode import Cell, markdown_text, to_csv, to_markdown
from profiler.present.ladder import caution_lines
from profiler.present.terminal import VERDICT_MARK, render_table, styled, wrapped
from profiler.text import number, printable

IDEAS_HEADER = ("", "name", "idea", "from", "claimed", "here", "story", "counters")
STORY_STYLE = {"holds": "green", "does not hold": "red", "unclear": "yellow", "not published": "dim"}
_CLAIMS: dict[Claim, str] = {"faster": "faster", "same": "no gain", "slower": "slower"}
_BELOW = ("idea", "counters")  # too long for a column of a terminal
_INDENT = "    "
_LEGEND = (
    "claimed: the step from that rung as published, for the GPU named, or as the ladder says;",
    "here: times as fast, ± half of the 95 % interval, = if no difference matters, ? if unclear",
)


def ideas_text(finding: IdeasFinding, *, colour: bool, width: int | None) -> str:
    """A line for each step; below it the idea, and what the counters read."""
    columns = [index for index, title in enumerate(IDEAS_HEADER) if title not in _BELOW]
    table = render_table(
        [IDEAS_HEADER[index] for index in columns],
        [[idea_cells(one)[index] for index in columns] for one in finding.ideas],
        right=(0, 2),
        styles=[STORY_STYLE[one.story] if colour else "" for one in finding.ideas],
        colour=colour,
    )
    header, *steps = table.split("\n")
    lines = [header]
    for step, one in zip(steps, finding.ideas, strict=True):
        lines += [step, *_below(one, width)]
    parts = [
        styled(_heading(finding), "bold", colour=colour),
        "\n".join(lines),
        "\n".join(wrapped(note, width) for note in _notes(finding)),
    ]
    return "\n\n".join(parts)


def _below(one: Idea, width: int | None) -> list[str]:
    texts = filter(None, [printable(one.idea), printable(one.reason)])
    return [wrapped(_INDENT + text, width, _INDENT) for text in texts]


def ideas_markdown(finding: IdeasFinding) -> str:
    table = to_markdown(IDEAS_HEADER, [idea_cells(one) for one in finding.ideas], numeric=(0, 3))
    notes = [markdown_text(line) for line in _notes(finding)]
    return "\n\n".join([f"### {markdown_text(_heading(finding))}", table, "  \n".join(notes)])


def ideas_csv(finding: IdeasFinding) -> str:
    header = (
        "ladder", "kernel", "name", "idea", "before", "claim", "published", "published_gpu", "published_figure",
        "speedup", "speedup_low", "speedup_high", "speedup_basis", "verdict", "story", "reason", "refused",
    )  # fmt: skip
    return to_csv(header, [_csv_row(finding, one) for one in finding.ideas])


def _csv_row(finding: IdeasFinding, one: Idea) -> list[Cell]:
    published, speedup = one.published, one.speedup
    return [
        finding.ladder, one.kernel, one.name, one.idea, one.before, one.claim,
        *((published.ratio, published.gpu, published.figure) if published else (None, None, None)),
        speedup.ratio if speedup else None, *((speedup.ci if speedup else None) or (None, None)),
        speedup.basis if speedup else None, one.verdict, one.story, one.reason, "; ".join(one.refused),
    ]  # fmt: skip


def idea_cells(one: Idea) -> tuple[str, ...]:
    return (
        str(one.kernel), one.name, one.idea, str(one.before), _claimed(one), step_text(one), one.story, one.reason,
    )  # fmt: skip


def _claimed(one: Idea) -> str:
    """The published ratio; the claim itself where there is none, or where it says something else."""
    if one.published is None:
        return _CLAIMS[one.claim] if one.claim else ""
    text = f"{number(one.published.ratio)}x on {short_gpu(one.published.gpu)}"
    goes = "faster" if one.published.ratio > 1 else "slower"
    return text if one.claim == goes or one.claim is None else f"{text}: {_CLAIMS[one.claim]}"


def short_gpu(name: str) -> str:
    """Without the maker's name and brand, which say nothing of the chip."""
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def step_text(one: Idea) -> str:
    if one.speedup is None:
        return "refused" if one.refused else "not measured"
    under = " under the profiler" if one.speedup.basis == "profiled" else ""
    span = f" ± {_spread_pct(one.speedup.ratio, one.speedup.ci):.2f} %" if one.speedup.ci else ""
    mark = VERDICT_MARK.get(one.verdict or "")
    return f"{number(one.speedup.ratio)}x{span}{f' {mark}' if mark else ''}{under}"


def _spread_pct(ratio: float, ci: tuple[float, float]) -> float:
    return 100 * (ci[1] - ci[0]) / 2 / ratio


def _heading(finding: IdeasFinding) -> str:
    workload = size_text(finding.workload) if finding.workload else "workload not recorded"
    return f"{finding.ladder}: what each idea was worth ({printable(finding.gpu)}, {workload})"


def _notes(finding: IdeasFinding) -> list[str]:
    refusals = [
        f"{one.kernel} against {one.before} refused: {printable(line)}"
        for one in finding.ideas
        for line in one.refused
    ]
    return [*refusals, *caution_lines(finding.ideas), *_LEGEND]
