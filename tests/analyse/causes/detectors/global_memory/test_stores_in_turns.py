"""Stores to one address in turns that the compiler unrolled, and values that a loop keeps in memory."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.global_memory import redundant_loads, redundant_stores

TURN = ("LDG.E R6, [R2.64]", "FADD R4, R4, R6", "STG.E [R8.64], R4")


def find_stores(*lines, **more):
    return list(redundant_stores.detect_redundant_stores(evidence_of(*lines, "EXIT", **more)))


def test_of_four_stores_in_a_row_to_one_address_the_last_one_remains():
    (candidate,) = find_stores(*TURN * 4)
    assert candidate.effect.resources["lsu"] == pytest.approx(1 / 2 * 3 / 4)


@pytest.mark.parametrize(
    "between",
    [
        "BRA 0x50",  # one store or the other
        "BAR.SYNC 0x0",  # others may read what was stored
        "IADD3 R8, P1, R8, 0x4, RZ",  # another address
        "MEMBAR.SC.GPU",
    ],
)
def test_of_two_stores_to_one_address_both_are_needed_with_something_between_them(between):
    assert find_stores(*TURN, "FADD R4, R4, R6", *TURN)
    assert not find_stores(*TURN, between, *TURN)


def test_unrolled_turns_count_beside_those_that_the_loop_makes():
    turns = (*TURN * 2, "IADD3 R2, R2, 0x4, RZ", "@P0 BRA 0x10")
    (candidate,) = find_stores("MOV R4, RZ", *executing(800.0, *turns))
    assert candidate.effect.resources["lsu"] == pytest.approx(1 / 2 * 15 / 16)


@pytest.mark.parametrize(
    ("waits", "saved"),
    [
        ((10, 10, 10, 10), 3 / 4),
        ((70, 10, 10, 10), 3 / 10),  # the first load is waited for as long as before, as for device memory
    ],
)
def test_loads_of_unrolled_turns_that_are_issued_together_wait_as_long_as_the_slowest(waits, saved):
    facts = {3 * turn + 1: {"waits": {"long_scoreboard": wait}} for turn, wait in enumerate(waits)}
    (candidate,) = find_stores(*TURN * 4, facts=facts)
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(saved)


@pytest.mark.parametrize(("stored", "saved"), [("[R8.64]", 7 / 8), ("[R10.64]", 7 / 16)])
def test_a_value_that_a_loop_keeps_in_memory_is_neither_loaded_nor_stored_in_a_register(stored, saved):
    """Half of the accesses are loads and half are stores, of which the last remains."""
    lines = ("LDG.E R6, [R8.64]", "FADD R6, R6, R4", f"STG.E {stored}, R6", "@P0 BRA 0x10")
    evidence = evidence_of("MOV R4, RZ", *executing(800.0, *lines), "EXIT")
    candidate = next(iter(redundant_loads.detect_redundant_loads(evidence)))
    assert candidate.effect.resources["lsu"] == pytest.approx(saved)


@pytest.mark.parametrize(
    ("stored", "said", "advised"),
    [
        ("[R8.64]", "A loop keeps a value in global memory", "store it once, after the loop"),
        ("[R10.64]", "A load is repeated", "`const … * __restrict__`"),
    ],
)
def test_a_value_that_a_loop_keeps_in_memory_cannot_be_declared_constant(stored, said, advised):
    turn = ("LDG.E R6, [R8.64]", "FADD R6, R6, R4", f"STG.E {stored}, R6", "@P0 BRA 0x10")
    evidence = evidence_of("MOV R4, RZ", *executing(800.0, *turn), "EXIT")
    candidate = next(iter(redundant_loads.detect_redundant_loads(evidence)))
    assert candidate.sentence.startswith(said)
    assert advised in candidate.advice


@pytest.mark.parametrize(
    ("stored", "registers", "said"),
    [("STG.E", 254.0, ""), ("STG.E", 255.0, "up to 1 registers"), ("STG.E.64", 254.0, "up to 2 registers"), ("STG.E", None, "")],
)  # fmt: skip
def test_values_that_fit_into_no_register_may_be_shared_out_among_threads(stored, registers, said):
    load = stored.replace("ST", "LD")
    turn = (f"{load} R6, [R8.64]", "FADD R6, R6, R4", f"{stored} [R8.64], R6", "@P0 BRA 0x10")
    figures = {"registers": registers} if registers else {}
    evidence = evidence_of("MOV R4, RZ", *executing(800.0, *turn), "EXIT", figures=figures)
    advice = next(iter(redundant_loads.detect_redundant_loads(evidence))).advice
    assert ("let several threads share its values" in advice) == bool(said)
    assert said in advice


@pytest.mark.parametrize(("arrived", "saved"), [(4400.0, 400 / 4400), (8000.0, 1 / 2), (None, 1 / 2)])
def test_loads_that_hit_l1_are_no_work_of_l2(arrived, saved):
    """4,000 sectors are loaded and as many stored; all that is stored goes to L2."""
    figures = {} if arrived is None else {"l2_sectors": arrived}
    facts = {0: {"sectors": 4000.0}, 1: {"sectors": 4000.0}}
    evidence = evidence_of("LDG.E R6, [R2.64]", "STG.E [R8.64], R6", facts=facts, figures=figures)
    load, store = evidence.sites
    assert evidence.without({load: 1.0}).resources["l2"] == pytest.approx(saved)
    assert evidence.without({store: 1.0}).resources["l2"] == pytest.approx(1 - saved)


@pytest.mark.parametrize(
    ("other", "between", "named"),
    [
        ("c[0x0][0x210]", "BAR.SYNC.DEFER_BLOCKING 0x0", False),
        ("c[0x0][0x218]", "BAR.SYNC.DEFER_BLOCKING 0x0", True),  # another array
        ("c[0x0][0x210]", "FADD R6, R6, R4", True),  # nobody knows when others have stored
    ],
)
def test_what_a_thread_stores_before_a_barrier_others_read_after_it(other, between, named):
    """A tree in global memory adds to each element the one at a distance that doubles in each turn."""
    before = ("LDC.64 R8, c[0x0][0x210]", f"LDC.64 R16, {other}", "ULDC.64 UR6, c[0x0][0x208]")
    turn = (
        "IMAD.WIDE R2, R20, 0x4, R16", "LDG.E R6, desc[UR6][R2.64]", "FADD R4, R4, R6", "STG.E desc[UR6][R8.64], R4",
        between, "SHF.L.U32 R20, R20, 0x1, RZ", "@P0 BRA 0x30",
    )  # fmt: skip
    assert bool(find_stores(*executing(100.0, *before), *executing(800.0, *turn))) == named


@pytest.mark.parametrize(
    ("waits", "named"),
    [
        ((5, 80), {"keeps a value": "redundant-global-stores", "Loads request": "redundant-global-loads"}),
        ((80, 5), {"keeps a value": "redundant-global-loads", "Loads request": "redundant-global-loads"}),
    ],
)
def test_a_value_that_a_loop_keeps_in_memory_is_a_cause_beside_a_tile_that_saves_more(waits, named):
    """Each turn adds what all threads load to the thread's own sum; L1 serves what they share."""
    turn = ("LDG.E R6, [R8.64]", "FADD R6, R6, 1", "LDG.E R4, [R2.64]", "FADD R6, R6, R4", "STG.E [R8.64], R6")  # fmt: skip
    lines = (*turn, "IADD3 R2, R2, 0x4, RZ", "@P0 BRA 0x10")
    facts = {place: {"sectors": 3200.0, "ideal_sectors": 3200.0} for place in (1, 3, 5)}
    facts |= {place: {"waits": {"long_scoreboard": wait}} for place, wait in zip((2, 4), waits, strict=True)}
    evidence = evidence_of(
        *("MOV R4, RZ", *executing(800.0, *lines), "EXIT"),
        facts=facts,
        figures={"l1_hit_pct": 100.0, "dram_bytes_read": 2000.0},
    )
    found = {one.sentence: one.name for one in redundant_loads.detect_redundant_loads(evidence)}
    for said, name in named.items():
        assert [found[sentence] for sentence in found if said in sentence] == [name]


