"""The program of a fresh process that verifies, times or launches a function; it speaks a rung's protocol.

    python -m profiler.measuring.functions.child FOLDER --mode survey|time|profile

`survey` prints the kernels that one call launches once compilation and autotuning are done, times the call as `time`
does, and then verifies. The other modes print what `kernels/README.md` asks of a program. A last line `prof: ...` on
stderr says what went wrong. If `ahead.py` starts it before its turn, it imports libraries and waits to be told more.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import select
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, NoReturn, TextIO

from profiler.measuring.functions.activity import Activity, CuptiMissing, busy_ns, listener
from profiler.measuring.functions.call import Call, Refused, load_call
from profiler.measuring.functions.driver import L2_READER, Driver, DriverFailed
from profiler.measuring.tools.exit_codes import EXIT_WRONG

GATE = "PROF_GATE"  # names the pipe from which a process that was started before its turn hears of it
# By their names in messages. Importing them takes seconds, and touches no GPU, as a user's own module may.
_LIBRARIES = {"torch": "PyTorch", "triton": "Triton", "cupy": "CuPy", "jax": "JAX", "numba": "Numba"}
_SETTLED_CALLS = 5  # as many calls in a row launch the same kernels: nothing is compiled or tuned any more
SHAPE = (
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_static_bytes", "shared_dynamic_bytes", "registers",
)  # fmt: skip
_MOST_CALLS = 2000
_FAILED = 1
SAYS_WHY = "prof: "  # begins the line that says what went wrong
Work = list[Activity]
ProtocolLine = dict[str, Any]


class Session:
    """Calls functions with the same arguments, and listens to what they do on the GPU."""

    def __init__(self, arguments: Sequence[Any], *, listens: bool) -> None:
        from profiler.measuring.functions.arrays import KeptArguments

        self.kept = KeptArguments(arguments)
        self.driver = Driver()
        self.driver.wait()
        self.listener = listener() if listens else None
        if self.listener is not None:
            self.listener.start()

    def call(self, function: Callable[..., object], *, cold: bool = False) -> Work:
        """Calls the function once with the arguments as they were given, and returns what it did on the GPU."""
        self.put_back()
        if cold:
            self.driver.flush()
        _wait_for(function(*self.kept.values))
        self.driver.wait()
        return [one for one in self._heard() if one.name != L2_READER]

    def put_back(self) -> None:
        """Gives the arguments that calls have written the values that they had."""
        if self.kept.are_written:
            self.kept.put_back()
            self.driver.wait()
            self._heard()  # none of it is the function's

    def _heard(self) -> Work:
        return self.listener.take() if self.listener is not None else []

    def settle(self, function: Callable[..., object]) -> tuple[int, list[Work]]:
        """Calls the function until compilation and autotuning are done; returns the calls made and the last ones."""
        self.call(function)  # what the arguments' own making left behind is heard here
        self.kept.find_written()
        last: list[Work] = []
        for calls in range(2, _MOST_CALLS):
            work = self.call(function)
            if last and _kernels(work) != _kernels(last[-1]):
                last = []
            last.append(work)
            if len(last) == _SETTLED_CALLS:
                return calls, last
        raise Refused(
            f"after {_MOST_CALLS} calls it still does not launch the same kernels in {_SETTLED_CALLS} calls in a row"
        )


def _kernels(work: Work) -> Counter[tuple[str, tuple[int, ...]]]:
    return Counter((one.name, one.shape) for one in work if one.name)


def _wait_for(result: object) -> None:
    """Waits for a result of JAX, which may not even be launched when the call returns."""
    if isinstance(result, (tuple, list)):
        for one in result:
            _wait_for(one)
    elif isinstance(result, dict):
        _wait_for(list(result.values()))
    elif hasattr(result, "block_until_ready"):
        result.block_until_ready()


def survey(call: Call, seed: int, repeats: int, warmup: int) -> Iterator[ProtocolLine]:
    """Yields the kernels of one call and the calls that settling took, times, and verifies if there is a reference."""
    session = Session(call.arguments, listens=True)
    calls, last = session.settle(call.function)
    if not any(one.name for one in last[-1]):
        what = "only copies or sets memory" if last[-1] else "does nothing on the GPU"
        raise Refused(
            f"it launches no kernel: once it is settled, a call {what} (or a profiler in it, such as torch.profiler, hides its kernels)"
        )
    times: dict[str, list[int]] = {}
    for work in last:
        for one in work:
            times.setdefault(one.name, []).append(one.ns)
    kernels = [
        {"name": name, "launches": len(ns) // len(last), "ns": round(sum(ns) / len(last))}
        for name, ns in times.items()
        if name
    ]
    whole = round(median(busy_ns(work) for work in last))
    facts = {"calls": calls, "ns": whole, "left_out": session.kept.left_out, "runtime": _runtime()}
    yield {"survey": True, "kernels": kernels, "modules": loaded_libraries(), **facts}
    yield from _time_calls(session, call, repeats, warmup)
    if call.reference is not None:
        yield _checked(call, seed)


def _checked(call: Call, seed: int) -> ProtocolLine:
    from profiler.measuring.functions.verify import NotAlike, verify

    try:
        found = verify(call.function, call.call_reference, call.arguments, seed, call.tolerance)
    except NotAlike as error:
        raise Refused(str(error)) from None
    figures = {"relative_error": found.relative_error, "threshold": found.threshold}
    return {**figures, "not_finite": found.not_finite, "ok": found.ok}


def _time_calls(session: Session, call: Call, repeats: int, warmup: int) -> Iterator[ProtocolLine]:
    """Times the function's own work on the GPU with a cold L2, in turns with its reference."""
    functions = [call.function, *([call.call_reference] if call.reference is not None else [])]
    expected = [_kernels(session.settle(one)[1][-1]) for one in functions]
    if not any(expected[-1]):  # a reference on the CPU is no measure of time
        functions = functions[:1]
    began = time.time()
    for repeat in range(-warmup, repeats):
        found: list[int | None] = [None, None]
        # Alternating which of the two goes first cancels what the first leaves behind: heat, clocks.
        for place in range(len(functions)) if repeat % 2 == 0 else reversed(range(len(functions))):
            work = session.call(functions[place], cold=True)
            if _kernels(work) != expected[place]:
                raise Refused("a call that was timed launched other kernels than the calls before it")
            found[place] = busy_ns(work)
        if repeat >= 0:
            yield {"repeat": repeat, "kernel_ns": found[0], "reference_ns": found[1]}
    session.put_back()  # what verifies, or what measures in its own process, goes on with the values that were given
    reference = _name(call.reference) if len(functions) > 1 else None
    summary = {"summary": True, "reference": reference, "runtime": _runtime()}
    timed = {"began": began, "ended": time.time()}
    yield {**summary, **timed, "kernels": sorted(kernel_with_shape(*one) for one in expected[0])}


