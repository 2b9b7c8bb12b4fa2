"""Machine code as a document: the figures of one hot loop or two, the changes, and the code itself; or whether each function is the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.analyse.code.hot_loop import LoopSheet
from profiler.analyse.code.machine_code import UNIT_TEXT, CodeView, MachineCode, list_loads
from profiler.analyse.code.opcodes import WORD_BITS, width_bits
from profiler.analyse.code.sameness import CodeCheck, FunctionState
from profiler.analyse.findings import LoopInstruction
from profiler.analyse.recording.kernel_names import without_tags
from profiler.present import document as doc
from profiler.present.documents.parts import code_rows
from profiler.text import Spoken, counted, first_of, mean_count, number, short_place, shortened

_NAME_WIDTH = 100
_SHOWS_ALL = Spoken("--full shows the whole function.", "`full=True` shows the whole function.")
_MOST_LOOPS = 3
_MOST_OPCODES = 6
_RARE = 0.005  # executions in each turn: what a few warps do in thousands of turns is no part of a loop
_FUNCTION_WIDTH = 60
# Fields of a `FunctionCheck`.
_CODE_HEADER = (
    "function", "state", "instructions_before", "instructions_after", "index", "before", "after", "place",
)  # fmt: skip
_CODE_TONE: dict[FunctionState, doc.Tone] = {"same": "good", "changed": "bad", "missing": "bad", "new": "bad"}


def code_document(view: CodeView, *, listing: bool = False) -> doc.Document:
    """Returns the counts by opcode, or every instruction for a `listing`."""
    code, counts, at_exit = view.finding, view.counts(), code_rows.waits_at_exit(view.regions)
    if listing:
        rows = view.listing()
        records = code_rows.instruction_records(code, rows)
        body: doc.Section = [code_rows.instruction_code(code, rows)]
    else:
        records = code_rows.count_records(code, counts)
        body = code_rows.count_code(code, counts, at_exit=at_exit)
    title = " → ".join(sheet.label for sheet in code.kernels)
    about = [_about(sheet) for sheet in code.kernels]
    return doc.Document(title, _sections(code, about, body, at_exit), records)


def code_sections(view: CodeView) -> list[doc.Section]:
    """Returns the counts by opcode as a part of an answer that has named the kernels."""
    code, at_exit = view.finding, code_rows.waits_at_exit(view.regions)
    body = code_rows.count_code(code, view.counts(), at_exit=at_exit)
    return _sections(code, [scope_text(sheet) for sheet in code.kernels], body, at_exit)


def _sections(
    code: MachineCode,
    about: Sequence[str | list[str]],
    body: doc.Section,
    at_exit: bool,
) -> list[doc.Section]:
    titles = side_titles(code)
    return [
        [doc.Facts(list(zip(titles, about, strict=True))), *map(doc.Caution, _caution_texts(code))],
        [*_elsewhere(code), *_as_hot(code), *_called(code)],
        [figures_table(code, titles if len(titles) > 1 else ("",))],
        load_blocks(code),
        [*body, *_meaning(code, at_exit)],
        _overhead(code, titles if len(titles) > 1 else ("count",), at_exit),
    ]


def _meaning(code: MachineCode, at_exit: bool) -> doc.Section:
    """Returns the note on where samples fall and what they are a share of; nothing if there are none."""
    sampled = [sheet for sheet in code.kernels if any(one.samples_pct is not None for one in sheet.opcodes)]
    if not sampled:
        return []
    is_loop = sampled[0].scope == "loop"
    more = [" Only those in the loop are counted."] if is_loop else []
    more += [" At EXIT, a warp waits for what it stored in memory, or added to it."] if at_exit else []
    return [doc.Text(f"{code_rows.SAMPLES_MEANING}{''.join(more)}")]


def _overhead(code: MachineCode, titles: Sequence[str], at_exit: bool) -> doc.Section:
    """Returns the instructions that the code shows as one row, by their kind, the largest count first. Others have their own rows."""
    sides = [_added_up(sheet, at_exit) for sheet in code.kernels]
    counted_as = {
        kind: max(sum(one[kind].values()) for one in sides if kind in one) for side in sides for kind in side
    }
    kinds = sorted(counted_as, key=lambda kind: (-counted_as[kind], kind))
    steps = _divisors(code)
    columns = [
        doc.Column(f"{code_rows.PLUMBING}, per {UNIT_TEXT[code.per]}"),
        *(doc.Column(title, "count", missing="-") for title in titles),
        doc.Column("opcodes", prose=True),
    ]
    rows = []
    for kind in kinds:
        found = [(side.get(kind), n) for side, n in zip(sides, steps, strict=True)]
        counts = [sum(one.values()) / n if one else None for one, n in found]
        if max(filter(None, counts), default=0.0) < _RARE:
            continue
        opcodes = _opcode_counts([(one or {}, n) for one, n in found])
        rows.append(doc.Row((kind, *counts, opcodes)))
    return [doc.Table(columns, rows)] if rows else []


def _added_up(sheet: LoopSheet, at_exit: bool) -> dict[str, dict[str, float]]:
    """Returns for each kind of overhead the counts of its opcodes that have no row of their own."""
    kinds = {
        one.kind: {name: n for name, n in one.opcodes.items() if code_rows.is_added_up(name, at_exit=at_exit)}
        for one in sheet.overhead
    }
    return {kind: opcodes for kind, opcodes in kinds.items() if opcodes}


def _opcode_counts(sides: Sequence[tuple[Mapping[str, float], int]]) -> str:
    """Returns `MOV 4, CS2R 2`, the most first; for two sides `MOV 4 -> 2`, and equal counts once."""
    counts = [{name: count / steps for name, count in opcodes.items()} for opcodes, steps in sides]
    names = list(dict.fromkeys(name for side in counts for name in side))
    names.sort(key=lambda name: (-max(side.get(name, 0.0) for side in counts), name))
    shown = [name for name in names if max(side.get(name, 0.0) for side in counts) >= _RARE][:_MOST_OPCODES]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    texts = [
        f"{name} {' -> '.join(dict.fromkeys(mean_count(side.get(name, 0.0)) for side in counts))}"
        for name in shown
    ]
    return f"{', '.join(texts)}{more}"


def side_titles(code: MachineCode) -> tuple[str, ...]:
    return ("before", "after") if len(code.kernels) > 1 else ("kernel",)


def _about(sheet: LoopSheet) -> list[str]:
    return [f"{sheet.label}: {shortened(without_tags(sheet.kernel_name), _NAME_WIDTH)}", scope_text(sheet)]


def _elsewhere(code: MachineCode) -> doc.Section:
    """Returns of each kernel where its first cause is, if that is not in the loop."""
    lines: list[doc.Block] = []
    for sheet in code.kernels:
        if (one := sheet.first_cause) is None:
            continue
        of_it = f" of {sheet.label}" if len(code.kernels) > 1 else ""
        where = short_place(one.place) if one.place else f"{one.offset:#x}"
        text = f"The first cause{of_it}, {one.cause}, is not in this loop, but in {one.opcode} at {where}. "
        lines.append(doc.Text(text + _SHOWS_ALL))
    return lines


def _as_hot(code: MachineCode) -> doc.Section:
    """Returns of each kernel which other loops are nearly as hot, and how to see them; nothing where one stands out."""
    lines: list[doc.Block] = []
    for sheet in (one for one in code.kernels if one.as_hot):
        of_it = f"{sheet.label}: " if len(code.kernels) > 1 else ""
        named = [
            f"{short_place(one.place or 'the one')} from {one.start:#x} ({number(one.executed_pct)} %)"
            for one in sheet.as_hot
        ]
        others = counted(len(named), "other does", "others do")
        text = f"{of_it}This is one of {sheet.loops} loops, of which {others} at least half as much work: {first_of(named, _MOST_LOOPS)}. "
        lines.append(doc.Text(text + _SHOWS_ALL))
    return lines


def _called(code: MachineCode) -> doc.Section:
    """Returns of each kernel which called functions are as hot as the loop, and how to see them."""
    lines: list[doc.Block] = []
    for sheet in code.kernels:
        of_it = f"{sheet.label}: " if len(code.kernels) > 1 else ""
        for one in sheet.called:
            where = short_place(one.calls_from[0]) if one.calls_from else "the kernel"
            pct = one.samples_pct
            sampled = "" if pct is None else f" and has {number(pct)} % of the samples"
            text = f"{of_it}The function that {where} calls, from {one.start:#x}, executes {number(one.executed_pct)} % of all{sampled}; it does not count as a part of the loop. "
            how = Spoken("--full shows it.", "`full=True` shows it.")
            lines.append(doc.Text(text + how))
    return lines


def scope_text(sheet: LoopSheet) -> str:
    if sheet.executed_pct is None:
        span = f"{sheet.start:#x} to {sheet.end:#x}"
        return f"the loop from {span}" if sheet.scope == "loop" else f"the whole function, {span}"
    share = f"{number(sheet.executed_pct)} % of all executed"
    if sheet.scope == "function":
        place = f" from {short_place(sheet.place)}" if sheet.place else ""
        passes = _many(sheet.iterations, "warp")
        if sheet.is_called:
            passes = f"called {_many(sheet.iterations, 'time')}"
        return f"the whole function{place}, {passes}, {share}"
    place = short_place(sheet.place or "") or f"{sheet.start:#x} to {sheet.end:#x}"
    return f"loop at {place}, {_many(sheet.iterations_per_warp, 'iteration')} a warp, {share}"


def _many(count: float | None, thing: str) -> str:
    """Returns a count, which may be a mean, with the word for one thing or for many."""
    text = mean_count(count)
    return f"{text} {thing}{'s' * (text != '1')}"


def _caution_texts(code: MachineCode) -> list[str]:
    cautions = [
        f"{sheet.label}: {text}" if len(code.kernels) > 1 else text
        for sheet in code.kernels
        for text in sheet.cautions
    ]
    gpus = {sheet.gpu for sheet in code.kernels}
    if len(gpus) > 1:
        cautions.append(f"the GPU differs: {' against '.join(sheet.gpu for sheet in code.kernels)}")
    return [*code.cautions, *cautions]


# The figures


def figures_table(code: MachineCode, titles: Sequence[str]) -> doc.Table:
    """Returns each figure of the loops, with a column for each side."""
    sides = [doc.Column(title, "count", missing="-") for title in titles]
    rows = [doc.Row((name, *values)) for name, values in figures(code)]
    return doc.Table([doc.Column(f"{code_heading(code).lower()}, per thread"), *sides], rows)


def code_heading(code: MachineCode) -> str:
    """Returns what the code is: not every kernel has a loop."""
    return "Hot loop" if code.kernels[0].scope == "loop" else "Whole function"


def figures(code: MachineCode) -> list[tuple[str, list[float | None]]]:
    """Returns each figure with its value on each side, leaving out figures that no side has."""
    unit = UNIT_TEXT[code.per]
    turn = "iteration" if code.kernels[0].scope == "loop" else unit
    divided = zip(code.kernels, _divisors(code), strict=True)
    sides = [_figures_of(sheet, n, unit, turn) for sheet, n in divided]
    rows = [(name, [side[name] for side in sides]) for name in sides[0]]
    return [(name, values) for name, values in rows if any(value is not None for value in values)]


def _figures_of(sheet: LoopSheet, steps: int, unit: str, turn: str) -> dict[str, float | None]:
    shared, matrix = sheet.shared, sheet.matrix
    found = {
        f"instructions per {turn}": sheet.instructions,
        f"MMAs per {turn}": matrix.mmas if matrix else None,
        "instructions per MMA": matrix.instructions_per_mma if matrix else None,
        "operations of a warp per MMA": matrix.operations_per_mma if matrix else None,
        "other instructions, % of issue slots": matrix.others_issue_pct if matrix else None,
        f"k-steps per {turn}": sheet.steps,
        f"FMAs per {unit}": sheet.fmas / steps or None,
        "instructions per FMA": sheet.instructions_per_fma,
        "FMA instructions, % of issue slots": sheet.fma_issue_pct or None,
        f"shared loads per {unit}": shared.loads / steps if shared else None,
        "bytes per shared load": shared.bytes_per_load if shared else None,
        "FMAs per shared load": (shared.fmas_per_load or None) if shared else None,
        "FMAs per shared element of 4 bytes": (shared.fmas_per_word or None) if shared else None,
    }
    # Tensor cores multiply for many threads at once.
    return {name: None if sheet.is_tensor and "FMA" in name else value for name, value in found.items()}


def _divisors(code: MachineCode) -> list[int]:
    """Returns the k-steps of each side's loop that its counts are divided by; 1 if they are not given per k-step."""
    return [sheet.steps if code.per == "step" and sheet.steps else 1 for sheet in code.kernels]