@pytest.mark.parametrize(("waits", "said"), [((90, 10), "keeps a value"), ((10, 90), "is repeated")])
def test_of_a_sum_in_memory_and_another_load_that_repeats_the_larger_saving_is_named(waits, said):
    """The end of a row is loaded for each of its elements, and once more to leave the loop: it runs more often than the sum."""
    turn = (
        "LDG.E R14, [R12.64]",
        "ISETP.GE.AND P0, PT, R5, R14, PT",
        "LDG.E R6, [R8.64]",
        "FADD R6, R6, R4",
        "STG.E [R8.64], R6",
    )
    facts = {place: {"waits": {"long_scoreboard": wait}} for place, wait in zip((4, 2), waits, strict=True)}
    lines = (
        "MOV R4, RZ",
        *((line, 820.0 if place < 2 else 800.0) for place, line in enumerate(turn)),
        ("@P0 BRA 0x10", 820.0),
        "EXIT",
    )
    candidate = next(iter(redundant_loads.detect_redundant_loads(evidence_of(*lines, facts=facts))))
    assert said in candidate.sentence
    loads = {site.instruction.text for site in candidate.weights if site.kind == "global load"}
    assert loads == {"LDG.E R6, [R8.64]" if said == "keeps a value" else "LDG.E R14, [R12.64]"}


