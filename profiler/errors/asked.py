"""Failures of prof's surroundings: its files, its extras, itself."""

from __future__ import annotations

from profiler.errors.base import ProfError


class ThresholdsInvalid(ProfError):
    exit_code = 81
    remedy = "`docs/ci.md` describes the file, with an example; `prof metrics` prints the names."


class OutputNotWritable(ProfError):
    exit_code = 82
    remedy = "Check the folder's permissions and its free space, or give another file."


class NotReady(ProfError):
    exit_code = 85
    remedy = "Do what the line of each says, and run the same command again."


class McpNotInstalled(ProfError):
    exit_code = 86
    remedy = "`pip install 'ncu-prof[mcp]'`, in the environment that holds prof."


class OutOfReach(ProfError):
    exit_code = 87
    remedy = "Start the server with `prof mcp --reports FOLDER` and the folder that holds it; the option may be repeated."


class NotebookUnavailable(ProfError):
    exit_code = 88
    remedy = (
        "`prof notebook` lists those there are; `prof notebook -o mine.ipynb` writes one over your own runs."
    )


class InternalError(ProfError):
    exit_code = 70
    remedy = "This is a bug in prof: please report it with the output of the same command and --verbose."
