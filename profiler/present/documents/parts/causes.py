"""Causes as blocks: what each change would save, what the cause is, where, and what to try."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.causes.headline import has_place, place_text, saves_text
from profiler.present.document import Block, Item, Items, Section, Text

_TITLES = ("could save", "cause", "why")
_MEANING = "what causes its time, by the share of it that a change is likely to save (what several save does not add up)"
_SHOWN_TEXT = 60


def headline_blocks(headline: Headline | None) -> Section:
    """Returns the answer in three lines, or nothing where no duration is known."""
    return [Text(headline.what, strong=True), *why_and_next(headline)] if headline else []


def why_and_next(headline: Headline | None) -> Section:
    """Returns the why and the next step, as far as they are known."""
    lines = [("Why", headline.why), ("Next", headline.next)] if headline else []
    return [Text(f"{name}: {text}") for name, text in lines if text]


def cause_blocks(causes: Sequence[Cause], unseen: Sequence[str], said: Headline | None = None) -> Section:
    """Returns the list of causes, and what the recording did not allow to see; leaves out the sentences of `said`."""
    blocks: list[Block] = []
    if causes:
        blocks.append(Items(_MEANING, [_item(one, said) for one in causes], _TITLES))
    if unseen:
        blocks.append(Text(f"not recorded: {'; '.join(unseen)}. `prof collect --preset source` records it."))
    return blocks


def _item(cause: Cause, said: Headline | None) -> Item:
    why, next_ = (said.why, said.next) if said else ("", "")
    saves = "" if cause.is_ceiling else f" {saves_text(cause)}"
    is_explained, has_advice = cause.sentence in why, cause.try_ in next_
    parts = [
        "Why and what to try stand above." if is_explained and has_advice else "",
        "" if is_explained else cause.sentence,
        f"At {_places(cause)}." if has_place(cause) else "",
        "" if has_advice else f"Try: {cause.try_}{saves}",
    ]
    weight = 0.0 if cause.is_ceiling else cause.saves_pct.expected
    return Item(weight, cause.cause, " ".join(filter(None, parts)))


def _places(cause: Cause) -> str:
    first, *others = cause.where
    text = f" `{first.text[:_SHOWN_TEXT]}`" if first.text else ""
    more = f", {', '.join(map(place_text, others))}" if others else ""
    hint = "" if first.line else " (no source lines are recorded: compile with -lineinfo)"
    return f"{place_text(first)}{text}{more}{hint}"
