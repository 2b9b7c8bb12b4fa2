"""The findings of Nsight Compute's own rules: those that say more than the causes do, and how many agree with these."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from profiler.analyse.recording.overview import SheetFinding
from profiler.analyse.recording.rules import SheetRule
from profiler.text import counted, listed, place_name, short_place

_MOST_RULES = 3
_LITTLE_PCT = 5.0  # estimates of what a change saves are off by more, prof's own among them
_OF_THIS_KERNEL, _NARROWER = re.compile(r"\bthis (?:workload|kernel)\b", re.IGNORECASE), "This is further "


def rule_lines(sheet: SheetFinding, *, full: bool) -> list[str]:
    """Returns the findings of Nsight Compute's own rules, with its estimates of the speedup.

    Unless `full`, only the sentence with the figure of the rules that promise most of the kernel, and that say more than the causes
    named above; the others are counted. What a rule promises of a part, such as all FP32 instructions, says nothing of the kernel: it
    may be 50 % where hardly any run. What promises little is left out beside a cause that would save more.
    """
    named = [one.cause for one in sheet.causes]
    largest = max((one.saves_pct.expected for one in sheet.causes), default=0.0)
    promising = [rule for rule in sheet.rules if rule.speedup_pct and rule.speedup_kind != "local"]
    telling = [
        rule
        for rule in promising
        if set(named).isdisjoint(rule.causes) and not (rule.speedup_pct or 0.0) < min(_LITTLE_PCT, largest)
    ]
    shown = sheet.rules if full else telling[:_MOST_RULES]
    lines = [
        f"{rule.section}{_place(rule)}{_estimate(rule)}: {rule.message if full else _telling_sentence(rule.message)}"
        for rule in shown
    ]
    if left_out := sheet.rules_left_out + len(sheet.rules) - len(shown):
        more = "more " if shown else ""
        count = f"{counted(left_out, f'{more}finding')} of Nsight Compute"
        left = (
            f"{count} {'is' if left_out == 1 else 'are'} left out{_agreement(sheet.rules, named, left_out)}"
        )
        lines.append(f"and {count}" if full else left)
    return lines


def _agreement(rules: Sequence[SheetRule], named: Sequence[str], left_out: int) -> str:
    """Returns how many of those left out mean a cause that is named, and which, as the end of a sentence; "" if none does.

    If a rule means several causes, it agrees with the first of them that is named.
    """
    meant = [next((cause for cause in named if cause in rule.causes), None) for rule in rules]
    causes = [cause for cause in meant if cause]
    if not causes:
        return ""
    all_of_them = {1: "which", 2: "both of which"}.get(left_out, "all of which")
    which = all_of_them if len(causes) == left_out else f"{len(causes)} of which"
    names = sorted(set(causes), key=named.index)
    return f", {which} {'agrees' if len(causes) == 1 else 'agree'} with {listed(names)}"


def _telling_sentence(message: str) -> str:
    """Returns the first sentence with a figure of this kernel, with what narrows that figure down.

    Some rules begin with an explanation, which may hold a figure too: warps are groups of 32 threads.
    """
    sentences = re.split(r"(?<=\.)\s+", message)
    figures = [place for place, one in enumerate(sentences) if re.search(r"\d", one)]
    own = [place for place in figures if _OF_THIS_KERNEL.search(sentences[place])]
    first = next(iter([*own, *figures]), 0)
    further = itertools.takewhile(lambda one: one.startswith(_NARROWER), sentences[first + 1 :])
    return " ".join([sentences[first], *further])


def _estimate(rule: SheetRule) -> str:
    of_what = " of a part" if rule.speedup_kind == "local" else ""
    return f" (estimated speedup {rule.speedup_pct:.3g} %{of_what})" if rule.speedup_pct else ""


def _place(rule: SheetRule) -> str:
    if rule.file is not None and rule.line is not None:
        return f", {short_place(place_name(rule.file, rule.line))}"
    return f", instruction at {rule.offset:#x}" if rule.offset is not None else ""
