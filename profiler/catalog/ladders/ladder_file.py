"""Reads `ladder.toml`. An unknown key or a bad value is an error with its line.

`kernels/README.md` describes the format. `_LADDER_KEYS` and `_KERNEL_KEYS` list every key.

The values are checked one by one, not by decoding into structs: an error then names its key and shows the value,
also inside [workload] and `targets`, whose keys msgspec leaves out of its errors.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from profiler.catalog.ladders.expressions import Expression, parse_expression
from profiler.catalog.ladders.ladder import (
    CLAIMS,
    LARGEST_SIZE,
    PLACEHOLDERS,
    Claim,
    Kernel,
    Ladder,
    Mode,
    Published,
    Workload,
    is_ladder_name,
    is_plain_name,
    placeholders_of,
)
from profiler.catalog.ladders.sweep import SweepSpace, read_sweep
from profiler.catalog.ladders.toml_reader import (
    KeyPath,
    TomlReader,
    nearest,
    parse_toml,
    read_text,
    syntax_error,
)
from profiler.catalog.patterns import check_pattern
from profiler.errors import ExpressionError, LadderInvalid, LadderNotFound

LIBRARIES = ("cublas",)
_COMMAND_KEYS: dict[str, Mode] = {"command": "profile", "time": "time", "check": "check"}
_SHARED_KEYS = {*_COMMAND_KEYS, "flags", "uses", "flops", "bytes"}
_LADDER_KEYS = {"name", "title", "reference", "size", "workload", "kernel", *_SHARED_KEYS}
_KERNEL_KEYS = {
    "number", "name", "idea", "source", "sources", "regex", "profile", "window", "skip", "targets",
    "needs", "published", "against", "expects", "tune", *_SHARED_KEYS,
}  # fmt: skip
_PUBLISHED_KEYS = {"gpu", "gflops", "gbytes_per_s", "time_us", "reference_pct"}

_TARGET = re.compile(r"sm_\d{2,3}[af]?")
_NAME_RULE = "must be letters a-z, digits, '.', '_' and '-', at most 40 (it becomes a file's name)"
_PARAMETER_RULE = f"a parameter is a whole number from 0 to {LARGEST_SIZE}"
_MOST_LINES = 2000


def read_ladder(path: Path) -> Ladder:
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise LadderNotFound(f"{path}: no such ladder file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise LadderInvalid(f"{path}: cannot be read as text: {error}") from None
    if text.count("\n") > _MOST_LINES:
        raise LadderInvalid(f"{path}: more than {_MOST_LINES} lines: this is not a ladder file")
    return _parsed(path, text)


@lru_cache(maxsize=4)  # for the two sides of a comparison
def _parsed(path: Path, text: str) -> Ladder:
    try:
        table = parse_toml(text)
    except ValueError as error:
        raise syntax_error(path, str(error)) from None
    return _LadderReader(path, text).ladder(table)


class _LadderReader(TomlReader):
    def __init__(self, path: Path, text: str) -> None:
        super().__init__(path, text)
        self._defaults: Mapping[str, int] = {}

    def ladder(self, table: dict[str, Any]) -> Ladder:
        self._known_keys(table, _LADDER_KEYS, ())
        name = self._take(table, (), "name", str, self._path.resolve().parent.name)
        if not is_ladder_name(name):
            self._fail(("name",) if "name" in table else (), f"the ladder's name '{name}' {_NAME_RULE}")
        workload = self._workload(table)
        self._defaults = workload.parameters
        rows = self._take(table, (), "kernel", list)
        if not rows:
            self._fail(("kernel",), "a ladder needs at least one [[kernel]]")
        kernels = [self._kernel(row, table, ("kernel", index)) for index, row in enumerate(rows)]
        self._distinct(kernels)
        self._known_others(kernels)
        reference = self._take(table, (), "reference", int, None)
        if reference is not None and reference not in {kernel.number for kernel in kernels}:
            self._fail(("reference",), f"the reference is kernel {reference}, which the ladder does not have")
        return Ladder(
            name=name,
            title=self._take(table, (), "title", str),
            path=self._path,
            workload=workload,
            kernels=tuple(sorted(kernels, key=lambda kernel: kernel.number)),
            reference=reference,
        )

    def _workload(self, table: dict[str, Any]) -> Workload:
        parameters = self._take(table, (), "workload", dict, {})
        for name in parameters:
            value = self._take(parameters, ("workload",), name, int)
            if not 0 <= value <= LARGEST_SIZE:
                self._fail(("workload", name), f"{name} = {value}: {_PARAMETER_RULE}")
            if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
                self._fail(
                    ("workload", name),
                    f"a parameter's name is lower-case letters, digits and _, not '{name}'",
                )
            if name in PLACEHOLDERS:
                self._fail(("workload", name), f"'{name}' already means {PLACEHOLDERS[name]}")
        size = self._words(table, (), "size") if "size" in table else tuple(parameters)
        for name in size:
            if name not in parameters:
                self._fail(("size",), f"'{name}' is not in [workload]{nearest(name, parameters)}")
        return Workload(parameters, size)

    def _kernel(self, row: object, ladder: dict[str, Any], place: KeyPath) -> Kernel:
        if not isinstance(row, dict):
            self._fail(("kernel",), "kernels are written as [[kernel]] tables")
        self._known_keys(row, _KERNEL_KEYS, place)
        number = self._take(row, place, "number", int)
        if not 0 <= number < 1000:
            self._fail((*place, "number"), f"a kernel's number is 0 to 999, not {number}")
        name = self._take(row, place, "name", str)
        if not is_plain_name(name):
            self._fail((*place, "name"), f"the kernel's name '{name}' {_NAME_RULE}")
        source = self._take(row, place, "source", str, None)
        skip = self._take(row, place, "skip", int, 0)
        if skip < 0:
            self._fail((*place, "skip"), f"skip counts launches, so it cannot be {skip}")
        is_profiled = self._flag(row, place, "profile", True)
        flags = [
            self._words(owner, at, "flags") for owner, at in ((ladder, ()), (row, place)) if "flags" in owner
        ]
        return Kernel(
            number=number,
            name=name,
            idea=self._take(row, place, "idea", str),
            regex=self._regex(row, place) if is_profiled or "regex" in row else None,
            commands=self._commands(row, ladder, place, source, is_profiled),
            is_profiled=is_profiled,
            source=self._path.parent / source if source is not None else None,
            further_sources=self._further_sources(row, place, source),
            skip=skip,
            has_window=self._flag(row, place, "window", False),
            flags=tuple(flag for group in flags for flag in group),
            targets=self._targets(row, place),
            needs=self._libraries(row, place, "needs"),
            uses=self._libraries(row, place, "uses")
            if "uses" in row
            else self._libraries(ladder, (), "uses"),
            flops=self._expression(row, ladder, place, "flops"),
            bytes=self._expression(row, ladder, place, "bytes"),
            published=self._published(row, place),
            against=self._take(row, place, "against", int, None),
            expects=self._claim(row, place),
            sweep=self._sweep(row, place, source),
        )

    def _commands(
        self,
        row: dict[str, Any],
        ladder: dict[str, Any],
        place: KeyPath,
        source: str | None,
        is_profiled: bool,
    ) -> Mapping[Mode, tuple[str, ...]]:
        commands: dict[Mode, tuple[str, ...]] = {}
        absent = {"binary"} if source is None or not source.endswith(".cu") else set()
        absent |= {"source"} if source is None else set()
        for key, mode in _COMMAND_KEYS.items():
            owner, at = (row, place) if key in row else (ladder, ())
            if key not in owner or (mode == "profile" and not is_profiled):
                continue
            words = self._words(owner, at, key)
            if not words:
                self._fail((*at, key), f"{key} is empty: its first word is the program")
            for word in words:
                self._placeholders(word, (*at, key), absent, place)
            commands[mode] = words
        if is_profiled and "profile" not in commands:
            self._fail(place, "no command, neither here nor for the whole ladder")
        if not is_profiled and "time" not in commands:
            self._fail(
                (*place, "profile"), "a kernel that is not profiled is timed, and needs a 'time' command"
            )
        return commands

    def _further_sources(
        self, row: dict[str, Any], place: KeyPath, source: str | None
    ) -> tuple[Path, ...] | None:
        """Returns the files of `sources`: in the ladder's folder or in one beside it, so that a copy keeps their places."""
        if "sources" not in row:
            return None
        folder = self._path.parent
        names = self._words(row, place, "sources")
        beside = Path(os.path.abspath(folder)).parent
        for name in (source, *names) if source else names:
            if not (folder / name).is_file():
                self._fail((*place, "sources"), f"{folder / name}: no such file")
            if not Path(os.path.abspath(folder / name)).is_relative_to(beside):
                self._fail(
                    (*place, "sources"), f"'{name}' is neither in the ladder's folder nor in one beside it"
                )
        return tuple(folder / name for name in names)

    def _placeholders(self, word: str, at: KeyPath, absent: set[str], kernel: KeyPath) -> None:
        try:
            names = placeholders_of(word)
        except ValueError as error:
            self._fail(at, f"'{word}': {error}")
        known = [*PLACEHOLDERS, *self._defaults]
        for name in names:
            if name not in known:
                self._fail(at, f"'{word}': unknown placeholder {{{name}}}{nearest(name, known)}")
            if name in absent:
                lacks = "source" if name == "source" else "source that ends in .cu"
                self._fail(kernel, f"the command says {{{name}}}, but this kernel has no {lacks}")

    def _regex(self, row: dict[str, Any], place: KeyPath) -> str:
        pattern = self._take(row, place, "regex", str)
        try:
            check_pattern(pattern)
        except ValueError as error:
            self._fail((*place, "regex"), str(error))
        return pattern

    def _expression(
        self, row: dict[str, Any], ladder: dict[str, Any], place: KeyPath, key: str
    ) -> Expression | None:
        owner, at = (row, place) if key in row else (ladder, ())
        if key not in owner:
            return None
        text = self._take(owner, at, key, str)
        try:
            expression = parse_expression(text)
            unknown = [name for name in expression.names if name not in self._defaults]
            if not unknown:
                expression.evaluate(self._defaults)
        except ExpressionError as error:
            self._fail((*at, key), str(error))
        if unknown:
            hint = nearest(unknown[0], self._defaults)
            self._fail((*at, key), f"'{unknown[0]}' is not in [workload]{hint}")
        return expression

    def _targets(self, row: dict[str, Any], place: KeyPath) -> dict[str, str]:
        targets = self._take(row, place, "targets", dict, {})
        for arch in targets:
            target = self._take(targets, (*place, "targets"), arch, str)
            if not _TARGET.fullmatch(arch) or not _TARGET.fullmatch(target):
                self._fail(
                    (*place, "targets", arch),
                    f"targets pair names such as sm_90, not '{arch}' and '{target}'",
                )
        return targets

    def _libraries(self, row: dict[str, Any], place: KeyPath, key: str) -> tuple[str, ...]:
        libraries = self._words(row, place, key) if key in row else ()
        for library in libraries:
            if library not in LIBRARIES:
                self._fail((*place, key), f"unknown library '{library}'; known: {', '.join(LIBRARIES)}")
        return libraries

    def _published(self, row: dict[str, Any], place: KeyPath) -> tuple[Published, ...]:
        figures = []
        for index, table in enumerate(self._take(row, place, "published", list, [])):
            at = (*place, "published", index)
            if not isinstance(table, dict):
                self._fail(at[:-1], "published is a list of tables: [{ gpu = ..., gflops = ... }]")
            self._known_keys(table, _PUBLISHED_KEYS, at)
            gpu = self._take(table, at, "gpu", str)
            numbers = {key: self._take(table, at, key, float, None) for key in _PUBLISHED_KEYS - {"gpu"}}
            for key, value in numbers.items():
                if value is not None and not 0 < value < math.inf:
                    self._fail((*at, key), f"{key} must be above 0, not {value:g}")
            figures.append(Published(gpu, **numbers))
        return tuple(figures)

    def _claim(self, row: dict[str, Any], place: KeyPath) -> Claim | None:
        claim = self._take(row, place, "expects", str, None)
        if claim is not None and claim not in CLAIMS:
            self._fail((*place, "expects"), f"expects is one of {', '.join(CLAIMS)}, not '{claim}'")
        return cast("Claim | None", claim)

    def _sweep(self, row: dict[str, Any], place: KeyPath, source: str | None) -> SweepSpace | None:
        if "tune" not in row:
            return None
        at = (*place, "tune")
        if source is None or not source.endswith(".cu"):
            self._fail(at, "tune is for a kernel that prof compiles: its source ends in .cu")
        return read_sweep(
            row["tune"], self._defaults, lambda where, reason: self._fail((*at, *where), reason)
        )

    def _distinct(self, kernels: list[Kernel]) -> None:
        for index, kernel in enumerate(kernels):
            for other in kernels[:index]:
                if kernel.number == other.number:
                    self._fail(
                        ("kernel", index, "number"),
                        f"number {kernel.number} is taken by '{other.name}' already",
                    )

    def _known_others(self, kernels: list[Kernel]) -> None:
        numbers = {kernel.number for kernel in kernels}
        for index, kernel in enumerate(kernels):
            if kernel.against is not None and kernel.against not in numbers - {kernel.number}:
                self._fail(
                    ("kernel", index, "against"),
                    f"against is the number of another kernel of the ladder, not {kernel.against}",
                )