def kernel_with_shape(name: str, shape: Sequence[int]) -> str:
    """Returns a kernel with what an autotuner may choose of it; `shape` has the columns of `SHAPE`."""
    *sizes, static, dynamic, registers = shape
    grid, block = ("x".join(map(str, part)) for part in (sizes[:3], sizes[3:]))
    return f"{name} (grid {grid}, block {block}, {static + dynamic} bytes shared, {registers} registers)"


def profile(call: Call, launches: int) -> Iterator[ProtocolLine]:
    """Calls the function until it is settled, then in the profiler's window; has nothing to say."""
    session = Session(call.arguments, listens=False)
    for place in range(call.settled_after + _SETTLED_CALLS):
        session.call(call.function)
        if not place:
            session.kept.find_written()
    for _ in range(launches):
        session.put_back()  # outside of the window
        session.driver.start_window()
        _wait_for(call.function(*call.arguments))
        session.driver.wait()
        session.driver.stop_window()
    yield from ()


def _name(function: object) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module and not module.startswith("__") else str(name)


def _runtime() -> str:
    versions = [
        f"{title} {getattr(sys.modules[name], '__version__', '?')}"
        for name, title in _LIBRARIES.items()
        if name in sys.modules
    ]
    return ", ".join([f"Python {sys.version.split()[0]}", *versions])


