"""Findings as JSON, under the names of their classes, and well-formed for any kernel name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from profiler.present.document import Records
from profiler.text import CI_COMMAND, Spoken, finite


def to_json(finding: Any) -> str:
    """Returns ASCII only, so that nothing in it can act on a terminal or a CI system; NaN and infinity become null.

    An object without objects inside, such as a metric, a check or an opcode, is on one line.
    """
    text = _laid_out(finite(msgspec.to_builtins(finding, enc_hook=_plain)), 0)
    text = text.replace("\x7f", "\\u007f")  # the one control character that JSON does not escape
    return CI_COMMAND.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: Any) -> str:
    """Returns what a terminal prints of advice with two forms; msgspec itself knows plain texts alone."""
    if isinstance(value, Spoken):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def json_schema(finding: type | Sequence[type], title: str) -> str:
    return json.dumps({"title": title, **schema_of(finding)}, indent=2)


def schema_of(finding: type | Sequence[type]) -> dict[str, Any]:
    """Returns the JSON Schema of an object of this type, or of any of these types."""
    types = [finding] if isinstance(finding, type) else finding
    schemas, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        **(schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}),
        "$defs": definitions,
    }


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
