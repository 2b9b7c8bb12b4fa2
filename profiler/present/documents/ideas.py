"""The ideas of a ladder as a document: each idea's step, as claimed and as measured here."""

from __future__ import annotations

from profiler.analyse.ladder.cautions import cautions_of
from profiler.analyse.ladder.ideas import BAND, Idea, IdeasFinding
from profiler.catalog.ladders.ladder import Claim
from profiler.present.document import Caution, Column, Document, Plain, Records, Row, Table, Text, Tone
from profiler.present.documents.ladder import ladder_heading
from profiler.present.documents.parts.verdicts import VERDICT_MARK
from profiler.text import number, short_gpu, spread

IDEA_COLUMNS = (
    Column("rung", "number"),
    Column("name"),
    Column("idea", prose=True),
    Column("from", "number"),
    Column("claimed"),
    Column("here"),
    Column("story"),
    Column("counters", prose=True),
)
_STORY_TONE: dict[str, Tone] = {
    "holds": "good",
    "direction only": "warn",
    "does not hold": "bad",
    "unclear": "warn",
    "not published": "quiet",
}
_CLAIMS: dict[Claim, str] = {"faster": "faster", "same": "no gain", "slower": "slower"}
_LEGEND = (
    "claimed: the step from that rung as published, for the GPU named, or as the ladder says",
    "here: times as fast, ± half of the 95 % interval, = if no difference matters, ? if unclear",
    f"holds: the claimed way, and within {100 * (BAND - 1):.0f} % of a claimed ratio; direction only: the claimed way",
)
_HEADER = (
    "ladder", "kernel", "name", "idea", "before", "claim", "published", "published_gpu", "published_figure",
    "speedup", "speedup_low", "speedup_high", "speedup_basis", "verdict", "story", "reason", "refused",
)  # fmt: skip


def ideas_document(finding: IdeasFinding) -> Document:
    """Returns a row for each step, with the idea and what the counters show."""
    return Document(
        ladder_heading(finding, "what each idea was worth"),
        [
            [Table(IDEA_COLUMNS, [idea_row(one) for one in finding.ideas])],
            [*map(Text, _refusals(finding)), *map(Caution, cautions_of(finding.ideas)), *map(Text, _LEGEND)],
        ],
        Records(_HEADER, [_record(finding, one) for one in finding.ideas]),
        titled=True,
    )


def idea_row(one: Idea) -> Row:
    """Returns the row of one idea, in the order of `IDEA_COLUMNS`."""
    step = (one.kernel, one.name, one.idea, one.before, _claimed(one), step_text(one))
    return Row((*step, one.story, one.reason), _STORY_TONE[one.story])


def _record(finding: IdeasFinding, one: Idea) -> list[Plain]:
    published, speedup = one.published, one.speedup
    return [
        finding.ladder, one.kernel, one.name, one.idea, one.before, one.claim,
        *((published.ratio, published.gpu, published.figure) if published else (None, None, None)),
        speedup.ratio if speedup else None, *((speedup.ci if speedup else None) or (None, None)),
        speedup.basis if speedup else None, one.verdict, one.story, one.reason, "; ".join(one.refused),
    ]  # fmt: skip


def _claimed(one: Idea) -> str:
    """Returns the published ratio, with the claim if it differs; without a ratio, the claim alone."""
    if one.published is None:
        return _CLAIMS[one.claim] if one.claim else ""
    text = f"{number(one.published.ratio)}x on {short_gpu(one.published.gpu)}"
    goes = "faster" if one.published.ratio > 1 else "slower"
    return text if one.claim == goes or one.claim is None else f"{text}: {_CLAIMS[one.claim]}"


def step_text(one: Idea) -> str:
    if one.speedup is None:
        return "refused" if one.refused else "not measured"
    ratio, ci = one.speedup.ratio, one.speedup.ci
    under = " under the profiler" if one.speedup.basis == "profiled" else ""
    span = f" ± {spread(100 * (ci[1] - ci[0]) / 2 / ratio)} %" if ci and ci[0] < ci[1] else ""
    mark = VERDICT_MARK.get(one.verdict or "")
    return f"{number(ratio)}x{span}{f' {mark}' if mark else ''}{under}"


def _refusals(finding: IdeasFinding) -> list[str]:
    return [
        f"{one.kernel} against {one.before} refused: {line}" for one in finding.ideas for line in one.refused
    ]