@pytest.mark.parametrize(("of_loads", "of_stores", "kind"), [(80, 10, "loads"), (10, 80, "stores")])
def test_a_sum_in_memory_is_named_for_the_stores_if_the_loads_save_less_than_half(of_loads, of_stores, kind):
    """Warps wait for what is loaded where it is added, and in the queue of accesses for the stores before theirs."""
    turn = ("LDG.E R6, [R8.64]", "FADD R6, R6, R4", "STG.E [R8.64], R6", "@P0 BRA 0x10")
    facts = {
        1: {"sectors": 800.0},
        2: {"waits": {"long_scoreboard": of_loads}},
        3: {"sectors": 25_600.0, "waits": {"lg_throttle": of_stores}},
    }
    lines = ("MOV R4, RZ", *executing(800.0, *turn), "EXIT")
    candidate = next(iter(redundant_loads.detect_redundant_loads(evidence_of(*lines, facts=facts))))
    assert candidate.name == f"redundant-global-{kind}"


def test_sums_that_an_unrolled_loop_finds_anew_in_each_turn_of_the_loop_around_it_are_kept_in_memory():
    """`for (s) for (c) out[c] += …`, of which only the outer loop is left: it computes the places of the sums from the same values."""
    turn = (
        "UMOV UR4, URZ",
        "IMAD.WIDE R8, R5, UR4, R14",
        "LDG.E R6, [R8.64]",
        "FADD R6, R6, R4",
        "STG.E [R8.64], R6",
        "UIADD3 UR4, UR4, 0x1, URZ",
        "IMAD.WIDE R8, R5, UR4, R14",
        "LDG.E R7, [R8.64+0x4]",
        "FADD R7, R7, R4",
        "STG.E [R8.64+0x4], R7",
        "@P0 BRA 0x10",
    )
    evidence = evidence_of("MOV R4, RZ", *executing(800.0, *turn), "EXIT")
    candidate = next(iter(redundant_loads.detect_redundant_loads(evidence)))
    assert "keeps a value in global memory" in candidate.sentence
    assert candidate.effect.resources["lsu"] == pytest.approx(7 / 8)
