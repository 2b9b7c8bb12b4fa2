"""Machine code as the rows of a document: counts by opcode or single instructions, for people and programs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from msgspec.structs import replace as with_fields

from profiler.analyse.code.code import ENDED, Instruction
from profiler.analyse.code.hot_loop import LoopSheet, PlacedOpcode, PlaceWeight, heaviest
from profiler.analyse.code.machine_code import UNIT_TEXT, MachineCode, Stretch
from profiler.analyse.code.opcodes import is_plumbing, width_bits
from profiler.analyse.code.regions import Region
from profiler.analyse.recording.kernel_names import names_of_sides
from profiler.present.document import CodeBlock, CodeCell, CodeColumn, CodeSide, Plain, Records, Section, Text
from profiler.text import mean_count, number, report_name, short_place

Entry = TypeVar("Entry")
Counts = tuple[PlacedOpcode | None, ...]

_PLACES = 2
_MOST_OF_LOOP_PCT = 50.0  # of its samples
PLUMBING = "integer, moves, branches"
_COPIES_MEANING = (
    "Stretches that are alike, as the copies of an unrolled loop, are shown once, with all their samples."
)
_EXIT = "EXIT"
_WAITS_AT_EXIT_PCT = 3.0  # of the samples: a cause that would save less is not named either
SAMPLES_MEANING = "A sample falls on the instruction that waits, not on the load that it waits for."


def count_code(code: MachineCode, stretches: Sequence[Stretch[PlacedOpcode]], *, at_exit: bool) -> Section:
    """Returns the counts by opcode, and what a count such as `32 x 4` means: 32 stretches that are alike.

    Address arithmetic, counters and moves are added up in one row, because the other instructions
    characterise a loop.
    """
    by_step = code.per == "step"
    per = (
        "" if by_step and len(code.kernels) > 1 else "per "
    )  # four columns of two sides need the room for lines
    columns = (
        CodeColumn(
            f"{per}{UNIT_TEXT['iteration' if by_step else code.per]}",
            is_right=True,
            gives_way=2 if by_step else None,
        ),
        CodeColumn(f"{per}{UNIT_TEXT['step']}" if by_step else "", is_right=True),
        CodeColumn("opcode"),
        CodeColumn("source", gives_way=1),
        CodeColumn("samples", is_right=True, gives_way=0),
    )
    rows = _folded(stretches, partial(is_added_up, at_exit=at_exit))
    block = _block(code, columns, rows, partial(_count_cells, code))
    has_copies = any(one.times > 1 for stretch in rows for row in stretch for one in row if one)
    return [block, Text(_COPIES_MEANING)] if has_copies else [block]


def is_added_up(opcode: str, *, at_exit: bool) -> bool:
    """Returns whether an opcode has no row of its own. EXIT has one if warps wait `at_exit`: no arithmetic and no branch takes that time."""
    return is_plumbing(opcode) and not (at_exit and opcode == _EXIT)


def waits_at_exit(regions: Iterable[Region]) -> bool:
    """Returns whether the warps of a kernel wait long at EXIT, for what they store in memory or add to it.

    At an EXIT that some warps pass, these may wait for something else, such as a barrier behind it.
    """
    return any(_draining_pct(region) >= _WAITS_AT_EXIT_PCT for region in regions)


def _draining_pct(region: Region) -> float:
    sampled = [(one, one.samples or 0) for one in region.body if one.executed]
    samples = sum(count for _, count in sampled)
    draining = sum(count for one, count in sampled if one.opcode == _EXIT and one.main_stall == ENDED)
    return 100 * draining / samples if samples else 0.0


def _block(
    code: MachineCode,
    columns: Sequence[CodeColumn],
    stretches: Iterable[Iterable[Sequence[Entry | None]]],
    cells: Callable[[Entry, LoopSheet], Sequence[CodeCell]],
) -> CodeBlock:
    labels = [sheet.label for sheet in code.kernels]
    titles = names_of_sides((labels[0], labels[1])) if len(labels) > 1 else [report_name(labels[0])]

    def sides(row: Sequence[Entry | None]) -> list[CodeSide]:
        both = zip(row, code.kernels, strict=True)
        return [None if one is None else cells(one, sheet) for one, sheet in both]

    return CodeBlock(titles, columns, [list(map(sides, stretch)) for stretch in stretches])


class _Copies(NamedTuple):
    """An opcode of as many stretches that are alike, with their counts and samples added up."""

    all: PlacedOpcode
    times: int


_Alike = tuple[_Copies | None, ...]  # of each side


class _Stretch(NamedTuple):
    """The rows that matter of one stretch, and the others."""

    telling: list[Counts]
    rest: list[Counts]


def _folded(stretches: Sequence[Stretch[PlacedOpcode]], quiet: Callable[[str], bool]) -> list[list[_Alike]]:
    """Returns the rows that matter of each stretch, then one row that adds up the others, which are `quiet`.

    Stretches that do the same, as the copies of an unrolled loop, are one, where the first of them stands.
    """
    alike: dict[Hashable, list[_Stretch]] = {}
    for one in _with_rest_apart(stretches, quiet):
        alike.setdefault(frozenset(map(_what_it_does, one.telling)), []).append(one)
    return [_added(copies) for copies in alike.values()]


def _with_rest_apart(
    stretches: Sequence[Stretch[PlacedOpcode]], quiet: Callable[[str], bool]
) -> list[_Stretch]:
    """Divides the rows of each stretch. A stretch that holds only others joins the stretch before it."""
    divided: list[_Stretch] = []
    for stretch in stretches:
        telling = [row for row in stretch if not all(one is None or quiet(one.opcode) for one in row)]
        if telling or not divided:
            divided.append(_Stretch(telling, []))
        divided[-1].rest.extend(row for row in stretch if row not in telling)
    return divided


def _what_it_does(row: Counts) -> Hashable:
    """Returns the opcode of each side, how often it runs, as that is shown, and for which lines."""
    return tuple(one and (one.opcode, mean_count(one.count), frozenset(one.places)) for one in row)


def _added(copies: Sequence[_Stretch]) -> list[_Alike]:
    """Returns the rows of stretches that are alike, each with the counts and samples of all."""
    rows: dict[Hashable, list[Counts]] = {}
    for row in (row for one in copies for row in one.telling):
        rows.setdefault(_what_it_does(row), []).append(row)
    rest = [row for one in copies for row in one.rest]
    return [
        *(_sums(alike, len(copies)) for alike in rows.values()),
        *([_sums(rest, 1, PLUMBING)] if rest else []),
    ]


def _sums(rows: Sequence[Counts], times: int, name: str = "") -> _Alike:
    return tuple(_sum(side, times, name) for side in zip(*rows, strict=True))


def _sum(counts: Sequence[PlacedOpcode | None], times: int, name: str) -> _Copies | None:
    """Returns the counts of one side added up, under the `name` if they are of several opcodes."""
    there = [one for one in counts if one is not None]
    if not there:
        return None
    samples = [one.samples_pct for one in there if one.samples_pct is not None]
    total, sampled = sum(one.count for one in there), sum(samples) if samples else None
    if name:
        return _Copies(PlacedOpcode(name, total, None, _waiting_places(there), sampled), times)
    return _Copies(with_fields(there[0], count=total, samples_pct=sampled), times)


def _waiting_places(counts: Sequence[PlacedOpcode]) -> list[str]:
    """Returns the source lines of these opcodes, if they wait longer than all that have a row of their own; where they wait longest first."""
    if sum(one.samples_pct or 0.0 for one in counts) <= _MOST_OF_LOOP_PCT:
        return []
    weights: dict[str, PlaceWeight] = {}
    for place, (samples, executed) in (weight for one in counts for weight in one.weights.items()):
        before = weights.get(place, (0, 0.0))
        weights[place] = (before[0] + samples, before[1] + executed)
    return heaviest(weights)


def _count_cells(code: MachineCode, copies: _Copies, sheet: LoopSheet) -> Sequence[CodeCell]:
    one, times = copies
    quiet = one.opcode == PLUMBING
    per_step = one.count / sheet.steps if code.per == "step" and sheet.steps else None
    is_repeated = code.per == "step" and all(kernel.steps == 1 for kernel in code.kernels)
    in_all = mean_count(one.count) if times == 1 else f"{times} x {mean_count(one.count / times)}"
    in_step = in_all if is_repeated else mean_count(per_step)
    return (
        CodeCell("" if is_repeated else in_all),
        CodeCell("" if per_step is None else in_step, one.width_bits, quiet),
        CodeCell(one.opcode, one.width_bits, quiet),
        CodeCell(_short_places(one.places, sheet), quiet=True),
        CodeCell("" if one.samples_pct is None else f"{one.samples_pct:.1f} %"),
    )


def _short_places(places: Sequence[str], sheet: LoopSheet) -> str:
    """Returns the places without the file if it is the loop's own, which the heading names."""
    own = (sheet.place or "").rpartition(":")[0]
    shown = [place.removeprefix(f"{own}:") if own else place for place in places[:_PLACES]]
    return ", ".join(map(short_place, shown)) + (", …" if len(places) > _PLACES else "")


