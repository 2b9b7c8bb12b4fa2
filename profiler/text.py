"""Makes text safe to print, and numbers easy to read.

Kernel and NVTX names come from anybody's program: they may contain terminal escapes, newlines, text-direction
overrides, commands to the CI system that shows the output, or four thousand characters of templates. Every such name
passes through `printable` before it is printed.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import Any, Literal, Self

# Control characters, line and paragraph separators, and everything that changes the direction or the visibility
# of the text around it.
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}
_PLAIN = re.compile(r"[\x20-\x7e]*")
# GitHub obeys `::error::` and its like at the start of a line, and `##[error]` anywhere in it; Azure obeys `##vso[`.
CI_COMMAND = re.compile(
    r"(?<!\S):(?=:(?:add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|internal-set-repo-path|notice"
    r"|remove-matcher|save-state|set-env|set-output|stop-commands|warning)(?: |::))"
    r"|#(?=#\w*\[)",
    re.IGNORECASE,
)
# Hexadecimal, or PyTorch's letters and digits: no person chooses a name of such a length.
_HASH = re.compile(r"(?<![0-9a-zA-Z])(?:[0-9a-f]{32,}|(?=[a-z]*[0-9])[a-z0-9]{40,})(?![0-9a-zA-Z])")
# How CuPy names the code that it compiles, none of which is a file.
_OF_CUPY = re.compile(r"(?<![^\s/(])[0-9a-f]{40}\.cubin\.cu(?![\w.])")
_CUPY_SOURCE = "<CuPy source>"
CODE_SPAN = re.compile(r"`([^`]+)`")  # code in a text, marked as Markdown does
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONGEST_LIST = 8
_TINY = 1e-4  # smaller values would show more zeros than digits
_UNITS_NS = (("s", 1e9), ("ms", 1e6), ("us", 1e3))


class Spoken(str):
    """Advice for a terminal that also holds the advice for Python, where that is different.

    Commands and options need no second text: `python/words.py` makes calls and arguments of them. `+` keeps both texts, and
    every other use sees that of the terminal.
    """

    python: str

    def __new__(cls, terminal: str, python: str) -> Self:
        self = super().__new__(cls, terminal)
        self.python = python
        return self

    def __add__(self, after: str) -> str:
        return Spoken(str(self) + str(after), self.python + getattr(after, "python", after))

    def __radd__(self, before: str) -> str:
        return Spoken(before + str(self), before + self.python)

    def __reduce__(self) -> tuple[object, ...]:
        return (Spoken, (str(self), self.python))


def printable(text: str) -> str:
    """Returns the text with every character that a terminal or a CI system would act on written as an escape."""
    if not _PLAIN.fullmatch(text):
        text = "".join(
            _escaped(character) if unicodedata.category(character) in _HIDDEN_CATEGORIES else character
            for character in text
        )
    if ":" not in text and "#" not in text:  # most texts, and there are thousands in a page
        return text
    return CI_COMMAND.sub(lambda match: _escaped(match[0]), text)


def shortened(text: str, width: int) -> str:
    """Returns a name cut to `width` characters, with its start and its end around an ellipsis. The end is of whole
    parameters or words if one begins near: half of a type's name looks like a fault."""
    text = printable(text)
    if len(text) <= width:
        return text
    tail = width // 3
    end = text[len(text) - tail :]
    places = (end.find(boundary) for boundary in (", ", " "))
    begin = next((place for place in places if 0 <= place <= tail // 2), 0)
    return f"{text[: width - tail - 1]}…{end[begin:]}"


def cut(text: str, width: int) -> str:
    """Returns a text cut to `width` characters, with an ellipsis at its end."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def place_name(file: str, line: int) -> str:
    """Returns a place in a source file, such as `kernel.cu:12`."""
    return f"{file}:{line}"


def short_place(place: str) -> str:
    """Returns a place such as `kernel.cu:12` in which a hash has eight digits: compilers of Python name their files by one."""
    return _HASH.sub(lambda match: f"{match[0][:8]}…", source_name(place))


def source_name(name: str) -> str:
    """Returns the name of a source file, or a place in it. That which CuPy gives to what it compiles says nothing to anybody."""
    return _OF_CUPY.sub(_CUPY_SOURCE, name) if ".cubin.cu" in name else name


def is_cupy_source(place: str) -> bool:
    """Returns whether a place, or a sentence about one, is of code that CuPy compiled."""
    return _CUPY_SOURCE in place or _OF_CUPY.search(place) is not None


def brief_word(word: str) -> str:
    """Returns a command's word with a long list cut: `--metrics` may name a hundred, which nobody reads in an error."""
    names = word.split(",")
    return word if len(names) <= _LONGEST_LIST else f"{names[0]},...{len(names) - 1}_more"


def report_name(label: str) -> str:
    """Returns the name of a report without its folders and its ending, and what follows it; any other label as it is."""
    return label.rpartition("/")[2].replace(".ncu-rep", "", 1) if ".ncu-rep" in label else label


def number(value: float | None) -> str:
    """Returns a value with four significant digits, thousands grouped, and an exponent if it is huge or tiny."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e10:
        return f"{value:,.0f}"
    magnitude = int(f"{value:.3e}".partition("e")[2])  # after rounding: 0.99999 is shown as 1.000
    if magnitude >= 10:
        return f"{value:.4g}"
    if abs(value) < _TINY:
        return f"{value:.3e}"
    return f"{value:,.{max(0, 3 - magnitude)}f}"


def mean_count(value: float | None) -> str:
    """Returns a count, which may be a mean over warps, as `number` does; one that rounds to a whole number has no decimals."""
    text = number(value)
    return text.rstrip("0").rstrip(".") if re.search(r"\d\.0+$", text) else text


def clock(seconds: float) -> str:
    """Returns a duration such as 4:07 or 1:04:07."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def without_capital(sentence: str) -> str:
    """Returns a sentence as it goes on after a colon. A name that it begins with, such as SQL, keeps its capitals."""
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def date_of(moment: str) -> str:
    """Returns the day of a moment as it is stored, such as 2026-01-31T12:00:00Z."""
    return moment[: len("2026-01-31")]


def counted(count: int, one: str, many: str = "") -> str:
    """Returns the count with the word for one thing or for `many`, which adds an s unless it is given."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def listed(names: Sequence[str]) -> str:
    """Returns `a`, `a and b`, or `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_of(texts: Sequence[str], most: int, between: Literal[", ", "; "] = ", ") -> str:
    """Returns the first texts, and how many more there are: `a, b and 3 more`, or `a; b; and 3 more`."""
    conjunction = {", ": " and", "; ": "; and"}[between]
    more = f"{conjunction} {len(texts) - most} more" if len(texts) > most else ""
    return f"{between.join(texts[:most])}{more}"


def lines_of_first(lines: Sequence[str], most: int, indent: str = "  ") -> list[str]:
    """Returns the first lines, indented, and below them how many more there are."""
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return [f"{indent}{line}" for line in [*lines[:most], *more]]


def signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def relative_pct(before: float, after: float) -> float | None:
    """Returns the change in percent of `before`; None if that is 0, of which another value is no percentage."""
    if before == after:
        return 0.0
    return 100 * (after - before) / abs(before) if before else None


def relative(before: float, after: float) -> str:
    """Returns the change in percent of `before`, as text."""
    if before == after:
        return "0 %"
    percent = relative_pct(before, after)
    if percent is None:
        return "from 0"
    if abs(percent) < 1000:
        return f"{percent:+.1f} %"
    return f"{percent:+,.0f} %" if abs(percent) < 1e6 else f"{percent:+.3g} %"


def times(ratio: float) -> str:
    """Returns a factor with three significant digits, trailing zeros included, and thousands in full."""
    if 999.5 <= abs(ratio) < 1e6:
        return f"{ratio:,.0f}x"
    return f"{f'{ratio:#.3g}'.rstrip('.')}x"


def half_width(ci: tuple[float, float] | None) -> str:
    """Returns half the width of a symmetric interval with two significant digits, or "" without one."""
    if ci is None:
        return ""
    half = float(f"{(ci[1] - ci[0]) / 2:.2g}")
    if 0 < half < _TINY:
        return f"{half:.1e}"
    text = number(half)
    return text.rstrip("0") if "." in text and "e" not in text else text


def change_text(change_pct: float, ci_pct: tuple[float, float] | None) -> str:
    """Returns a change in percent, and half the width of its interval if it has one and what was measured varies at all."""
    change = f"{change_pct:+.2f}" if abs(change_pct) < 1000 else f"{change_pct:+,.0f}"
    if change_pct == 0:
        change = "0"
    if ci_pct is None or ci_pct[0] == ci_pct[1]:
        return f"{change} %"
    return f"{change} ± {spread((ci_pct[1] - ci_pct[0]) / 2)} %"


def spread(pct: float) -> str:
    """Returns how far a figure is uncertain, in percent with two decimals. No measurement is exact, as 0.00 would say."""
    return f"{pct:,.2f}" if pct >= 0.005 else "< 0.01"


def share_of_whole(pct: float) -> str:
    """Returns a share of a whole in percent with one decimal; one that would be rounded away is less than 0.1, and not zero."""
    return "< 0.1" if 0 < pct < 0.05 else f"{pct:.1f}"


def whole_percent(pct: float) -> str:
    """Returns a share of a whole in whole percent; what is not all of it is never 100, and what is not nothing never 0."""
    text, exact = f"{pct:.0f}", round(pct, 6)
    if text == "100" and exact < 100:
        return "> 99"
    return "< 1" if text == "0" and exact > 0 else text


def saving(pct: float) -> str:
    """Returns what a change saves in whole percent of the time, of which some always stays."""
    return whole_percent(min(pct, 99.9))


def percent(value: float) -> str:
    """Returns a percentage with two decimals below 10, else with one."""
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def size(count: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{number(count / factor)} {unit}"
    return f"{number(count)} B"


def duration(ns: float) -> str:
    """Returns a duration with four significant digits, trailing zeros included, so that columns align."""
    shown_ns = float(f"{ns:.4g}") + 0.0  # rounded first, so that 999,960 ns is shown as 1.000 ms
    unit, unit_ns = next((one for one in _UNITS_NS if shown_ns >= one[1]), ("ns", 1.0))
    value = shown_ns / unit_ns
    return f"{f'{value:#.4g}' if value < 1000 else number(value)} {unit}"


# From which value on another unit is used, what to divide by, and the unit.
_LARGER = {
    "ns": [(1e3, 1e3, "us"), (1e6, 1e6, "ms"), (1e9, 1e9, "s")],
    "byte": [(1e3, 1e3, "kB"), (1e6, 1e6, "MB"), (1e9, 1e9, "GB")],
    "byte/s": [(1e6, 1e6, "MB/s"), (1e9, 1e9, "GB/s"), (1e13, 1e12, "TB/s")],
    "hz": [(1e6, 1e6, "MHz"), (1e9, 1e9, "GHz")],
    "GFLOP/s": [(1e4, 1e3, "TFLOP/s")],
    "register/thread": [(0.0, 1.0, "register")],  # the metric's name says that it is of a thread
}
MILLION = "million"
_COUNTED = ("cycle", "inst", "inst/scheduler", "request", "sector", "wavefront", "access", "thread", "warp")


def unit_for_people(unit: str, *values: float | None) -> tuple[float, str]:
    """Returns what to divide values of this size by, and the unit in which people then read them, such as ms or million."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    steps = [(1e6, 1e6, MILLION)] if unit in _COUNTED else _LARGER.get(unit, [])
    return next((step[1:] for step in reversed(steps) if largest >= step[0]), (1.0, unit))


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def names_like(name: str, known: Iterable[str], most: int = 1, at_least: float = 0.6) -> list[str]:
    """Returns the known names that a person may have meant by this one, the most alike first; capitals do not matter.

    What is `at_least` so much alike counts, where 1 is the name itself.
    """
    from difflib import get_close_matches  # which only errors need

    meant = {one.lower(): one for one in known}
    return [meant[one] for one in get_close_matches(name.lower(), meant, n=most, cutoff=at_least)]


def nearest_hint(name: str, known: Sequence[str]) -> str:
    """Returns an ending for an error message: names that contain the wrong one, then names that look like it."""
    containing = [candidate for candidate in known if name.lower() in candidate.lower()]
    near = dict.fromkeys([*containing[:3], *names_like(name, known, most=3, at_least=0.5)])
    return f"; nearest: {', '.join(list(near)[:3])}" if near else ""


def natural_order(text: str) -> list[str | int]:
    """Returns a key that sorts gemm-9 before gemm-10: texts and numbers take turns."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", text)]


def finite(value: Any) -> Any:
    """Returns a value for JSON, with null for the numbers that JSON cannot hold, and a text for every key: JSON has no others."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(member) for member in value]
    return value


def common_start(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns with how many words, or characters, both begin."""
    return len(list(takewhile(bool, map(eq, one, other))))


def ends_of_range(text: str) -> tuple[int, int] | None:
    """Returns the first and the last number of what a person typed, such as 12 or 4-6; None if it is neither."""
    match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text.strip())
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return (first, last) if first <= last else None


def shortest_path(path: Path) -> str:
    """Returns the path as it is, or from here, whichever is shorter."""
    return min(str(path), os.path.relpath(path), key=len)


def short_gpu(name: str) -> str:
    """Returns the GPU's name without the maker and brand, which say nothing about the chip."""
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def newest_first(paths: Iterable[str]) -> list[str]:
    """Returns the paths, sorted by the numbers in them: cuda-13.0 comes before cuda-9.2."""
    return sorted(paths, key=lambda path: list(map(int, re.findall(r"\d+", path))), reverse=True)
