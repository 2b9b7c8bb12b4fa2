"""Arithmetic from a ladder file: parsed and evaluated here, never by Python's `eval`.

Numbers, names, + - * / // % ** and parentheses, with Python's precedence and results. A
condition compares two such sums, and may join several comparisons by `and`.
Whatever else stands in the text is refused with its position, and so is a value that
would grow beyond what a count of operations or bytes can be: `9**9**9` costs nothing.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from profiler.errors import ExpressionError

Number = int | float

_LONGEST_TEXT = 500
_DEEPEST_NESTING = 40
_MOST_BITS = 256
_AND = "and"

_TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:_\d+)*)?\.\d+(?:[eE][+-]?\d+)?|\d+(?:_\d+)*(?:\.?[eE][+-]?\d+|\.)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*|//|[-+*/%()]|[<>=!]=|[<>])"
    r"|(?P<space>[ \t\r\n]+)",
    re.ASCII,
)
_OPERATIONS: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class _Token:
    kind: Literal["number", "name", "sign", "end"]
    text: str
    column: int  # from 1


@dataclass(frozen=True)
class _Node:
    """A number or name without parts, a sign with one, an operator with two."""

    token: _Token
    parts: tuple[_Node, ...] = ()


@dataclass(frozen=True)
class Expression:
    text: str
    _root: _Node

    @property
    def names(self) -> tuple[str, ...]:
        """The names it needs values for, in order of first use."""
        return tuple(
            dict.fromkeys(node.token.text for node in _walk(self._root) if node.token.kind == "name")
        )

    def evaluate(self, values: Mapping[str, Number]) -> Number:
        return _Evaluation(self.text, values).value_of(self._root)


@dataclass(frozen=True)
class Condition:
    """Comparisons, all of which must hold; one that follows a false one is not evaluated, as in Python."""

    text: str
    _comparisons: tuple[_Node, ...]

    @property
    def names(self) -> tuple[str, ...]:
        nodes = (node for comparison in self._comparisons for node in _walk(comparison))
        return tuple(dict.fromkeys(node.token.text for node in nodes if node.token.kind == "name"))

    def holds(self, values: Mapping[str, Number]) -> bool:
        evaluation = _Evaluation(self.text, values)
        return all(
            _COMPARISONS[node.token.text](*map(evaluation.value_of, node.parts)) for node in self._comparisons
        )


def parse_expression(text: str) -> Expression:
    return Expression(text, _parser(text).parse())


def parse_condition(text: str) -> Condition:
    return Condition(text, _parser(text).parse_condition())


def _parser(text: str) -> _Parser:
    if len(text) > _LONGEST_TEXT:
        raise ExpressionError(f"an expression of {len(text)} characters; at most {_LONGEST_TEXT} are read")
    return _Parser(text)


class _Parser:
    """sum: product (+|- product)*    product: signed (*|/|//|% signed)*
    signed: (+|-) signed | power      power: atom [** signed]      atom: number | name | ( sum )
    condition: sum (<=|<|>=|>|==|!=) sum [and condition]
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0

    def parse(self) -> _Node:
        root = self._sum()
        if self._token.kind != "end":
            raise self._unexpected("an operator")
        return root

    def parse_condition(self) -> tuple[_Node, ...]:
        comparisons = [self._comparison()]
        while self._token.kind == "name" and self._token.text == _AND:
            self._next += 1
            comparisons.append(self._comparison())
        if self._token.kind != "end":
            raise self._unexpected(f"'{_AND}' or the end")
        return tuple(comparisons)

    def _comparison(self) -> _Node:
        left = self._sum()
        token = self._take(*_COMPARISONS)
        if token is None:
            raise self._unexpected(f"one of {' '.join(_COMPARISONS)}")
        return _Node(token, (left, self._sum()))

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *signs: str) -> _Token | None:
        token = self._token
        if token.kind != "sign" or token.text not in signs:
            return None
        self._next += 1
        return token

    def _sum(self) -> _Node:
        node = self._product()
        while token := self._take("+", "-"):
            node = _Node(token, (node, self._product()))
        return node

    def _product(self) -> _Node:
        node = self._signed()
        while token := self._take("*", "/", "//", "%"):
            node = _Node(token, (node, self._signed()))
        return node

    def _signed(self) -> _Node:
        self._depth += 1
        if self._depth > _DEEPEST_NESTING:
            raise _error(self._text, self._token.column, f"nested more than {_DEEPEST_NESTING} deep")
        token = self._take("+", "-")
        node = _Node(token, (self._signed(),)) if token else self._power()
        self._depth -= 1
        return node

    def _power(self) -> _Node:
        node = self._atom()
        token = self._take("**")
        return _Node(token, (node, self._signed())) if token else node

    def _atom(self) -> _Node:
        token = self._token
        if token.kind in ("number", "name") and token.text != _AND:
            self._next += 1
            return _Node(token)
        if self._take("("):
            node = self._sum()
            if not self._take(")"):
                raise self._unexpected("')'")
            return node
        raise self._unexpected("a number, a name or '('")

    def _unexpected(self, wanted: str) -> ExpressionError:
        token = self._token
        found = "the end" if token.kind == "end" else f"'{token.text}'"
        return _error(self._text, token.column, f"{wanted} expected, not {found}")


