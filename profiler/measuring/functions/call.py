"""A call to measure, and the folder in which it travels to the fresh processes."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler.measuring.functions.main_source import write_main
from profiler.measuring.functions.shipping import pack, unpack

_CALL_FILE, _SETTLED_FILE = "call.pickle", "settled"


class Refused(Exception):
    """The function cannot be measured; the text says why."""


@dataclass(frozen=True)
class Call:
    """A function to measure, with its arguments and its reference."""

    function: Callable[..., object]
    arguments: tuple[Any, ...]
    reference: Callable[..., object] | None
    tolerance: float | None
    settled_after: int = 0  # calls, as the survey has found

    def call_reference(self, *arguments: object) -> object:
        """Calls the reference, whose failures are not those of the function."""
        assert self.reference is not None
        try:
            return self.reference(*arguments)
        except Exception as error:
            traceback.print_exc()
            raise Refused(f"its reference raised {type(error).__name__}: {error}") from None


def send_call(call: Call, namespace: Mapping[str, Any], folder: Path) -> str | None:
    """Writes the call for the fresh processes; returns why it cannot be copied to them, or None."""
    main = write_main(folder)
    try:
        packed = pack((call.function, call.arguments, call.reference), namespace, main)
    except Exception as error:  # whatever the classes of the user's objects raise
        parts = {"the function": call.function, "the reference": call.reference}
        parts |= {f"argument {place}": one for place, one in enumerate(call.arguments, 1)}
        what = next((name for name, one in parts.items() if not _is_sendable(one, namespace, main)), "it")
        return f"{what} cannot be copied to a fresh process: {type(error).__name__}: {error}"
    sent = {
        "cwd": str(Path.cwd()),
        "argv": list(sys.argv),
        "main": main,
        "tolerance": call.tolerance,
        "call": packed,
    }
    (folder / _CALL_FILE).write_bytes(pickle.dumps(sent))
    return None


def send_settled(calls: int, folder: Path) -> None:
    """Tells the processes that profile after how many calls the function is settled."""
    (folder / _SETTLED_FILE).write_text(str(calls))


def load_call(folder: Path) -> Call:
    """Returns the call that lies in the folder, in the working directory of the process that sent it."""
    sent = pickle.loads((folder / _CALL_FILE).read_bytes())
    os.chdir(sent["cwd"])
    sys.argv = sent["argv"]
    function, arguments, reference = unpack(sent["call"], sent["main"])
    settled = folder / _SETTLED_FILE
    return Call(
        function,
        arguments,
        reference,
        sent["tolerance"],
        int(settled.read_text()) if settled.exists() else 0,
    )


def _is_sendable(value: object, namespace: Mapping[str, Any], main: Path | None) -> bool:
    with suppress(Exception):
        pack(value, namespace, main)
        return True
    return False