def main(words: Sequence[str], out: TextIO, call: Call | None = None) -> int:
    """Does what the words say with the `call`, by default the one in the folder, and returns the exit code.

    `out` receives the lines of the protocol, which is apart from all that the function prints.
    """
    parser = argparse.ArgumentParser(prog="child")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mode", choices=("survey", "time", "profile"), required=True)
    for flag, default in (("--seed", 0), ("--repeats", 20), ("--warmup", 5), ("--launches", 5)):
        parser.add_argument(flag, type=int, default=default)
    given = parser.parse_args(words)
    started = time.monotonic()
    try:
        call = call or load_call(given.folder.resolve())
        lines = list(_saying_first(_lines(given, call), out))
    except Refused as error:
        return _fail(str(error))
    except CuptiMissing as error:
        return _fail(f"kernels cannot be recorded: {error}")
    except DriverFailed as error:
        return _fail(f"the CUDA driver cannot be used: {error}")
    except (Exception, SystemExit) as error:  # whatever the function raises
        traceback.print_exc()
        return _fail(f"it raised {type(error).__name__} after {time.monotonic() - started:.0f} s: {error}")
    for line in lines:
        print(json.dumps(line), file=out)
    return EXIT_WRONG if any(line.get("ok") is False for line in lines) else 0


def _saying_first(lines: Iterator[ProtocolLine], out: TextIO) -> Iterator[ProtocolLine]:
    """Writes a survey's first line at once, and yields the others, which no writing disturbs."""
    for line in lines:
        if line.get("survey"):
            print(json.dumps(line), file=out, flush=True)
        else:
            yield line


def _lines(given: argparse.Namespace, call: Call) -> Iterator[ProtocolLine]:
    match given.mode:
        case "survey":
            return survey(call, given.seed, given.repeats, given.warmup)
        case "time":
            return _time_calls(Session(call.arguments, listens=True), call, given.repeats, given.warmup)
    return profile(call, given.launches)


def _fail(message: str) -> int:
    print(SAYS_WHY + message.replace("\n", " "), file=sys.stderr, flush=True)
    return _FAILED


class _Gate:
    """The pipe through which a process that was started early hears what to import, and when its turn comes. If prof has died, the process ends."""

    def __init__(self, path: str) -> None:
        # Without O_NONBLOCK, it would wait for a writer, and prof may have died.
        self._pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(self._pipe, True)
        self._text = b""

    @property
    def is_more_said(self) -> bool:
        return bool(self._text) or bool(select.select([self._pipe], [], [], 0)[0])

    def hear(self) -> dict[str, Any]:
        """Waits for the next line."""
        while b"\n" not in self._text:
            piece = os.read(self._pipe, 1 << 16)
            if not piece:
                os._exit(_FAILED)
            self._text += piece
        line, _, self._text = self._text.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said

    def close(self) -> None:
        os.close(self._pipe)


def await_turn() -> list[str]:
    """Returns the arguments of this process. If prof started it early, it first imports what prof names, and waits for its turn."""
    path = os.environ.pop(GATE, None)
    if path is None:
        return sys.argv[1:]
    gate = _Gate(path)
    while "modules" in (said := gate.hear()):
        for name in json.loads(Path(said["modules"]).read_text()):
            if gate.is_more_said:  # of what is left, it imports what it needs in its turn
                break
            with suppress(Exception, SystemExit):  # where it is needed, the same failure tells more
                importlib.import_module(name)
    gate.close()
    os.chdir(said["folder"])
    return said["words"] or sys.argv[1:]


def loaded_libraries() -> list[str]:
    """Returns the modules of the slow libraries that this process has imported, in their order."""
    return [name for name in list(sys.modules) if name.partition(".")[0] in _LIBRARIES]


def run() -> NoReturn:
    # JAX would take three quarters of the GPU's memory, most of which the sending process may hold already.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of processes for one function
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what the function prints is no line of the protocol
        words = await_turn()
        code = main(words, out)
    sys.stdout.flush()
    sys.stderr.flush()
    if "profile" in words:
        sys.exit(code)  # ncu writes its report as the process ends
    os._exit(code)  # frameworks may crash or hang as they are torn down, and everything is said


if __name__ == "__main__":
    run()
