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
from typing import cast

from profiler.catalog.ladders.expressions import Expression, parse_expression
from profiler.catalog.ladders.ladder import (
    CLAIMS,
    COMMAND_KEYS,
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
from profiler.catalog.ladders.toml_reader import TomlTable, nearest, parse_toml, read_text, syntax_error
from profiler.catalog.patterns import check_pattern
from profiler.errors import ExpressionError, LadderInvalid, LadderNotFound

LIBRARIES = ("cublas",)
_SHARED_KEYS = {*COMMAND_KEYS.values(), "flags", "uses", "flops", "bytes"}
_LADDER_KEYS = {"name", "title", "reference", "size", "workload", "kernel", *_SHARED_KEYS}
_KERNEL_KEYS = {
    "number", "name", "idea", "source", "sources", "regex", "profile", "window", "skip", "targets",
    "needs", "published", "against", "expects", "tune", *_SHARED_KEYS,
}  # fmt: skip
_PUBLISHED_KEYS = {"gpu", "gflops", "gbytes_per_s", "time_us", "reference_pct"}

_TARGET = re.compile(r"sm_\d{2,3}[af]?")
_NAME_RULE = "must be letters a-z, digits, '.', '_' and '-', at most 40 (it becomes a file's name)"
_PARAMETER_RULE = f"a parameter is a whole number from 0 to {LARGEST_SIZE}"


def read_ladder(path: Path) -> Ladder:
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise LadderNotFound(f"{path}: no such ladder file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise LadderInvalid(f"{path}: cannot be read as text: {error}") from None
    return _parsed(path, text)


def read_title(path: Path) -> str:
    """Returns a ladder's title, in a tenth of the time that it takes to check the whole file; "" if it cannot be read."""
    try:
        title = parse_toml(read_text(path)).get("title", "")
    except (OSError, ValueError):
        return ""
    return title if isinstance(title, str) else ""


@lru_cache(maxsize=4)  # for the two sides of a comparison
def _parsed(path: Path, text: str) -> Ladder:
    try:
        table = parse_toml(text)
    except ValueError as error:
        raise syntax_error(path, str(error)) from None
    return _LadderReader(TomlTable(path, text, table)).ladder()


class _LadderReader:
    """Reads the kernels of one file. The ladder may say for all kernels what a kernel does not say itself."""

    def __init__(self, file: TomlTable) -> None:
        self._file = file
        self._folder = file.path.parent
        self._defaults: Mapping[str, int] = {}

    def ladder(self) -> Ladder:
        file = self._file
        file.require_known(_LADDER_KEYS)
        name = file.take("name", str, file.path.resolve().parent.name)
        if not is_ladder_name(name):
            file.fail(f"the ladder's name '{name}' {_NAME_RULE}", *(["name"] if "name" in file else []))
        workload = self._workload()
        self._defaults = workload.parameters
        rows = file.take("kernel", list)
        if not rows:
            file.fail("a ladder needs at least one [[kernel]]", "kernel")
        if not all(isinstance(row, dict) for row in rows):
            file.fail("kernels are written as [[kernel]] tables", "kernel")
        kernels = [self._kernel(file.inner(row, "kernel", index)) for index, row in enumerate(rows)]
        numbers = [kernel.number for kernel in kernels]
        for index, kernel in enumerate(kernels):
            if kernel.number in numbers[:index]:
                other = kernels[numbers.index(kernel.number)]
                file.fail(
                    f"number {kernel.number} is taken by '{other.name}' already", "kernel", index, "number"
                )
        for index, kernel in enumerate(kernels):
            if kernel.against is not None and kernel.against not in {*numbers} - {kernel.number}:
                wrong = f"against is the number of another kernel of the ladder, not {kernel.against}"
                file.fail(wrong, "kernel", index, "against")
        reference = file.take("reference", int, None)
        if reference not in (None, *numbers):
            file.fail(f"the reference is kernel {reference}, which the ladder does not have", "reference")
        return Ladder(
            name=name,
            title=file.take("title", str),
            path=file.path,
            workload=workload,
            kernels=tuple(sorted(kernels, key=lambda kernel: kernel.number)),
            reference=reference,
        )

    def _workload(self) -> Workload:
        parameters = self._file.take("workload", dict, {})
        table = self._file.inner(parameters, "workload")
        for name in parameters:
            value = table.take(name, int)
            if not 0 <= value <= LARGEST_SIZE:
                table.fail(f"{name} = {value}: {_PARAMETER_RULE}", name)
            if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
                table.fail(f"a parameter's name is lower-case letters, digits and _, not '{name}'", name)
            if name in PLACEHOLDERS:
                table.fail(f"'{name}' already means {PLACEHOLDERS[name]}", name)
        size = self._file.words("size") if "size" in self._file else tuple(parameters)
        for name in size:
            if name not in parameters:
                self._file.fail(f"'{name}' is not in [workload]{nearest(name, parameters)}", "size")
        return Workload(parameters, size)

    def _kernel(self, row: TomlTable) -> Kernel:
        row.require_known(_KERNEL_KEYS)
        number = row.take("number", int)
        if not 0 <= number < 1000:
            row.fail(f"a kernel's number is 0 to 999, not {number}", "number")
        name = row.take("name", str)
        if not is_plain_name(name):
            row.fail(f"the kernel's name '{name}' {_NAME_RULE}", "name")
        source = row.take("source", str, None)
        skip = row.take("skip", int, 0)
        if skip < 0:
            row.fail(f"skip counts launches, so it cannot be {skip}", "skip")
        is_profiled = row.take("profile", bool, True)
        return Kernel(
            number=number,
            name=name,
            idea=row.take("idea", str),
            regex=_regex(row) if is_profiled or "regex" in row else None,
            commands=self._commands(row, source, is_profiled),
            is_profiled=is_profiled,
            source=self._folder / source if source is not None else None,
            further_sources=self._further_sources(row, source),
            skip=skip,
            has_window=row.take("window", bool, False),
            flags=(*self._file.words("flags"), *row.words("flags")),
            targets=_targets(row),
            needs=_libraries(row, "needs"),
            uses=_libraries(self._owner(row, "uses"), "uses"),
            flops=self._expression(row, "flops"),
            bytes=self._expression(row, "bytes"),
            published=_published(row),
            against=row.take("against", int, None),
            expects=_claim(row),
            sweep=self._sweep(row, source),
        )

    def _owner(self, row: TomlTable, key: str) -> TomlTable:
        """Returns the table that has the key: the kernel's own, or that of the whole ladder."""
        return row if key in row else self._file

    def _commands(self, row: TomlTable, source: str | None, is_profiled: bool) -> dict[Mode, tuple[str, ...]]:
        commands: dict[Mode, tuple[str, ...]] = {}
        for mode, key in COMMAND_KEYS.items():
            if key in self._owner(row, key) and (mode != "profile" or is_profiled):
                commands[mode] = self._command(row, key, source)
        if is_profiled and "profile" not in commands:
            row.fail("no command, neither here nor for the whole ladder")
        if not is_profiled and "time" not in commands:
            row.fail("a kernel that is not profiled is timed, and needs a 'time' command", "profile")
        return commands

    def _command(self, row: TomlTable, key: str, source: str | None) -> tuple[str, ...]:
        """Returns the words of a command, which may not ask for a source or a binary that the kernel lacks."""
        owner = self._owner(row, key)
        words = owner.words(key)
        if not words:
            owner.fail(f"{key} is empty: its first word is the program", key)
        names = {name for word in words for name in self._placeholders(word, owner, key)}
        if "source" in names and source is None:
            row.fail("the command says {source}, but this kernel has no source")
        if "binary" in names and not (source or "").endswith(".cu"):
            row.fail("the command says {binary}, but this kernel has no source that ends in .cu")
        return words

    def _placeholders(self, word: str, owner: TomlTable, key: str) -> list[str]:
        try:
            names = placeholders_of(word)
        except ValueError as error:
            owner.fail(f"'{word}': {error}", key)
        known = [*PLACEHOLDERS, *self._defaults]
        for name in names:
            if name not in known:
                owner.fail(f"'{word}': unknown placeholder {{{name}}}{nearest(name, known)}", key)
        return names

    def _further_sources(self, row: TomlTable, source: str | None) -> tuple[Path, ...] | None:
        """Returns the files of `sources`: in the ladder's folder or in one beside it, so that a copy keeps their places."""
        if "sources" not in row:
            return None
        names = row.words("sources")
        beside = Path(os.path.abspath(self._folder)).parent
        for name in (source, *names) if source else names:
            if not (self._folder / name).is_file():
                row.fail(f"{self._folder / name}: no such file", "sources")
            if not Path(os.path.abspath(self._folder / name)).is_relative_to(beside):
                row.fail(f"'{name}' is neither in the ladder's folder nor in one beside it", "sources")
        return tuple(self._folder / name for name in names)

    def _expression(self, row: TomlTable, key: str) -> Expression | None:
        owner = self._owner(row, key)
        if key not in owner:
            return None
        try:
            expression = parse_expression(owner.take(key, str))
            for name in expression.names:
                if name not in self._defaults:
                    owner.fail(f"'{name}' is not in [workload]{nearest(name, self._defaults)}", key)
            expression.evaluate(self._defaults)
        except ExpressionError as error:
            owner.fail(str(error), key)
        return expression

    def _sweep(self, row: TomlTable, source: str | None) -> SweepSpace | None:
        if "tune" not in row:
            return None
        if source is None or not source.endswith(".cu"):
            row.fail("tune is for a kernel that prof compiles: its source ends in .cu", "tune")
        return read_sweep(
            row.values["tune"], self._defaults, lambda where, reason: row.fail(reason, "tune", *where)
        )


def _regex(row: TomlTable) -> str:
    pattern = row.take("regex", str)
    try:
        check_pattern(pattern)
    except ValueError as error:
        row.fail(str(error), "regex")
    return pattern


def _targets(row: TomlTable) -> dict[str, str]:
    targets = row.take("targets", dict, {})
    table = row.inner(targets, "targets")
    for arch in targets:
        target = table.take(arch, str)
        if not _TARGET.fullmatch(arch) or not _TARGET.fullmatch(target):
            table.fail(f"targets pair names such as sm_90, not '{arch}' and '{target}'", arch)
    return targets


def _libraries(owner: TomlTable, key: str) -> tuple[str, ...]:
    libraries = owner.words(key)
    for library in libraries:
        if library not in LIBRARIES:
            owner.fail(f"unknown library '{library}'; known: {', '.join(LIBRARIES)}", key)
    return libraries


def _published(row: TomlTable) -> tuple[Published, ...]:
    figures = []
    for index, values in enumerate(row.take("published", list, [])):
        if not isinstance(values, dict):
            row.fail("published is a list of tables: [{ gpu = ..., gflops = ... }]", "published")
        table = row.inner(values, "published", index)
        table.require_known(_PUBLISHED_KEYS)
        gpu = table.take("gpu", str)
        numbers = {key: table.take(key, float, None) for key in _PUBLISHED_KEYS - {"gpu"}}
        for key, value in numbers.items():
            if value is not None and not 0 < value < math.inf:
                table.fail(f"{key} must be above 0, not {value:g}", key)
        figures.append(Published(gpu, **numbers))
    return tuple(figures)


def _claim(row: TomlTable) -> Claim | None:
    claim = row.take("expects", str, None)
    if claim is not None and claim not in CLAIMS:
        row.fail(f"expects is one of {', '.join(CLAIMS)}, not '{claim}'", "expects")
    return cast("Claim | None", claim)