# The loads of the operands


def load_blocks(code: MachineCode) -> list[doc.Accesses]:
    """Returns a sentence for each operand, and its accesses before and after; once if they are equal."""
    if len(code.kernels) == 1:
        loads = list_loads(code.kernels[0], code.per)
        return [doc.Accesses(sentence, _drawn(one)) for sentence, one in loads]
    return [
        doc.Accesses(one.sentence, _drawn(one.before, one.after) if one.before != one.after else [])
        for one in code.changes
    ]


def _drawn(*sides: Sequence[LoopInstruction]) -> list[list[int]]:
    """Returns the accesses of each side; empty if one side cannot be drawn."""
    widths = [_access_widths(loads) for loads in sides]
    return widths if all(widths) else []


def _access_widths(loads: Sequence[LoopInstruction]) -> list[int]:
    """Returns the bits of each access; empty if any count is not whole or any access is below a word."""
    accesses = []
    for load in loads:
        bits = width_bits(load.opcode)
        if not bits or bits < WORD_BITS or load.count != int(load.count):
            return []
        accesses += [bits] * int(load.count)
    return accesses


# Whether the code changed


def code_check_document(finding: CodeCheck) -> doc.Document:
    """Returns a row for each function; a changed one has the first instructions that differ."""
    columns = (
        doc.Column("function", folds=True),
        doc.Column("code"),
        doc.Column("instructions", right=True),
        doc.Column("baseline", folds=True),
        doc.Column("candidate", folds=True),
        doc.Column("line"),
    )
    rows = []
    for one in finding.functions:
        counts = f"{one.instructions_before:,} → {one.instructions_after:,}"
        if one.instructions_before == one.instructions_after:
            counts = f"{one.instructions_before:,}"
        name = shortened(one.function, _FUNCTION_WIDTH)
        values = (name, one.state, counts, one.before, one.after, one.place or "")
        rows.append(doc.Row(values, _CODE_TONE[one.state]))
    records = [[getattr(one, name) for name in _CODE_HEADER] for one in finding.functions]
    title = f"{'❌' if finding.changed else '✅'} {_code_sentence(finding)}"
    sections = [[doc.Table(columns, rows)]]
    return doc.Document(title, sections, doc.Records(_CODE_HEADER, records), titled=True)


def _code_sentence(finding: CodeCheck) -> str:
    """Returns the outcome in one line."""
    other = [one for one in finding.functions if one.state != "same"]
    whole = counted(len(finding.functions), "function")
    if not other:
        return f"the machine code is the same in {whole}"
    first = other[0]
    name = shortened(first.function, _FUNCTION_WIDTH)
    if first.state == "changed":
        where = f"{name}, from instruction {first.index} on"
    else:
        where = f"{name} is {'gone' if first.state == 'missing' else 'new'}"
    return f"the machine code differs in {len(other)} of {whole}: {where}"
