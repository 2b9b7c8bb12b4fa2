"""Holds a ladder as plain values: its kernels do the same work, one idea apart.

`find_ladder` looks for `kernels/<name>/ladder.toml` as git looks for its repository, and `ladder_file.py` reads
it. A workload returns its sizes, and `fill_command` the words of a command.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from profiler.catalog import DEFAULT_LADDER
from profiler.catalog.ladders.expressions import Expression
from profiler.errors import LadderNotFound, RungNotFound, WorkloadInvalid
from profiler.text import Spoken, nearest_hint

if TYPE_CHECKING:
    from profiler.catalog.ladders.sweep import SweepSpace

LADDER_FILE = "ladder.toml"
LARGEST_SIZE = 2**63 - 1
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
CHOOSE_LADDER = "Give one of these, or a file: " + Spoken(
    "--ladder path/to/ladder.toml.", "prof.ladder('path/to/ladder.toml')."
)
Mode = Literal["profile", "time", "check"]
COMMAND_KEYS: dict[Mode, str] = {"profile": "command", "time": "time", "check": "check"}
Claim = Literal["faster", "same", "slower"]
CLAIMS: tuple[Claim, ...] = get_args(Claim)
# A command may mention these and the workload's parameters.
PLACEHOLDERS = {
    "binary": "the compiled program",
    "source": "the kernel's source file",
    "folder": "the folder of the ladder file",
    "kernel": "the kernel's number",
    "launches": "how many launches to profile",
    "skip": "launches of the same kernel before the first that counts",
    "repeats": "how many times to time it",
    "warmup": "untimed repeats before them",
    "seed": "a fresh random number, or the one given",
}


@dataclass(frozen=True)
class Published:
    """Figures that somebody published for this kernel, and the GPU that they hold for."""

    gpu: str
    gflops: float | None = None
    gbytes_per_s: float | None = None
    time_us: float | None = None
    reference_pct: float | None = None


@dataclass(frozen=True)
class Workload:
    parameters: Mapping[str, int]  # with their defaults
    size: tuple[str, ...] = ()  # the parameters that --size sets

    def values(self, size: int | str | None = None, given: Mapping[str, int] | None = None) -> dict[str, int]:
        """Returns the sizes to run: the defaults, changed by `size`, changed by single parameters."""
        values = dict(self.parameters)
        if size is not None:
            values |= self._sized(str(size))
        for name, value in (given or {}).items():
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise WorkloadInvalid(f"'{name}' is not a parameter of this workload; it has: {known}")
            values[name] = _checked(value, 0, f"--set-param {name}={value}: a parameter")
        return values

    def _sized(self, text: str) -> dict[str, int]:
        """Reads `4096`, one number for all sizes, or `512x4096x1024`, one for each."""
        if not self.size:
            raise WorkloadInvalid(f"--size {text}: this ladder's workload has no size to set")
        words = [word.strip() for word in text.split("x")]
        numbers = [int(word) if re.fullmatch(r"[0-9]{1,19}", word) else 0 for word in words]
        if len(numbers) == 1:
            numbers *= len(self.size)
        if len(numbers) != len(self.size):
            each = "x".join(name.upper() for name in self.size)
            raise WorkloadInvalid(f"--size {text}: give one number, or one for each of {each}")
        sizes = [_checked(number, 1, f"--size {text}: a size") for number in numbers]
        return dict(zip(self.size, sizes, strict=True))


@dataclass(frozen=True)
class Kernel:
    """A rung. Its commands are lists of words, as programs receive them: no shell reads them.

    A rung that is not profiled launches no kernel of its own: prof only verifies and times it.
    """

    number: int
    name: str
    idea: str
    regex: str | None
    commands: Mapping[Mode, tuple[str, ...]]
    is_profiled: bool = True
    source: Path | None = None
    # Other files that it reads; None if the ladder does not list them.
    further_sources: tuple[Path, ...] | None = None
    skip: int = 0
    has_window: bool = False  # its program marks with cudaProfilerStart and -Stop which launches count
    flags: tuple[str, ...] = ()
    targets: Mapping[str, str] = field(default_factory=dict)  # sm_90 -> sm_90a
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    flops: Expression | None = None
    bytes: Expression | None = None
    published: tuple[Published, ...] = ()
    against: int | None = None  # the rung that this one is compared with, if it is not the one before
    expects: Claim | None = None  # how this step changes the time, if the claim has no figure
    sweep: SweepSpace | None = None  # for `prof tune`

    @property
    def is_compiled(self) -> bool:
        return self.source is not None and self.source.suffix == ".cu"

    @property
    def file_name(self) -> str:
        return f"{self.number:02}_{self.name}"

    def __str__(self) -> str:
        return f"kernel {self.number} ({self.name})"


@dataclass(frozen=True)
class Ladder:
    name: str
    title: str
    path: Path
    workload: Workload
    kernels: tuple[Kernel, ...]
    reference: int | None = None

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def published(self) -> dict[int, Published]:
        """Returns the first published figures of each kernel."""
        return {kernel.number: kernel.published[0] for kernel in self.kernels if kernel.published}

    def kernel(self, number: int) -> Kernel:
        for kernel in self.kernels:
            if kernel.number == number:
                return kernel
        there_are = spans_text(sorted(kernel.number for kernel in self.kernels))
        raise RungNotFound(f"ladder '{self.name}' has no kernel {number}; it has {there_are}")

    def choose(self, numbers: Iterable[int] | None) -> list[Kernel]:
        """Returns the kernels with these numbers in the ladder's order, or all kernels for None."""
        wanted = {number: self.kernel(number) for number in numbers or ()}
        return [kernel for kernel in self.kernels if not wanted or kernel.number in wanted]


