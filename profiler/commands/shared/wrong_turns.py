"""Hints for command lines that mean something else than what was typed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise, takewhile
from pathlib import Path

from profiler.text import printable

_MEANT = {
    "diff": "compare",
    "cmp": "compare",
    "profile": "collect",
    "run": "collect",
    "import": "ingest",
    "open": "show",
    "view": "show",
    "top": "show",
    "explain": "show",
    "analyze": "show",
    "analyse": "show",
    "summary": "show",
    "info": "show",
    "runs": "list",
    "ls": "list",
    "download": "export",
    "pull": "export",
    "sweep": "tune",
    "bench": "time",
    "benchmark": "time",
    "sql": "query",
    "html": "report",
    "roofline": "report",
}
_TO_A_URL = ("push", "publish", "sync", "upload")
_FORMATS = ("json", "csv", "markdown")
_TAKES = {"show": 1, "compare": 2}  # so many reports or kernels
_BY_OPTION = ("build", "verify", "time", "tune", "collect")  # take the kernels of a ladder as --kernel
_OF_A_RUNG = ("show", "compare", "report", "export")  # take rungs by their number


def hint_for(words: Sequence[str], verbs: Collection[str]) -> str | None:
    """Returns what to type instead of `words`, or None where nothing is known to be wrong with them."""
    if not words:
        return None
    options = words[: words.index("--")] if "--" in words else words
    if hint := _format_by_option(options):
        return hint
    if words[0] in _TAKES and (hint := _too_many(words[0], options[1:])):
        return hint
    first = words[0]
    if first in _BY_OPTION and len(options) > 1 and options[1].replace("-", "").isdecimal():
        return f"name a kernel by an option: prof {printable(' '.join([first, '--kernel', *words[1:]]))}"
    if len(options) > 1 and (hint := _ladder_by_option(first, options[1], words[2:])):
        return hint
    if first == "query" and (hint := _unquoted(options[1:])):
        return hint
    if first == "check" and len(words) > 2 and not any(word.startswith("-") for word in words[1:]):
        from profiler.ask.baseline import how_to_check_reports

        if stored_first := how_to_check_reports(Path(words[1]), Path(words[2])):
            return f"store the reports first: {printable(stored_first)}"
        return f"give the baseline by an option: prof check --baseline {printable(' '.join(words[1:3]))}"
    if first in verbs or first.startswith("-"):
        return None
    from profiler.store.reports.near import REPORT_SUFFIXES

    if first.endswith(REPORT_SUFFIXES):
        others = [word for word in words if not word.startswith("-")]
        verb = "show" if len(others) == 1 else "compare"
        return f"say what to do with the report: prof {verb} {printable(' '.join(words))}"
    return _another_word(words)


def _format_by_option(options: Sequence[str]) -> str | None:
    for name in _FORMATS:
        if f"--{name}" in options:
            return f"there is no --{name}: give --format {name}"
    for option, value in pairwise(options):
        if option == "-f" and value in _FORMATS:
            return f"there is no -f: give --format {value}"
    return None


def _ladder_by_option(verb: str, word: str, others: Sequence[str]) -> str | None:
    """Returns the hint where a verb got a ladder, or a rung or a report in its place, without the option for it."""
    if word.startswith("-") or (verb != "ladder" and word.isdecimal()):
        return None
    rest = printable(" ".join(others))
    if verb == "ladder":
        return _instead_of_a_ladder(printable(word), rest)
    if verb in _BY_OPTION and _is_ladder(word):
        return f"name a ladder by an option: prof {verb} --ladder {printable(word)} {rest}".rstrip()
    if verb in _OF_A_RUNG and others and others[0].isdecimal() and _is_ladder(word):
        return f"name a ladder by an option: prof {verb} {rest} --ladder {printable(word)}"
    return None


def _instead_of_a_ladder(word: str, rest: str) -> str:
    from profiler.store.reports.near import REPORT_SUFFIXES

    if word.isdecimal():
        return f"prof ladder shows every rung; look at one with: prof show {word}"
    if word.endswith(REPORT_SUFFIXES):
        return f"prof ladder takes no reports; look at them with: prof report {word} {rest}".rstrip()
    return f"name a ladder by an option: prof ladder --ladder {word} {rest}".rstrip()


def _is_ladder(word: str) -> bool:
    from profiler.catalog.ladders.ladder import known_ladders

    return word.endswith(".toml") or word in known_ladders(Path.cwd())


def _unquoted(words: Sequence[str]) -> str | None:
    """Returns the hint where the shell has cut SQL into words."""
    sql = list(takewhile(lambda word: not word.startswith("-"), words))
    if len(sql) < 2:
        return None
    replaced = any(Path(word).exists() for word in sql)
    reason = "; the shell has put the names of files in place of a *" if replaced else ""
    return f"put the SQL into quotes, as one word{reason}: prof query 'select * from launches'"


def _another_word(words: Sequence[str]) -> str | None:
    """Returns the command that another word for it means; the nearest word is suggested anyway."""
    first = words[0]
    if first in _TO_A_URL:
        return (
            f"there is no command '{printable(first)}': --runs says where runs are kept, and may be a URL, "
            "as in: prof ingest REPORT --runs s3://bucket/runs"
        )
    near = _MEANT.get(first)
    if near is None:
        return None
    return f"there is no command '{printable(first)}'; did you mean: prof {printable(' '.join([near, *words[1:]]))}"


def _too_many(verb: str, words: Sequence[str]) -> str | None:
    """Returns the hint where a verb got more reports or kernels than it takes, or a kernel's name beside a report without its option."""
    from profiler.store.reports.near import REPORT_SUFFIXES

    reports = [word for word in words if word.endswith(REPORT_SUFFIXES)]
    named = printable(" ".join(reports))
    if len(reports) > _TAKES[verb]:
        pair = f"prof compare {printable(' '.join(reports[:2]))}"
        whole = f"prof report {named} -o report.html"
        return f"prof {verb} takes {'one report' if verb == 'show' else 'two reports'}: compare two with `{pair}`, or look at all with `{whole}`"
    leading = list(takewhile(lambda word: not word.startswith("-"), words))
    if len(leading) > _TAKES[verb] and all(word.isdecimal() for word in leading):
        kernels, first_two = printable(" ".join(leading)), printable(" ".join(leading[:2]))
        takes = "one kernel" if verb == "show" else "two kernels"
        return f"prof {verb} takes {takes}: compare two with `prof compare {first_two}`, or look at all with `prof report {kernels}`"
    if (
        reports
        and leading[: len(reports)] == reports
        and len(leading) == _TAKES[verb] + 1 == len(reports) + 1
    ):
        return f"name a kernel by an option: prof {verb} {named} -k {printable(leading[-1])}"
    return None