class _Evaluation:
    def __init__(self, text: str, values: Mapping[str, Number]) -> None:
        self._text = text
        self._values = values

    def value_of(self, node: _Node) -> Number:
        token = node.token
        if token.kind == "number":
            return self._bounded(token, _number(token.text))
        if token.kind == "name":
            if token.text not in self._values:
                raise self._error(token, f"'{token.text}' has no value")
            return self._bounded(token, self._values[token.text])
        operands = [self.value_of(part) for part in node.parts]
        if len(operands) == 1:
            return -operands[0] if token.text == "-" else operands[0]
        return self._apply(token, operands[0], operands[1])

    def _apply(self, token: _Token, left: Number, right: Number) -> Number:
        if token.text == "**" and _bits_of_power(left, right) > _MOST_BITS:
            raise self._error(token, "the power is too large")
        try:
            value = _OPERATIONS[token.text](left, right)
        except ZeroDivisionError:
            raise self._error(token, "division by zero") from None
        except OverflowError:
            raise self._error(token, "the result is too large") from None
        return self._bounded(token, value)

    def _bounded(self, token: _Token, value: Number) -> Number:
        if isinstance(value, complex):
            raise self._error(token, "a root of a negative number")
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(token, "the result is too large")
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise self._error(token, "the result is too large")
        return value

    def _error(self, token: _Token, reason: str) -> ExpressionError:
        return _error(self._text, token.column, reason)


def _bits_of_power(base: Number, exponent: Number) -> int:
    """How long an integer power will be, before anything is computed; floats overflow by themselves."""
    if isinstance(base, float) or isinstance(exponent, float) or exponent <= 0:
        return 0
    return 0 if base in (-1, 0, 1) else (base.bit_length() - 1) * exponent


def _number(text: str) -> Number:
    return int(text) if text.replace("_", "").isdecimal() else float(text)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _error(text, at + 1, f"{text[at]!r} is not part of arithmetic")
        kind, token = match.lastgroup, match.group()
        if kind == "number" and (re.match(r"0[\d_]*[1-9]", token) and token.replace("_", "").isdecimal()):
            raise _error(text, at + 1, f"'{token}' has a leading zero")
        following = text[match.end() : match.end() + 1]
        if kind == "number" and (following.isalnum() or following in {"_", "."}) and following:
            raise _error(text, at + 1, f"'{token}{following}' is not a number")
        if kind in ("number", "name", "sign"):
            yield _Token(kind, token, at + 1)  # type: ignore[arg-type]
        at = match.end()
    yield _Token("end", "", len(text) + 1)


def _walk(node: _Node) -> Iterator[_Node]:
    yield node
    for part in node.parts:
        yield from _walk(part)


def _error(text: str, column: int, reason: str) -> ExpressionError:
    return ExpressionError(f"'{text}', character {column}: {reason}")
