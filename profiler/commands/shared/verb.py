"""The class of every verb, whose errors name what helps, and the options that are made into one value before a verb gets them."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, get_args

import typer
from typer.core import TyperCommand

from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.wrong_turns import hint_for_option, hint_for_words

# The similarity from which an existing option is suggested for a typed one: they differ by a slip of the finger.
_NEAR = 0.6


class OfOptions:
    """Marks a parameter of a verb that `make` makes from options: from all that it takes, or from the ones called `names`."""

    def __init__(self, make: Callable[..., Any], *names: str) -> None:
        self.make = make
        taken = signature(make, eval_str=True).parameters
        self.options = {name: taken[name] for name in taken if not names or name in ("context", *names)}


def with_its_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Returns the verb with options in the place of what is made of them. An option that the verb declares itself is its own."""
    own = signature(verb, eval_str=True).parameters
    made = {
        name: mark
        for name, one in own.items()
        for mark in get_args(one.annotation)
        if isinstance(mark, OfOptions)
    }
    taken: dict[str, Parameter] = {}
    for name, parameter in own.items():
        options = made[name].options if name in made else {name: parameter}
        taken |= {one: own.get(one, option) for one, option in options.items()}

    def call(**given: Any) -> None:
        for name, mark in made.items():
            given[name] = mark.make(**{one: given[one] for one in mark.options})
        verb(**{name: given[name] for name in own})

    # Each example keeps its line: Typer folds a paragraph unless it begins with this sign.
    call.__doc__ = (verb.__doc__ or "").replace("    Examples:\n", "    \b\n    Examples:\n")
    keywords = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in taken.values()]
    call.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    return call


class Verb(TyperCommand):
    """A verb whose errors say what to type instead: of too many words, of an option without its value, and of an unknown option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        typed = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except typer.Exit:  # after --help
            raise
        except Exception as raised:
            error: Any = raised  # of classes that Typer keeps to itself
            about_value = getattr(error, "param", None) is not None
            if not about_value and (hint := self._hint_for_words(ctx, typed)):
                raise Misuse(hint) from None
            if hasattr(error, "possibilities") and (hint := self._hint_for_option(ctx, error, typed)):
                raise Misuse(hint) from None
            self._explain(error, ctx)
            raise
        if ctx.params.get("full") and ctx.params.get("brief"):
            raise Misuse("--full prints everything, and --brief only the answer: leave out one of the two")
        return rest

    def _explain(self, error: Any, ctx: Any) -> None:
        """Adds to an error what the option takes that it is about; if it names options that were meant, leaves only near ones."""
        name = str(getattr(error, "option_name", ""))
        if possible := getattr(error, "possibilities", None):
            error.possibilities = [one for one in possible if _is_near(one.lstrip("-"), name.lstrip("-"))]
        elif option := next((one for one in self.params if name in one.opts), None):
            takes = f"{option.make_metavar(ctx)}. {getattr(option, 'help', '')}"
            error.message, error.ctx = f"{error.message.rstrip('.')}: {takes}", ctx
        elif hasattr(error, "param_type") and (example := self._first_example()):  # an argument is missing
            error.message = f"{error.message} For example: `{example}`".lstrip()

    def _first_example(self) -> str:
        """Returns the first of the examples in the help; "" without any."""
        lines = (line.strip() for line in (self.help or "").partition("Examples:")[2].splitlines())
        return next(filter(None, lines), "")

    def _hint_for_option(self, ctx: Any, error: Any, typed: list[str]) -> str | None:
        known = [name for one in self.params for name in (*one.opts, *one.secondary_opts)]
        return hint_for_option(str(ctx.info_name), error.option_name, typed, known)

    def _hint_for_words(self, ctx: Any, typed: list[str]) -> str | None:
        """Returns the hint if more words were typed than the verb takes, and every option is known and has a value."""
        own = [_Word(one) for one in typed]
        try:
            given, extra, _ = self.make_parser(ctx).parse_args(args=list(own))
        except Exception:  # the error that was raised says what is wrong
            return None
        if not extra:
            return None
        taken = [given[one.name] for one in self.params if one.param_type_name == "argument" and one.name]
        words = [*taken, *extra]
        options = [one for one in own if not any(one is word for word in words)]
        return hint_for_words(str(ctx.info_name), words, options, len(taken))


class _Word(str):
    """A word of the command line. If the same word is typed twice, the two are different objects, so that each can be found."""

    __slots__ = ()


def _is_near(name: str, typed: str) -> bool:
    from difflib import SequenceMatcher

    return name.startswith(typed) or SequenceMatcher(None, name, typed).ratio() >= _NEAR