def instruction_code(code: MachineCode, stretches: Sequence[Stretch[Instruction]]) -> CodeBlock:
    """Returns every instruction, in the order of the code."""
    columns = (
        CodeColumn("executed", is_right=True, gives_way=2),
        CodeColumn("offset", is_right=True, gives_way=3),
        CodeColumn("instruction"),
        CodeColumn("source", gives_way=4),
        CodeColumn("samples", is_right=True, gives_way=1),
        CodeColumn("waits for", gives_way=0),
    )
    return _block(code, columns, stretches, _instruction_cells)


def _instruction_cells(one: Instruction, sheet: LoopSheet) -> Sequence[CodeCell]:
    return (
        CodeCell(number(one.executed)),
        CodeCell(f"{one.offset:#x}", quiet=True),
        CodeCell(one.text, width_bits(one.opcode), is_plumbing(one.opcode)),
        CodeCell(_short_places([one.place] if one.place else [], sheet), quiet=True),
        CodeCell("" if one.samples is None else number(one.samples)),
        CodeCell(one.main_stall or "", quiet=True),
    )


# Records


def count_records(code: MachineCode, stretches: Sequence[Stretch[PlacedOpcode]]) -> Records:
    """Returns a record for each count, with values in full.

    `stretch` numbers the stretches that barriers and branches divide.
    """
    names = ("opcode", "bits", "count", "per_step", "samples_pct", "source")

    def cells(one: PlacedOpcode, sheet: LoopSheet) -> list[Plain]:
        per_step = one.count / sheet.steps if sheet.steps else None
        return [one.opcode, one.width_bits, one.count, per_step, one.samples_pct, " ".join(one.places)]

    return _records(code, stretches, names, cells)


def instruction_records(code: MachineCode, stretches: Sequence[Stretch[Instruction]]) -> Records:
    """Returns a record for each instruction, with values in full."""
    names = ("offset", "instruction", "bits", "executed", "samples", "waits_for", "source")

    def cells(one: Instruction, _: LoopSheet) -> list[Plain]:
        bits = width_bits(one.opcode)
        return [one.offset, one.text, bits, one.executed, one.samples, one.main_stall, one.place]

    return _records(code, stretches, names, cells)


def _records(
    code: MachineCode,
    stretches: Sequence[Stretch[Entry]],
    names: Sequence[str],
    cells: Callable[[Entry, LoopSheet], list[Plain]],
) -> Records:
    prefixes = ("before_", "after_") if len(code.kernels) > 1 else ("",)
    header = ["stretch", *(f"{prefix}{name}" for prefix in prefixes for name in names)]
    empty: list[Plain] = [None] * len(names)
    rows: list[list[Plain]] = []
    for position, stretch in enumerate(stretches):
        for row in stretch:
            sides = [
                empty if one is None else cells(one, sheet)
                for one, sheet in zip(row, code.kernels, strict=True)
            ]
            rows.append([position, *(cell for side in sides for cell in side)])
    return Records(header, rows)
