"""Sums up checked pairs: the worst outcome of all, and a headline that says what failed and counts the rest."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from profiler.analyse import findings
from profiler.analyse.causes.cause import Headline
from profiler.analyse.check import (
    NOT_PASSED,
    AcceptedRemoval,
    CheckFinding,
    MetricCheck,
    Outcome,
    PairCheck,
    change_of,
    failure_text,
    worst,
)
from profiler.analyse.recording.kernel_names import plain_name
from profiler.catalog.presets import more_launches
from profiler.text import counted, first_of, shortened

_NAME_WIDTH = 60
_MOST_IN_LINE = 3
_IN_ONE = " in a single launch"
ITSELF = "the same recording on both sides"
MORE_LAUNCHES = f"Where a side has a single launch, nothing is decided: {more_launches()}."
_MORE_PROCESSES = (
    "Record both sides in more processes, which take turns: `prof collect --launches 5 --processes 5 ...`."
)
_RECORD_ALIKE = "Record both sides the same way; `prof compare --force` shows their difference anyway."
_RECORD_IT = "Record on both sides, under one name, what the baseline has; if it was removed on purpose, `prof check --accept REASON` with the same two sides accepts that."
_PAIR_THEM = "If they do the same work, give `-k PATTERN` that matches both names; or `prof check --accept REASON` with the same two sides accepts the change."
_BESIDES: dict[Outcome, str] = {"unclear": "unclear", "not_comparable": "not comparable"}


def derive_finding(
    pairs: Sequence[PairCheck],
    notes: Sequence[str],
    *,
    gone: Sequence[str] = (),
    missing: Sequence[str] = (),
    new: Sequence[str] = (),
    removed: Sequence[AcceptedRemoval] = (),
) -> CheckFinding:
    """Returns the finding with the worst outcome of all, and its headline."""
    outcomes = {pair.outcome for pair in pairs}
    if gone or missing:  # else a kernel that got slower would pass under another name
        outcomes.add("unclear")
    finding = CheckFinding(
        headline=Headline("", "", ""),
        schema_version=findings.SCHEMA_VERSION,
        outcome=worst(outcomes),
        pairs=list(pairs),
        notes=list(notes),
        gone=list(gone),
        missing=list(missing),
        new=list(new),
        removed=list(removed),
    )
    return replace(finding, headline=_headline(finding))


def _headline(finding: CheckFinding) -> Headline:
    """Returns the outcome in one line; for the first regression why, and what to change; for anything else what decides it."""
    first = next((pair for pair in finding.pairs if pair.outcome == "regression"), None)
    if first:
        return Headline(sentence(finding), first.why, first.next)
    return Headline(sentence(finding), "", _what_decides(finding))


def _what_decides(finding: CheckFinding) -> str:
    if finding.outcome == "passed":
        return ""
    if finding.outcome == "not_comparable":
        refused = [pair for pair in finding.pairs if pair.outcome == "not_comparable"]
        return " ".join(dict.fromkeys(pair.next or _RECORD_ALIKE for pair in refused))
    reasons = {one.reason for pair in finding.pairs for one in pair.checks if one.outcome == "unclear"}
    if not reasons.isdisjoint(findings.TOO_FEW):
        return MORE_LAUNCHES
    if reasons:
        return _MORE_PROCESSES
    return _PAIR_THEM if any(pair.is_doubted for pair in finding.pairs) else _RECORD_IT


def sentence(finding: CheckFinding) -> str:
    """Returns the outcome in one line, and what only one side has.

    A check that passed also says what got faster; beside another outcome, that would read like a second one.
    """
    outcome, lost = _outcome(finding), _lost(finding)
    if lost and finding.outcome == "unclear" and not any(pair.outcome == "unclear" for pair in finding.pairs):
        outcome, lost = f"unclear: {lost}, so a regression there would not be seen; {outcome}", ""
    removed = [one.name for one in finding.removed]
    parts = (
        outcome,
        gains(finding) if finding.outcome == "passed" else "",
        lost,
        _listed(removed, "removal accepted", "removals accepted"),
        _listed(finding.new, "recording is new", "recordings are new"),
    )
    return "; ".join(filter(None, parts))


def _listed(names: Sequence[str], one: str, many: str) -> str:
    return f"{counted(len(names), one, many)}: {first_of(names, _MOST_IN_LINE)}" if names else ""


def _lost(finding: CheckFinding) -> str:
    """Returns what the baseline has and the candidate lacks, in words; "" for nothing."""
    gone = counted(len(finding.gone), "kernel of the baseline is gone", "kernels of the baseline are gone")
    alone = counted(len(finding.missing), "recording of the baseline has", "recordings of the baseline have")
    lost = ((finding.gone, gone), (finding.missing, f"{alone} no counterpart"))
    return " and ".join(f"{what} ({first_of(names, _MOST_IN_LINE)})" for names, what in lost if names)


def gains(finding: CheckFinding) -> str:
    """Returns how much faster the kernels are whose time fell beyond noise, the largest gains first."""
    faster = [
        (
            one.change_pct or 0.0,
            f"{pair_name(pair)} takes {change_of(one).removeprefix('-')} less time{_IN_ONE if one.ci_pct is None else ''}",
        )
        for pair in finding.pairs
        for one in pair.checks[:1]
        if one.is_faster
    ]
    texts = [text for _, text in sorted(faster, key=lambda gain: gain[0])]
    return f"faster: {first_of(texts, _MOST_IN_LINE)}" if texts else ""


def _outcome(finding: CheckFinding) -> str:
    """Returns the worst outcome, and how many kernels or recordings have each other outcome that does not pass."""
    pairs = finding.pairs
    kernels = [pair for pair in pairs if not _is_recording(pair)]
    groups = [(outcome, [pair for pair in pairs if pair.outcome == outcome]) for outcome in NOT_PASSED]
    found = [(outcome, members) for outcome, members in groups if members]
    if not found:
        return f"{'passed: ' if finding.outcome == 'passed' else ''}{_no_regression(pairs)}"
    (outcome, members), *others = found
    besides = [f"{_how_many(others_of, kernels)} {_BESIDES[other]}" for other, others_of in others]
    return "; ".join([_worst_sentence(outcome, members, kernels), *besides])


def _worst_sentence(outcome: Outcome, members: Sequence[PairCheck], kernels: Sequence[PairCheck]) -> str:
    named = first_of([pair_name(pair) for pair in members], _MOST_IN_LINE)
    many = _how_many(members, kernels)
    if outcome == "regression":
        if len(members) == len(kernels) == 1:
            return f"regression: {', '.join(map(failure_text, _failed(members[0])))} in {named}"
        failed = [f"{pair_name(pair)}: {_changes(pair)}" for pair in members]
        return f"regression in {many}: {first_of(failed, _MOST_IN_LINE)}"
    if outcome == "unclear":
        why = []
        if any(one.outcome == "unclear" for pair in members for one in pair.checks):
            why.append("the launches do not decide it")
        if any(pair.is_doubted for pair in members):
            why.append("the name is not the one in the baseline")
        where = "" if len(members) == len(kernels) == 1 else f" in {many}"
        because = f"because {(' and ' if len(members) == 1 else ' or ').join(why)}"
        if where:
            return f"unclear{where}, {because}: {named}"
        doubted = [one for one in members[0].checks if one.outcome == "unclear"]
        figures = ", ".join(map(failure_text, doubted or members[0].checks[:1]))
        return f"unclear: {figures} in {named}, {because}"
    return f"not comparable with its baseline: {many}: {named}"


def _how_many(members: Sequence[PairCheck], kernels: Sequence[PairCheck]) -> str:
    """Returns how many kernels these are, of all; recordings that were refused whole are counted apart."""
    recordings = sum(map(_is_recording, members))
    some = len(members) - recordings
    parts = [f"{some} of {counted(len(kernels), 'kernel', 'kernels')}"] if some else []
    return " and ".join([*parts, *([counted(recordings, "recording", "recordings")] if recordings else [])])


def _is_recording(pair: PairCheck) -> bool:
    """Returns whether this is a recording that was refused before any of its kernels was looked at."""
    return not pair.kernel and not pair.checks


def _changes(pair: PairCheck) -> str:
    return " and ".join(f"{one.metric} {change_of(one)}" for one in _failed(pair))


def _failed(pair: PairCheck) -> list[MetricCheck]:
    return [one for one in pair.checks if one.outcome == "regression"]


def _no_regression(pairs: Sequence[PairCheck]) -> str:
    """Returns in how many kernels there is no regression, which were accepted, and how many were not checked."""
    if not pairs:
        return "nothing was checked, because no kernel of one side has a counterpart in the other"
    alike = sum(pair.is_itself for pair in pairs)
    if alike == len(pairs):  # a change that records no new run is no regression
        kernels = counted(alike, "kernel", "kernels")
        return f"nothing was checked, because both sides hold the same recordings of {kernels}"
    passes = [one for one in pairs if one.doubt_accepted or any(check.is_accepted for check in one.checks)]
    accepted = list(map(pair_name, passes))
    said = f"no regression in {counted(len(pairs) - alike, 'kernel', 'kernels')}"
    if accepted:
        said += f", except {_listed(accepted, 'that was accepted', 'that were accepted')}"
    return f"{said}; {alike} of {len(pairs)} not checked, {ITSELF}" if alike else said


def pair_name(pair: PairCheck) -> str:
    """Returns the kernel's name as people call it, and that of its recording, unless it is the same."""
    kernel, recording = names_of(pair, several=True)
    if not kernel:
        return recording
    return f"{kernel} ({recording})" if recording else kernel


def names_of(pair: PairCheck, several: bool) -> tuple[str, str]:
    """Returns the kernel's name, and that of its recording where there are `several`; a recording without a known kernel has only one."""
    title = _recording_name(pair)
    kernel = shortened(plain_name(pair.kernel), _NAME_WIDTH)
    if several and _is_recording(pair):
        return "", title
    if not kernel or kernel == title:
        return title, ""
    return kernel, title if several else ""


def _recording_name(pair: PairCheck) -> str:
    """Returns the name of the recording that holds the kernel: a report's file name, or a run's name and workload."""
    return shortened(pair.name.removesuffix(f": {pair.kernel}"), _NAME_WIDTH)
