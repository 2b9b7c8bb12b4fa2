"""Says what to do about an error to somebody who called a function: with its arguments, and in the traceback too."""

from __future__ import annotations

import re

from profiler.errors import ProfError

# Options of the commands, as remedies write them, with the arguments that mean the same.
_ARGUMENTS = {
    "-k PATTERN": "kernel_name=PATTERN",
    "--kernel-name": "kernel_name",
    "--force": "force=True",
    "--gpu": "gpu",
}
_OPTION = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, _ARGUMENTS))})(?![\w-])")


def advise(error: ProfError) -> None:
    """Gives the error's remedy the names that Python has, and has the traceback end with it."""
    error.remedy = _OPTION.sub(lambda option: _ARGUMENTS[option[0]], error.remedy)
    if error.remedy and error.remedy not in getattr(error, "__notes__", ()):
        error.add_note(error.remedy)
