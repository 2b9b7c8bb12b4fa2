"""A loop that reads what one before it has read, however its addresses are written, repeats the work of memory."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.global_memory import redundant_loads
from profiler.analyse.causes.flow.addresses.made_up import first_addresses
from profiler.analyse.causes.flow.memory.repeated_loads import (
    find_addresses_gone,
    find_later_passes,
    find_same_in_outer_turns,
)

SUM = "FADD R20, R20, R10"
START = ["S2R R0, SR_CTAID.X", "S2R R1, SR_TID.X", "LDC.64 R2, c[0x0][0x210]", "LDC.64 R4, c[0x0][0x218]"]
# The row's start in each block, and a thread's element: by a multiply-add, and by a shift and an addition.
FIRST = ["MOV R6, RZ", "IADD3 R7, R1, R6, RZ", "IMAD R8, R0, 0x1000, R2", "LEA R8, R7, R8, 0x2"]
SECOND = [
    "CS2R R6, SRZ",
    "IADD3 R7, R6, R1, RZ",
    "SHF.L.U32 R7, R7, 0x2, RZ",
    "IMAD R9, R0, 0x1000, RZ",
    "IADD3 R9, R9, R2, RZ",
    "IADD3 R8, R9, R7, RZ",
]


def passes(second, between=(), count=4000.0, sectors=4000.0, moved=0.0, what=(SUM,), before=FIRST):
    """Two loops of ten turns, entered by 400 warps: 50 blocks of 256 threads. Each loads a value and adds it up, or the second does something else."""
    lines = executing(400.0, *START, *before)
    loads = [len(lines)]
    lines += [
        ("LDG.E R10, [R8.64]", 4000.0),
        (SUM, 4000.0),
        ("IADD3 R8, R8, 0x400, RZ", 4000.0),
        (f"@P0 BRA {16 * loads[0]:#x}", 4000.0),
    ]
    lines += executing(400.0, *between, *second)
    loads.append(len(lines))
    lines += [
        ("LDG.E R10, [R8.64]", count),
        *executing(count, *what),
        ("IADD3 R8, R8, 0x400, RZ", count),
        (f"@P0 BRA {16 * loads[1]:#x}", count),
    ]
    facts = {
        place: {"sectors": amount, "ideal_sectors": amount, "waits": {}}
        for place, amount in zip(loads, (4000.0, sectors), strict=True)
    } | {place + 1: {"waits": {"long_scoreboard": 10}} for place in loads}
    figures = {"dram_bytes_read": moved, "dram_bytes_written": 0.0}
    return evidence_of(*lines, facts=facts, figures=figures, grid=50), loads


def found(*arguments, **options):
    evidence, (_, second) = passes(*arguments, **options)
    later = find_later_passes(evidence)
    assert list(later) in ([], [evidence.sites[second]])
    return bool(later)


def test_the_same_address_is_the_same_number_however_it_is_written():
    evidence, (first, second) = passes(SECOND)
    addresses = first_addresses(evidence.sites)
    assert addresses[evidence.sites[first]] == addresses[evidence.sites[second]]
    assert found(SECOND)


def test_pointers_that_one_load_brings_are_two():
    lines = ("LDG.E.128 R4, [R2.64]", "LDG.E R8, [R4.64]", "LDG.E R8, [R6.64]", "CS2R R6, SRZ", "MOV R7, R7")
    addresses = first_addresses(evidence_of("MOV R2, 0x100", *lines, "LDG.E R8, [R7.64+0x10]").sites)
    assert len(set(addresses.values())) == 4
    assert [*addresses.values()][-1] == 0x10  # zero in both registers


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("R9, R9, R2, RZ", "R9, R9, R4, RZ"),  # another parameter
        ("CS2R R6, SRZ", "MOV R6, 0x100"),  # from another element on
        ("R7, R6, R1, RZ", "R7, R6, R0, RZ"),  # by blocks instead of threads
        ("0x2, RZ", "0x3, RZ"),  # another stride
        ("CS2R R6, SRZ", "LDS R6, [R3]"),  # where memory says
        ("CS2R R6, SRZ", "LDC R6, c[0x3][R20]"),  # where a table says
        ("0x2, RZ", "R1, RZ"),  # by a shift that nobody knows
    ],
)
def test_a_loop_that_reads_elsewhere_is_no_second_pass(old, new):
    changed = [line.replace(old, new) for line in SECOND]
    assert changed != SECOND
    assert not found(changed)


@pytest.mark.parametrize(("parameter", "is_again"), [("0x214", True), ("0x21c", False)])
def test_a_parameter_is_the_same_whether_it_is_read_alone_or_with_the_one_before_it(parameter, is_again):
    first = [*FIRST[:2], "IMAD R8, R0, 0x1000, R3", FIRST[3]]
    alone = [f"ULDC UR4, c[0x0][{parameter}]", "IMAD R8, R0, 0x1000, UR4", "LEA R8, R1, R8, 0x2"]
    evidence, _ = passes(alone, before=first)
    assert bool(find_later_passes(evidence)) == is_again


IN_PLACE = ("FMUL R10, R10, R20", "STG.E [R8.64], R10")


@pytest.mark.parametrize(
    ("what", "is_again"),
    [
        (IN_PLACE, True),
        (("STG.E [R8.64+0x4], R10",), False),  # the next turn loads what this one stores
        (("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R8.64], R10",), False),
        (("STG.E [R12.64], R10",), False),  # nobody knows where
    ],
)
def test_a_loop_that_puts_back_each_element_has_loaded_what_it_loads_before_it_stores_it(what, is_again):
    assert found(SECOND, what=what) == is_again


def test_a_loop_that_reads_another_part_is_no_second_pass():
    assert found(SECOND, sectors=3900.0)
    assert not found(SECOND, sectors=2000.0)


def test_what_was_stored_in_between_is_read_on_purpose():
    elsewhere = ["STG.E [R4.64], R20"]
    assert found(SECOND, elsewhere)
    assert not found(
        SECOND, ["MOV R8, R2", "LEA R8, R1, R8, 0x2", "IMAD R8, R0, 0x1000, R8", "STG.E [R8.64], R20"]
    )
    assert not found(SECOND, ["LDS R8, [R3]", "STG.E [R12.64], R20"])
    assert not found(SECOND, ["LDS R8, [R3]", "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R12.64], R20"])


@pytest.mark.parametrize(
    ("kibibytes", "what", "later"),
    [
        (127, (SUM,), [True]),
        (129, (SUM,), [False]),  # one loop adds up both sums
        (127, ("STG.E [R4.64], R10",), [True]),
        (129, ("STG.E [R4.64], R10",), []),  # each element waits for the sum
    ],
)
def test_what_a_block_cannot_keep_is_read_again_in_vain_where_one_loop_could_do_both(kibibytes, what, later):
    evidence, _ = passes(SECOND, what=what)
    for site in evidence.of("global load"):
        site.ideal_sectors = 50 * kibibytes * 1024 / 32  # of 50 blocks
        site.executed = site.ideal_sectors / 4
    assert list(find_later_passes(evidence).values()) == later
    candidate = next(iter(redundant_loads.detect_redundant_loads(evidence)), None)
    assert ("registers" in candidate.advice if candidate else None) == (later[0] if later else None)
    assert ("this estimate leaves it out" in candidate.advice if candidate else None) == (
        not later[0] if later else None
    )


@pytest.mark.parametrize(("moved", "saved"), [(128_000.0, 0.0), (192_000.0, 1 / 3), (256_000.0, 1 / 2)])
def test_a_second_pass_costs_device_memory_what_it_delivers_beyond_the_first(moved, saved):
    """Each loop asks for 128,000 bytes."""
    candidate = next(iter(redundant_loads.detect_redundant_loads(passes(SECOND, moved=moved)[0])))
    assert candidate.effect.resources["dram"] == pytest.approx(saved)
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(1 / 2)
    assert candidate.evidence == {"read_before_pct": 50.0}


@pytest.mark.parametrize(
    ("address", "saved"), [("R12", (192_000 - 128_000 - 64_000 / 50) / 192_000), ("R8", 0.0)]
)
def test_what_all_blocks_load_alike_needs_one_trip_and_leaves_the_rest_to_the_second_pass(address, saved):
    """Between the loops, each block loads the same 1,280 bytes, such as weights, or its own."""
    weights = ["IADD3 R12, R4, R1, RZ", f"LDG.E R14, [{address}]"]
    evidence, _ = passes(SECOND, weights, moved=192_000.0)
    (site,) = [one for one in evidence.of("global load") if one.instruction.operands[0] == "R14"]
    site.sectors = site.ideal_sectors = 2000.0
    site.width = 160  # 64,000 bytes by 400 warps
    candidate = next(iter(redundant_loads.detect_redundant_loads(evidence)))
    assert candidate.effect.resources["dram"] == pytest.approx(saved)


def test_turns_that_are_peeled_off_a_loop_under_a_predicate_are_computed_too():
    """The compiler takes the turns that do not fill its copies first: in one loop by a predicate, in the other by a branch."""
    peeled = [*SECOND, "@P1 LDG.E R11, [R8.64]", "@P1 IADD3 R8, R8, 0x400, RZ", "IADD3 R8, R8, -0x400, RZ"]
    assert found(peeled)


# Of images, a pass over the pixels of one channel in all of them: a loop over pixels in a loop over images.
IMAGES, PIXELS = 10, 100


def planes(apart, bytes_of_a_block):
    """Two passes over the pixels of all images: each in a loop over images of its own if `apart`, or both in one of them."""
    blocks, per_block = 50, 8
    warps = blocks * per_block
    lines = executing(warps, *START)
    outer = len(lines)
    lines += executing(warps * IMAGES, *FIRST)
    loads = []
    for pass_ in (FIRST, SECOND):
        if pass_ is SECOND:
            if apart:
                lines += [(f"@P0 BRA {16 * outer:#x}", warps * IMAGES), ("NOP", warps)]
                outer = len(lines)
            lines += executing(warps * IMAGES, *SECOND)
        loads.append(len(lines))
        lines += executing(
            warps * PIXELS,
            "LDG.E R10, [R8.64]",
            SUM if pass_ is FIRST else "STG.E [R4.64], R10",
            "IADD3 R8, R8, 0x400, RZ",
            f"@P1 BRA {16 * loads[-1]:#x}",
        )
    lines.append((f"@P0 BRA {16 * outer:#x}", warps * IMAGES))
    sectors = bytes_of_a_block * warps / per_block / 32
    facts = {
        place: {"sectors": sectors, "ideal_sectors": sectors, "executed": sectors / 4} for place in loads
    }
    return evidence_of(*lines, facts=facts, grid=blocks, block=32 * per_block), loads


@pytest.mark.parametrize(("kibibytes", "is_kept"), [(127, True), (129, False)])
def test_a_block_keeps_half_of_what_the_registers_of_an_sm_hold(kibibytes, is_kept):
    evidence, (_, second) = planes(True, kibibytes * 1024.0)
    assert find_later_passes(evidence) == ({evidence.sites[second]: True} if is_kept else {})


@pytest.mark.parametrize(
    ("apart", "kibibytes", "is_kept"),
    [(True, 100, True), (True, 1000, False), (False, 1000, True), (False, 2000, False)],
)
def test_a_block_keeps_what_it_reads_between_passes_and_not_what_one_turn_reads(apart, kibibytes, is_kept):
    """Of ten images, one after the other, it keeps one if the next pass reads the same one before the next image."""
    evidence, (_, second) = planes(apart, kibibytes * 1024.0)
    assert find_later_passes(evidence) == ({evidence.sites[second]: True} if is_kept else {})


@pytest.mark.parametrize(
    ("end", "going"),
    [
        ("ISETP.LT.AND P0, PT, R8, R10, PT", ["IMAD.WIDE R6, R9, 0x4, R2"]),
        ("ISETP.LT.AND P0, PT, R2, R10, PT", []),  # the step ends the loop as well
        ("STG.E [R2.64], R5", []),  # a store needs it, too
    ],
)
def test_an_address_that_leads_to_that_of_the_next_turn_goes_with_the_loads_but_for_the_step(end, going):
    turn = (
        "LDG.E R4, [R2.64]",
        "IMAD.WIDE R6, R9, 0x4, R2",
        "LDG.E R5, [R6.64]",
        "IMAD.WIDE R2, R9, 0x4, R6",
        end,
        "@P0 BRA 0x10",
    )
    evidence = evidence_of("IMAD.WIDE R2, R0, 0x4, R12", *executing(800.0, *turn), "EXIT")
    gone = find_addresses_gone(evidence, dict.fromkeys(evidence.of("global load"), 3 / 4))
    assert {site.instruction.text: part for site, part in gone.items()} == dict.fromkeys(going, 3 / 4)


# In each of four turns, a search for the next value goes through all elements of the row: 40 turns of the inner loop.
SEARCH = {
    "row": ("LDC.64 R2, c[0x0][0x210]", 100.0),
    "begin": ("MOV R8, R2", 400.0),
    "load": ("LDG.E R10, [R8.64]", 4000.0),
    "count": ("FADD R20, R20, R10", 4000.0),
    "next": ("IADD3 R8, R8, 0x4, RZ", 4000.0),
    "until": ("ISETP.LT.AND P1, PT, R8, R21, PT", 4000.0),
    "again": ("@P1 BRA 0x20", 4000.0),
    "value": ("FMUL R22, R22, R20", 400.0),
    "more": ("IADD3 R12, R12, 0x1, RZ", 400.0),
    "least": ("ISETP.LT.AND P0, PT, R12, 0x4, PT", 400.0),
    "end": ("@P0 BRA 0x10", 400.0),
    "behind": ("STG.E [R4.64], R22", 100.0),
}


def searched(kibibytes=1.0, **changed):
    """Each of 25 blocks reads so much in all turns of the outer loop together."""
    facts = {2: {"ideal_sectors": kibibytes * 1024 * 25 / 32, "width": 1024 * 1024}}
    evidence = evidence_of(*(SEARCH | changed).values(), facts=facts, grid=25, block=128)
    return {site.instruction.name: part for site, part in find_same_in_outer_turns(evidence).items()}


def test_a_row_that_each_turn_searches_anew_could_be_kept():
    assert searched() == {"LDG": 3 / 4}
    (candidate,) = redundant_loads.detect_redundant_loads(evidence_of(*SEARCH.values(), grid=25, block=128))
    assert candidate.sentence == "An inner loop reads the same data in each of 4 turns of the loop around it."


@pytest.mark.parametrize(
    "changed",
    [
        {"begin": ("IMAD R8, R12, 0x1000, R2", 400.0)},  # each turn has a row of its own
        {"begin": ("LDG.E R8, [R2.64]", 400.0)},  # data says where it is
        {"begin": ("LDS R8, [R2]", 400.0)},
        {"begin": ("NOP", 400.0)},  # it goes on where the turn before has ended
        {"until": ("ISETP.LT.AND P1, PT, R8, R12, PT", 4000.0)},  # it ends elsewhere, and would go on from there
        {"load": ("LDG.E.STRONG.GPU R10, [R8.64]", 4000.0)},  # others may have written meanwhile
        {"value": ("STG.E [R4.64], R20", 400.0)},  # each turn may change it
        {"value": ("RED.E.ADD.STRONG.GPU [R4.64], R20", 400.0)},
        {"end": ("NOP", 400.0)},  # one turn
    ],
)  # fmt: skip
def test_what_an_outer_turn_decides_is_read_for_the_first_time(changed):
    assert searched(**changed) == {}


@pytest.mark.parametrize(("kibibytes", "is_kept"), [(4 * 127, True), (4 * 129, False)])
def test_a_block_keeps_what_one_of_the_outer_turns_reads(kibibytes, is_kept):
    assert bool(searched(kibibytes)) == is_kept


@pytest.mark.parametrize(("index", "found"), [("LDS R9, [R8]", {}), ("MOV R9, R8", {"LDG": 3 / 4})])
def test_what_stands_where_the_turn_has_staged_in_shared_memory_is_read_for_the_first_time(index, found):
    """Each of four turns stages a tile of indices; an inner loop loads where these say, or where its own count says."""
    staging = ("IMAD R2, R12, 0x1000, R0", "LDG.E R3, [R2.64]", "STS [R0], R3", "BAR.SYNC 0x0", "MOV R8, RZ")
    gathering = (
        index,
        "IMAD.WIDE R10, R9, 0x4, R4",
        "LDG.E R20, [R10.64]",
        "FADD R22, R22, R20",
        "IADD3 R8, R8, 0x4, RZ",
        "ISETP.LT.AND P1, PT, R8, 0x28, PT",
        "@P1 BRA 0x70",
    )
    going_on = ("IADD3 R12, R12, 0x1, RZ", "ISETP.LT.AND P0, PT, R12, 0x4, PT", "@P0 BRA 0x20")
    evidence = evidence_of(
        *executing(100.0, "S2R R0, SR_TID.X", "MOV R12, RZ"),
        *executing(400.0, *staging),
        *executing(4000.0, *gathering),
        *executing(400.0, *going_on),
        ("STG.E [R4.64], R22", 100.0),
        grid=25,
        block=128,
    )
    assert {site.instruction.name: part for site, part in find_same_in_outer_turns(evidence).items()} == found


@pytest.mark.parametrize(("turns", "found"), [(1.9, {}), (2.0, {"LDG": 1 / 2})])
def test_what_is_read_anew_is_at_least_half_of_all_that_is_read(turns, found):
    """100 warps enter the outer loop."""
    fewer = {name: (text, 100 * turns) for name, (text, count) in SEARCH.items() if count == 400.0}
    assert searched(**fewer) == found
