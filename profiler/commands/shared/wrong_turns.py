"""Hints for command lines that mean something else than what was typed.

`hint_for` knows those whose first word, or whose kind of words, is wrong; `hint_for_words` answers a verb that got more
words than it takes, wherever its options stand between them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from profiler.text import counted, printable

# The words for each command, or option, that other tools have, and people type.
_WORDS_FOR = {
    "compare": ("diff", "cmp"),
    "collect": ("profile", "run", "record", "stat", "measure"),
    "list": ("history", "log", "runs", "ls"),
    "ingest": ("import",),
    "show": ("open", "view", "top", "explain", "analyze", "analyse", "summary", "info"),
    "export": ("download", "pull"),
    "tune": ("sweep",),
    "time": ("bench", "benchmark"),
    "query": ("sql",),
    "report": ("html", "roofline"),
    "--version": ("version",),
}
_MEANT = {word: command for command, words in _WORDS_FOR.items() for word in words}
_TO_A_URL = ("push", "publish", "sync", "upload")
_FORMATS = ("json", "csv", "markdown")
_TO_A_FILE = ("-o", "--output", "--out", "--export", "--html", "--save")
_EVERYTHING = ("--all", "--details", "--print-details", "--page", "--metrics", "--metric", "--long")
_OPTIONS_MEANT = {
    "--threshold": ("--max-slower",),
    "--tolerance": ("--max-slower",),
    "--short": ("--brief",),
    "--summary": ("--brief",),
    "--kernel": ("--kernel-name",),
    "--kernel-regex": ("--kernel-name",),
    "--filter": ("--kernel-name",),
    "--force": ("--overwrite", "--again", "--tracked"),  # each verb has one of them at most
}
_IMPORTS = ("-i", "--import")  # ncu's own way to name a report
_COLOURS = ("--no-color", "--no-colour", "--color", "--colour", "--no-colors", "--colors")
_WITH_COLOURS = ("always", "auto", "yes", "on", "true")
_WITHOUT_COLOURS = ("never", "none", "no", "off", "false")
_OTHER_FORMATS = {
    "html": "`prof report` writes a page, with the same words for the recordings",
    "md": "give --format markdown",
    "text": "give --format table",
}
_BY_OPTION = ("build", "verify", "time", "tune", "collect")  # take the kernels of a ladder as --kernel
_COMPARED = 2
_BETWEEN_TWO = ("vs", "vs.", "versus", "against", "and", "with", "to")
_OF_A_RUNG = ("show", "compare", "report", "export")  # take rungs by their number


def hint_for(words: Sequence[str], verbs: Collection[str]) -> str | None:
    """Returns what to type instead of `words`, or None where nothing is known to be wrong with them."""
    if not words:
        return None
    options = words[: words.index("--")] if "--" in words else words
    if hint := _format_by_option(options):
        return hint
    first = words[0]
    if first == "collect" and len(options) > 1 and (hint := _by_option(first, options[1], words[2:])):
        return hint  # it would take the word for a program
    if first in verbs:
        return None
    if first.partition("=")[0] in _COLOURS:
        return _by_variable(words, 0)
    if first in _IMPORTS and len(words) > 1:
        return f"name a report without an option: prof show {_typed(words[1:])}"
    if first.startswith("-"):
        return None
    if _reports_among([first]):
        others = [word for word in words if not word.startswith("-")]
        verb = "show" if len(others) == 1 else "compare"
        return f"say what to do with the report: prof {verb} {_typed(words)}"
    from profiler.store.reports.near import files_in

    if "\0" not in first and files_in(Path(first)):
        return f"say what to do with the reports in this folder: prof show {_typed(words)}"
    return _another_word(words)


def hint_for_option(verb: str, option: str, words: Sequence[str], known: Collection[str]) -> str | None:
    """Returns what to type instead of an option that the verb has not, but other tools have; None where nothing is known.

    `words` are all that was typed after the verb, and `known` are the verb's options.
    """
    if option in _EVERYTHING and "--full" in known and option.rstrip("s") not in known:
        return f"there is no {option}: --full shows everything, and --full --format csv every counter, also by ncu's names"
    place = next((number for number, word in enumerate(words) if word.startswith(option)), None)
    before = () if place is None else words[:place]
    if verb == "collect" and (hint := _of_a_program(words, before)):
        return hint
    if meant := next((one for one in _OPTIONS_MEANT.get(option, ()) if one in known), None):
        return f"there is no {option}: {meant} does that"
    if option in _IMPORTS:
        return f"there is no {option}: name a report without an option"
    if option == "--name" and verb == "list":
        return f"there is no {option}: name the runs without an option, as in `prof list gemm-6`"
    if option in _COLOURS and place is not None:
        return _by_variable([verb, *words], place + 1)
    if option in _TO_A_FILE and verb in _OF_A_RUNG:
        named = ["..."] if any(one.startswith("-") for one in before) else before
        of = f"{_typed(named)} " if named else ""
        page = f"prof report {of}-o page.html"
        return f"prof {verb} prints its answer: write a page with `{page}`, or redirect it with `prof {verb} {of}--format markdown > FILE`"
    return None


def _by_variable(words: Sequence[str], place: int) -> str:
    """Returns the hint where the word in this place asks for colours or against them: for every program, a variable does that."""
    option, _, value = words[place].partition("=")
    others = [*words[:place], *words[place + 1 :]]
    if not value and others[place:] and others[place] in (*_WITH_COLOURS, *_WITHOUT_COLOURS):
        value = others.pop(place)
    without = option.startswith("--no-") or value in _WITHOUT_COLOURS
    name = "NO_COLOR" if without else "FORCE_COLOR"
    typed = f"{name}=1 prof {_typed(others)}".rstrip()
    return f"there is no {printable(option)}: the variable {name} does that, as in `{typed}`"


def _of_a_program(words: Sequence[str], before: Sequence[str]) -> str | None:
    """Returns the hint where a program stands `before` an option of its own, without the word that keeps that from being ours."""
    for number, word in enumerate(before):
        if "/" in word or word.startswith("python"):
            command = _typed([*words[:number], "--", *words[number:]])
            return f"put -- before a program that has options of its own: prof collect {command}"
    return None


def hint_for_words(verb: str, words: Sequence[str], options: Sequence[str], most: int) -> str:
    """Returns what to type instead of a verb with these words, which are more than the `most` that it takes, and these options."""
    first, others = words[0], words[1:]
    if verb == "ladder" and (hint := instead_of_a_ladder(words)):
        return hint
    if verb in _BY_OPTION and (hint := _by_option(verb, first, [*others, *options])):
        return hint
    if verb == "query":
        return _unquoted(words)
    if verb == "check" and not any(one.split("=")[0] == "--baseline" for one in options):
        return _baseline_by_option(first, others[0], options)
    if verb in _OF_A_RUNG and others[:1] and others[0].isdecimal() and _is_ladder(first):
        rest = _typed([*others, *options])
        return f"name a ladder by an option: prof {verb} {rest} --ladder {_typed([first])}"
    if verb == "compare" and (hint := _too_many_to_compare(words)):
        return hint
    taken = counted(most, "word") if most else "no words"
    extra = _typed(words[most:])
    return f"prof {verb} takes {taken} beside its options: leave out {extra}, or see `prof {verb} --help`"


def _format_by_option(options: Sequence[str]) -> str | None:
    for name in _FORMATS:
        if f"--{name}" in options:
            return f"there is no --{name}: give --format {name}"
    for option, value in pairwise(word for one in options for word in one.split("=", 1)):
        if option == "-f" and value in _FORMATS:
            return f"there is no -f: give --format {value}"
        if option == "--format" and value in _OTHER_FORMATS:
            return f"there is no --format {value}: {_OTHER_FORMATS[value]}"
    return None


def _by_option(verb: str, word: str, others: Sequence[str]) -> str | None:
    """Returns the hint where a verb got a kernel or a ladder without the option for it."""
    rest = _typed(others)
    if word.replace("-", "").isdecimal():
        return f"name a kernel by an option: prof {verb} --kernel {_typed([word])} {rest}".rstrip()
    if not word.startswith("-") and _is_ladder(word):
        return f"name a ladder by an option: prof {verb} --ladder {_typed([word])} {rest}".rstrip()
    return None


def instead_of_a_ladder(words: Sequence[str]) -> str | None:
    """Returns the hint where the first word in the place of a ladder is a kernel or a report."""
    if words[0].isdecimal():
        return f"prof ladder shows every rung; look at one with: prof show {words[0]}"
    if _reports_among(words[:1]):
        return f"prof ladder takes no reports; look at them with: prof report {_typed(words)}"
    return None


def _reports_among(words: Iterable[str]) -> list[str]:
    from profiler.store.runs.file_names import REPORT_SUFFIXES

    return [word for word in words if word.endswith(REPORT_SUFFIXES)]


def _is_ladder(word: str) -> bool:
    from profiler.catalog.ladders.ladder import known_ladders

    return word.endswith(".toml") or word in known_ladders(Path.cwd())


def _unquoted(sql: Sequence[str]) -> str:
    """Returns the hint where the shell has cut SQL into words, or where SQL is to be asked of a report."""
    reports = _reports_among(sql)
    asked = [word for word in sql if word not in reports]
    if reports and len(asked) == 1:
        return (
            f"prof query reads stored runs alone: prof ingest {_typed(reports)} && prof query {_typed(asked)}"
        )
    replaced = any(Path(word).exists() for word in sql)
    reason = "; the shell has put the names of files in place of a *" if replaced else ""
    return f"put the SQL into quotes, as one word{reason}: prof query 'select * from launches'"


def _baseline_by_option(before: str, after: str, options: Sequence[str]) -> str:
    return f"give the baseline by an option: prof check --baseline {_typed([before, after, *options])}"


def _another_word(words: Sequence[str]) -> str | None:
    """Returns the command that another word for it means; the nearest word is suggested anyway."""
    first = words[0]
    if first in _TO_A_URL:
        return (
            f"there is no command '{printable(first)}': --runs says where runs are kept, and may be a URL, "
            "as in: prof ingest REPORT --runs s3://bucket/runs"
        )
    near = _MEANT.get(first)
    if first == "explain" and words[1:] and not _reports_among(words[1:2]):
        from profiler.catalog.causes import BY_NAME

        near = "causes" if words[1] in BY_NAME else near
    if near is None:
        return None
    return f"there is no command '{printable(first)}'; did you mean: prof {_typed([near, *words[1:]])}"


def instead_of_a_word_between(verb: str, words: Sequence[str]) -> str | None:
    """Returns the hint where a person says `5 vs 6`, of which only the numbers are recordings."""
    if len(words) != _COMPARED + 1 or words[1].lower() not in _BETWEEN_TWO:
        return None
    return f"leave out the word between the two: prof {verb} {_typed([words[0], words[2]])}"


def _too_many_to_compare(words: Sequence[str]) -> str | None:
    """Returns the hint where more than two reports or kernels are named, or a kernel's name beside a report without its option."""
    if hint := instead_of_a_word_between("compare", words):
        return hint
    reports = _reports_among(words)
    named = _typed(reports)
    if len(reports) > _COMPARED:
        pair = f"prof compare {_typed(reports[:2])}"
        return f"prof compare takes two reports: compare two with `{pair}`, or look at all with `prof report {named} -o report.html` or `prof show {named}`"
    if all(word.isdecimal() for word in words):
        kernels, first_two = _typed(words), _typed(words[:2])
        return f"prof compare takes two kernels: compare two with `prof compare {first_two}`, or look at all with `prof report {kernels}`"
    if list(words[: len(reports)]) == reports and len(words) == len(reports) + 1:
        return f"name a kernel by an option: prof compare {named} -k {_typed(words[-1:])}"
    return None


def _typed(words: Sequence[str]) -> str:
    """Returns words as a shell takes them, so that a file `my report.ncu-rep` or a kernel `f<int>` can be typed as shown."""
    import shlex

    return printable(shlex.join(words))
