"""Reads the arithmetic of a ladder file with Python's parser, and evaluates it without `eval`.

An expression has numbers, names, `+ - * / // % **` and parentheses, with Python's precedence and results. A
constraint compares two expressions, and may join several comparisons by `and`. Anything else is refused with
its position, and so is a value that no count of operations or bytes reaches: `9**9**9` costs nothing.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from profiler.errors import ExpressionError

Number = int | float

_LONGEST_TEXT = 500  # which also limits how deep it may be nested
_MOST_BITS = 256

_FOREIGN = re.compile(r"[^A-Za-z0-9_.+\-*/%()<>=! \t\r\n]|(?<![<>=!])=(?!=)")
_WORD = re.compile(r"[A-Za-z0-9_.]+")
# The sign of an exponent ends a word: Python's parser then checks the rest of the number.
_NUMBER = re.compile(r"(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][\d_]*)?")
_SIGN = re.compile(r"[^ )]")
_SIGNS = "<= < >= > == !="
_OPERATIONS: dict[type[ast.operator | ast.unaryop], Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True)
class Expression:
    text: str
    _root: ast.expr = field(compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names it needs values for, in order of first use."""
        return _names([self._root])

    def evaluate(self, values: Mapping[str, Number]) -> Number:
        return _value(self.text, self._root, values)


@dataclass(frozen=True)
class Constraint:
    """Comparisons, all of which must hold; one that follows a false one is not evaluated, as in Python."""

    text: str
    _comparisons: tuple[ast.Compare, ...] = field(compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return _names(self._comparisons)

    def holds(self, values: Mapping[str, Number]) -> bool:
        return all(_compare(self.text, comparison, values) for comparison in self._comparisons)


def parse_expression(text: str) -> Expression:
    text = _one_line(text)
    root = _parse(text)
    _check_arithmetic(text, root)
    return Expression(text, root)


def parse_constraint(text: str) -> Constraint:
    text = _one_line(text)
    root = _parse(text)
    comparisons = []
    for node in root.values if isinstance(root, ast.BoolOp) else [root]:
        if not isinstance(node, ast.Compare) or type(node.ops[0]) not in _COMPARISONS:
            _refuse(text, node.col_offset, f"{_source(text, node)} compares nothing: use one of {_SIGNS}")
        if len(node.ops) > 1:
            _refuse(text, node.col_offset, f"{_source(text, node)} is a chain: join two comparisons by 'and'")
        _check_arithmetic(text, node.left)
        _check_arithmetic(text, node.comparators[0])
        comparisons.append(node)
    return Constraint(text, tuple(comparisons))


# Reading


def _one_line(text: str) -> str:
    return re.sub(r"[\t\r\n]", " ", text).strip(" ")


def _parse(text: str) -> ast.expr:
    """Returns Python's tree of the text, after a check that it consists of arithmetic's characters and words."""
    if len(text) > _LONGEST_TEXT:
        raise ExpressionError(f"an expression of {len(text)} characters; at most {_LONGEST_TEXT} are read")
    if foreign := _FOREIGN.search(text):
        _refuse(text, foreign.start(), f"{foreign.group()!r} is not part of arithmetic")
    for match in _WORD.finditer(text):
        if fault := _fault_of_word(match.group()):
            _refuse(text, match.start(), f"'{match.group()}' is {fault}")
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        _refuse_syntax(text, error)
    except (MemoryError, RecursionError):
        _refuse(text, 0, "nested too deeply")


def _fault_of_word(word: str) -> str:
    if word[0] in "0123456789.":
        return "" if _NUMBER.fullmatch(word) else "not a number"
    if not word.isidentifier():
        return "not a name"
    is_taken = keyword.iskeyword(word) and word != "and"
    return "a word of Python, and cannot be a name here" if is_taken else ""


def _refuse_syntax(text: str, error: SyntaxError) -> NoReturn:
    if not error.offset:
        _refuse(text, len(text), "a number, a name or '(' expected, not the end")
    start = error.offset - 1
    if error.msg.startswith("invalid syntax"):
        _refuse(text, start, f"'{text[start : (error.end_offset or 0) - 1]}' is not expected here")
    _refuse(text, start, error.msg.partition(";")[0])


def _check_arithmetic(text: str, node: ast.expr) -> None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            _check_arithmetic(text, left)
            _check_arithmetic(text, right)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATIONS:
            _check_arithmetic(text, operand)
        case ast.Name() | ast.Constant():
            pass
        case _:
            _refuse(text, node.col_offset, f"{_source(text, node)} is not arithmetic")


def _names(roots: Iterable[ast.expr]) -> tuple[str, ...]:
    found = [node for root in roots for node in ast.walk(root) if isinstance(node, ast.Name)]
    return tuple(dict.fromkeys(node.id for node in sorted(found, key=lambda node: node.col_offset)))


# Evaluating


def _compare(text: str, node: ast.Compare, values: Mapping[str, Number]) -> bool:
    compare = _COMPARISONS[type(node.ops[0])]
    return compare(_value(text, node.left, values), _value(text, node.comparators[0], values))


def _value(text: str, node: ast.expr, values: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number):
            return _bounded(text, node.col_offset, number)
        case ast.Name(id=name):
            if name not in values:
                _refuse(text, node.col_offset, f"'{name}' has no value")
            return _bounded(text, node.col_offset, values[name])
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATIONS[type(op)](_value(text, operand, values))
        case ast.BinOp(left=left, op=op, right=right):
            sign = _SIGN.search(text, left.end_col_offset or 0)
            at = sign.start() if sign else node.col_offset
            return _applied(text, at, op, _value(text, left, values), _value(text, right, values))
    raise AssertionError(f"{ast.dump(node)} passed the check of arithmetic")


def _applied(text: str, at: int, op: ast.operator, left: Number, right: Number) -> Number:
    if isinstance(op, ast.Pow) and _bits_of_power(left, right) > _MOST_BITS:
        _refuse(text, at, "the power is too large")
    try:
        value = _OPERATIONS[type(op)](left, right)
    except ZeroDivisionError:
        _refuse(text, at, "division by zero")
    except OverflowError:
        _refuse(text, at, "the result is too large")
    return _bounded(text, at, value)


def _bounded(text: str, at: int, value: Number) -> Number:
    if isinstance(value, complex):
        _refuse(text, at, "a root of a negative number")
    if not math.isfinite(value) if isinstance(value, float) else value.bit_length() > _MOST_BITS:
        _refuse(text, at, "the result is too large")
    return value


def _bits_of_power(base: Number, exponent: Number) -> int:
    """Returns how long an integer power will be, before it is computed; floats overflow by themselves."""
    if isinstance(base, float) or isinstance(exponent, float) or exponent <= 0:
        return 0
    return 0 if base in (-1, 0, 1) else (base.bit_length() - 1) * exponent


def _source(text: str, node: ast.expr) -> str:
    return f"'{text[node.col_offset : node.end_col_offset]}'"


def _refuse(text: str, at: int, reason: str) -> NoReturn:
    raise ExpressionError(f"'{text}', character {at + 1}: {reason}")
