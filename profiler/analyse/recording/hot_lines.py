"""Lists the source lines where a kernel's warps wait most often.

The profile of a kernel in; a list of `HotLine` out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from profiler.analyse.code.called_functions import last_lines_of_called_functions
from profiler.analyse.code.statements import whole_statement
from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import SourceLine, find_source_lines
from profiler.catalog.metrics import READY
from profiler.catalog.presets import SAMPLED
from profiler.text import place_name

_MOST_LINES, _MOST_STALLS = 5, 3


class HotLine(Struct, frozen=True):
    """A source line, or a statement of several at its hottest line, with its share of the kernel's samples.

    `stalls` gives the shares of the main reasons to wait in its own samples, of which `ready_pct` found a warp that could go on.
    `of_called` says that most of them are in functions that the compiler calls.
    """

    file: str
    line: int
    share_pct: float
    stalls: dict[str, float]
    text: str | None
    ready_pct: float = 0.0
    of_called: bool = False


def list_hot_lines(profile: Profile) -> list[HotLine]:
    """Returns the lines of a kernel where warps wait most often, each with its main reasons; nothing without samples of lines."""
    sections = profile.manifest.sections
    if sections and SAMPLED not in sections:  # without samples, reading the lines would be for nothing
        return []
    found = find_source_lines(profile.run, profile.kernel)
    if found is None or not found.samples:
        return []
    of_called = last_lines_of_called_functions(profile.code) if profile.code else set()
    hottest = sorted(by_statement(found.lines), key=lambda one: -one.samples)[:_MOST_LINES]
    return [_hot_line(one, found.samples, place_name(one.file, one.line) in of_called) for one in hottest]


def by_statement(lines: Sequence[SourceLine]) -> list[SourceLine]:
    """Returns an entry for each statement with samples, at the line of it that has most of them, and with its whole text."""
    texts: dict[str, dict[int, str]] = {}
    for one in lines:
        texts.setdefault(one.file, {}).update({one.line: one.text} if one.text else {})
    found: dict[tuple[str, int], SourceLine] = {}
    for one in sorted((one for one in lines if one.samples), key=lambda one: -one.samples):
        first, text = whole_statement(one.file, texts[one.file], one.line)
        hotter = found.get((one.file, first))
        stalls = Counter(one.stalls) + Counter(hotter.stalls if hotter else {})
        found[one.file, first] = replace(
            hotter or one,
            text=hotter.text if hotter else text or None,
            samples=one.samples + (hotter.samples if hotter else 0),
            stalls=dict(sorted(stalls.items(), key=lambda item: (-item[1], item[0]))),
        )
    return list(found.values())


def _hot_line(line: SourceLine, samples: int, of_called: bool) -> HotLine:
    shares = {why: 100 * count / line.samples for why, count in line.stalls.items()}
    waits = [one for one in shares.items() if one[0] not in READY]
    return HotLine(
        file=line.file,
        line=line.line,
        share_pct=100 * line.samples / samples,
        stalls=dict(waits[:_MOST_STALLS]),
        text=line.text,
        ready_pct=sum(shares.get(why, 0.0) for why in READY),
        of_called=of_called,
    )