def _checked(value: int, smallest: int, what: str) -> int:
    if not smallest <= value <= LARGEST_SIZE:
        raise WorkloadInvalid(f"{what} is a whole number from {smallest} to {LARGEST_SIZE}")
    return value


def fill_command(words: Iterable[str], values: Mapping[str, object]) -> list[str]:
    """Returns the words with their placeholders filled. They were checked when the ladder was read."""
    return [word.format_map(dict(values)) for word in words]


def placeholders_of(word: str) -> list[str]:
    """Returns the names in braces; raises ValueError if braces do not pair or hold more than a name."""
    names = []
    for _, name, specification, conversion in string.Formatter().parse(word):
        if name is None:
            continue
        if not name.isidentifier() or specification or conversion:
            raise ValueError(f"'{{{name}}}' is not a placeholder; write {{{{ and }}}} for braces")
        names.append(name)
    return names


def size_text(values: Mapping[str, int]) -> str:
    """Returns `m=n=k=4096` if all sizes are equal, else `m=1 n=2 k=3`."""
    if len(values) > 1 and len(set(values.values())) == 1:
        return "=".join([*values, str(next(iter(values.values())))])
    return " ".join(f"{name}={value}" for name, value in values.items())


def spans_text(numbers: Iterable[int]) -> str:
    """Returns ascending kernel numbers as spans: `0 to 6, 8, 10 to 12`."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in spans)


def find_ladder(reference: str, *starts: Path) -> Path:
    """Returns the ladder file of this path or name.

    A name means `kernels/<name>/ladder.toml` in the first start or one of its parents, then in the next start.
    """
    if is_path(reference):
        path = Path(reference)
        path = path / LADDER_FILE if path.is_dir() else path
        if not path.is_file():
            raise LadderNotFound(f"{reference}: no such ladder file")
        return path
    for folder in _upwards(starts):
        path = folder / "kernels" / reference / LADDER_FILE
        if path.is_file():
            return path
    known = known_ladders(*starts)
    raise LadderNotFound(
        f"no ladder '{reference}': no kernels/{reference}/{LADDER_FILE} in {' or '.join(map(str, starts))} or above"
        + (
            f"{nearest_hint(reference, known)}; {'there are' if known[1:] else 'there is'} {', '.join(known)}"
            if known
            else ""
        ),
        remedy=CHOOSE_LADDER if known else None,
    )


def usual_ladder(*starts: Path) -> str:
    """Returns the ladder that is meant where none is named: the only one there is, if the default ladder is not found."""
    try:
        find_ladder(DEFAULT_LADDER, *starts)
    except LadderNotFound:
        known = known_ladders(*starts)
        return known[0] if len(known) == 1 and is_ladder_name(known[0]) else DEFAULT_LADDER
    except OSError:  # a folder above that this user may not search
        pass
    return DEFAULT_LADDER


def is_path(reference: str) -> bool:
    return "/" in reference or reference.endswith(".toml")


def is_plain_name(name: str) -> bool:
    """Returns True for a name that a ladder or a kernel may have: it becomes a file's name."""
    return _NAME.fullmatch(name) is not None


def is_ladder_name(name: str) -> bool:
    """Returns True for a name that a ladder may have: users also type it where a path could stand."""
    return is_plain_name(name) and not is_path(name)


def known_ladders(*starts: Path) -> list[str]:
    """Returns the names that `find_ladder` finds, from the nearest folder that has any."""
    for folder in _upwards(starts):
        names = sorted(path.parent.name for path in folder.glob(f"kernels/*/{LADDER_FILE}"))
        if names:
            return names
    return []


def _upwards(starts: Iterable[Path]) -> Iterable[Path]:
    return (folder for start in starts for folder in (start, *start.parents))
