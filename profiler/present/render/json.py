"""Findings as JSON, under the names of their classes, and well-formed for any kernel name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from profiler.analyse.importance import ALWAYS, Importance, importances_of
from profiler.present.document import Records
from profiler.text import CI_COMMAND, Spoken, finite


def to_json(finding: Any) -> str:
    """Returns ASCII only, so that nothing in it can act on a terminal or a CI system; NaN and infinity become null.

    An object without objects inside, such as a metric, a check or an opcode, is on one line.
    """
    plain = finite(msgspec.to_builtins(finding, enc_hook=_plain))
    text = _laid_out(_with_left_out_first(plain) if isinstance(plain, dict) else plain, 0)
    text = text.replace("\x7f", "\\u007f")  # the one control character that JSON does not escape
    return CI_COMMAND.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _with_left_out_first(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer with what it lacks said behind the headline, before the members that lack it."""
    first: dict[str, Any] = {name: answer[name] for name in ("headline", "left_out") if name in answer}
    return {**first, **answer}


def _plain(value: Any) -> str:
    """Returns what a terminal prints of advice with two forms; msgspec itself knows plain texts alone."""
    if isinstance(value, Spoken):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def json_schema(finding: type | Sequence[type], title: str) -> str:
    return json.dumps({"title": title, **schema_of(finding)}, indent=2)


def schema_of(finding: type | Sequence[type]) -> dict[str, Any]:
    """Returns the JSON Schema of an object of this type, or of any of these types. A short form may lack what can be left out."""
    types = [finding] if isinstance(finding, type) else finding
    schemas, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    may_be_cut: dict[type, set[str]] = {}
    for one in types:
        _note_cut_inside(one, importances_of(one), may_be_cut)
    for cls, names in may_be_cut.items():
        required = definitions[cls.__name__]["required"]
        definitions[cls.__name__]["required"] = [name for name in required if name not in names]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        **(schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}),
        "$defs": definitions,
    }


def _note_cut_inside(
    cls: type[msgspec.Struct], declared: Mapping[str, Importance], found: dict[type, set[str]]
) -> None:
    """Notes for each class inside of this one which members `brief` may leave out whole."""
    for member in msgspec.structs.fields(cls):
        _note_cut(member.type, declared[member.name].parts if member.name in declared else {}, found)


def _note_cut(kind: Any, parts: Mapping[str, Importance], found: dict[type, set[str]]) -> None:
    """Notes the same for each class in the type of a field, which may declare the `parts` of it."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        for one in get_args(kind):
            _note_cut(one, parts, found)
        return
    declared = {**importances_of(kind), **parts}
    names = {name for name, one in declared.items() if one.first < ALWAYS}
    if kind not in found or not names <= found[kind]:
        found.setdefault(kind, set()).update(names)
        _note_cut_inside(kind, declared, found)


def records_json(records: Records) -> str:
    """Returns a list with an object for each row, with the header as its names."""
    return to_json([dict(zip(records.header, row, strict=True)) for row in records.rows])


def _laid_out(value: Any, depth: int) -> str:
    """Returns JSON with each member that holds objects on lines of its own, and the others side by side."""
    members = value.values() if isinstance(value, dict) else value
    if not _holds_object(value) or not any(map(_holds_object, members)):
        return json.dumps(value, separators=(",", ":"))
    separator = f",\n{' ' * (depth + 1)}"
    parts: list[str] = []
    beside = False
    for name, one in value.items() if isinstance(value, dict) else enumerate(value):
        holds = _holds_object(one)
        text = _laid_out(one, depth + 1)
        parts += ["," if beside and not holds else separator] if parts else []
        parts.append(f"{json.dumps(name)}:{text}" if isinstance(value, dict) else text)
        beside = not holds
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}{separator[1:]}{''.join(parts)}{separator[1:-1]}{end}"


def _holds_object(value: Any) -> bool:
    """Returns whether it is an object, or a list that contains one."""
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_object, value)))
