"""Plain signs for an output whose encoding lacks those of the answers, as ASCII does.

Importing this registers a way to handle errors of an encoding, as `backslashreplace` is one. A sign that tables hold
keeps its width, so that their columns stay aligned; what else cannot be written, such as a name, is escaped.
"""

from __future__ import annotations

import codecs

PLAIN_SIGNS = "profiler-plain-signs"
_PLAIN = {
    "±": "+-", "↑": "^", "↓": "v", "→": "->", "✓": "yes", "✗": "no", "…": "~", "’": "'", "·": ".",
    "█": "#", "─": "-", "│": "|", "┼": "+",
    "✅": "", "❌": "", "❔": "", "🚫": "",  # the words that follow say the same
}  # fmt: skip
_WITH_THE_SPACE = ("±", "✅", "❌", "❔", "🚫")  # replaced together with the space that follows


def _in_plain_signs(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs, end = error.object[error.start : error.end], error.end
    if signs.endswith(_WITH_THE_SPACE) and error.object[end : end + 1] == " ":
        end += 1
    return "".join(_PLAIN.get(one, one.encode("ascii", "backslashreplace").decode()) for one in signs), end


codecs.register_error(PLAIN_SIGNS, _in_plain_signs)
