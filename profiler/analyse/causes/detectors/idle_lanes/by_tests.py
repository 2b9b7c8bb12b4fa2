"""Says why tests turn lanes off: because of data, of turns before, or of the thread's index. Each reason has a remedy of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from types import MappingProxyType
from typing import NamedTuple

from profiler.analyse.causes.detectors.candidate import are_most
from profiler.analyse.causes.detectors.idle_lanes.steps import is_broadcast
from profiler.analyse.causes.detectors.idle_lanes.turned_off import (
    BY_SIZE,
    TurnedOff,
    find_turned_off,
    setter_of,
)
from profiler.analyse.causes.detectors.sharing_out import SHARE_TURNS, TAKE_NEXT
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.arithmetic.shared_turns import goes_on_from_turn_before
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike
from profiler.analyse.causes.flow.branch_conditions import (
    adds,
    find_feeding,
    is_decided_by_loads,
    is_decided_by_thread,
    is_decided_in_turns_before,
)
from profiler.analyse.causes.flow.dataflow import OF_BLOCK, choosers_of
from profiler.analyse.causes.flow.lane_values import find_differing
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.working_blocks import count_waves
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

# Opcodes of these kinds make indices.
_OF_INDICES: tuple[Kind, ...] = ("integer", "mio", "other")
_OF_BITS = ("LOP3", "SHF")

_NEARLY_WHOLE = 0.1  # a thread: means over many warps are not exact

ONE_ALONE = (
    "One lane of a warp does all of its work",
    "Let all lanes take part: give each its share of the elements, and combine what they have by shuffles ({}).",
)
BY_DATA = (
    "A test of data sends lanes past what others of their warp do",
    "Find out first for which elements the test holds, such as the neighbours within reach, and let the lanes of a warp take one of these each; or "
    "sort the data, so that neighbours decide alike.",
    "Find out first for which elements the test holds, and let programs take only these; or sort the data, so that neighbours decide alike.",
)
_BY_TURNS_BEFORE = (
    "A test of what turns before have left sends lanes past what others of their warp do",
    "Make what stands behind this test short, such as a formula instead of a loop, so that all lanes can compute it and select a result. Or gather the "
    "elements that come to it, so that neighbouring lanes take them.",
)
_BY_INDEX = (
    "A test of the thread's index in its block leaves {} without work{}",
    "Let all threads of a block do what stands behind this test: give the block as many threads as that has elements, or let each take several. If another "
    "step has more elements, such as a tile with its edges, let the threads go through these in a loop.",
)
_IN_LAST_WARP = (
    "A block of fewer threads would have as many warps: choose the tile so that a multiple of 32 threads have work, or let a block take several such pieces, "
    "numbered through, so that only its last warp has lanes without work."
)
_A_THREAD_FOR_EACH = (
    "One thread of a {0} does all of its work",
    "Give each thread the work that a {0} has now{1}, and launch as many fewer blocks.",
)
_BLOCK_OF_RESULTS = "Let each program compute a block of results (`tl.arange`) instead of one."
LEAVING = "Lanes leave a loop before others of their warp do, which go on without them"
_NO_WORK = (
    "Lanes have nothing to do while their warp executes",
    "Give all lanes of a warp work: let the threads that work be neighbours, end the others' warps, and let each thread take more elements.",
)


class Form(NamedTuple):
    """Why lanes have nothing to do, what to do about it, also in words of Triton, and the tests that turn the lanes off, if these say where.

    If values are to be exchanged by shuffles, their passes through shared memory go, whichever banks they meet in. The change leaves so
    many `warps` in place of each.
    """

    sentence: str
    advice: str
    in_triton: str = ""
    turned_off: TurnedOff = MappingProxyType({})
    is_by_shuffles: bool = False
    warps: float = 1.0


def say_by_tests(
    evidence: Evidence, idle: Mapping[Site, float], of_one: Set[Site], *, are_passed_by: bool
) -> Form:
    """Returns the form of lanes that are turned off, by what most of the tests depend on that do so.

    If lanes are known to be sent past most of the code by data, the tests are only asked for the place.
    """
    turned_off = find_turned_off(evidence, idle)
    lost = {test: sum(behind.values()) for test, behind in turned_off.items()}
    of_work = {site: part * site.executed for site, part in idle.items() if site.idle_share}

    def most_by(decides: Callable[[Site], bool]) -> TurnedOff:
        chosen = {test: behind for test, behind in turned_off.items() if decides(test)}
        return chosen if 2 * sum(lost[test] for test in chosen) > sum(of_work.values()) else {}

    ends = {
        evidence.inside(loop)[-1]
        for loops in evidence.loops.values()
        for loop in loops
        if evidence.inside(loop)
    }
    if not are_passed_by and (by_turns := most_by(ends.__contains__)):
        return say_of_turns(evidence, by_turns)
    by_data = most_by(
        lambda test: test.kind == "control" and test not in ends and is_decided_by_data(evidence, test)
    )
    if by_data or are_passed_by:
        return Form(*BY_DATA, turned_off=by_data)
    if before := most_by(lambda test: test not in ends and is_decided_in_turns_before(evidence, test)):
        return Form(*_BY_TURNS_BEFORE, turned_off=before)
    if are_most(of_work, of_one & of_work.keys()):
        return _say_of_one_thread(evidence, of_one, turned_off)
    if by_index := most_by(lambda test: _is_by_size(evidence, test)):
        return Form(*_say_by_index(evidence, by_index), turned_off=by_index)
    return Form(*_NO_WORK)


def say_of_turns(evidence: Evidence, left: TurnedOff) -> Form:
    """Returns the form of lanes that leave loops before others, by the ends of these loops.

    If each turn goes on from the one before, a lane can only take its next piece of work instead, and fewer lanes take as many
    pieces. Once each has a single one, the longest piece takes as long as it did.
    """
    loops = {end: evidence.innermost_loop(end) for end in left}
    lost = {end: sum(behind.values()) for end, behind in left.items()}
    going_on = (end for end, loop in loops.items() if loop and goes_on_from_turn_before(evidence, loop))
    if not are_most(lost, going_on):
        return Form(LEAVING, SHARE_TURNS, turned_off=left)
    heaviest = max(left, key=lambda end: lost[end])
    loop = loops[heaviest]
    before = evidence.last_before(heaviest.function, loop) if loop else None
    pieces = before.executed / evidence.shape.warps if before and evidence.shape else 1.0
    kept = 1 - sum(lost.values()) / evidence.executed
    rounds = max(1.0, pieces) * count_waves(evidence)
    return Form(LEAVING, TAKE_NEXT, turned_off=left, warps=min(1.0, rounds * kept) if rounds else 1.0)


def is_decided_by_data(evidence: Evidence, branch: Site) -> bool:
    """Returns whether a branch is decided by loaded data, and not only by the length of a row that lanes share out.

    Floats that are made of what shared memory holds are data, too: an index or a size is an integer.
    """
    choosers = choosers_of(evidence, branch)
    compares_floats = any(one.kind in ("fp32", "fp64") for one in choosers) and any(
        one.kind == "shared load" for one in find_feeding(evidence, choosers)
    )
    return (compares_floats or is_decided_by_loads(evidence, branch)) and not is_decided_by_lane(
        evidence, branch
    )


def is_decided_by_lane(evidence: Evidence, test: Site) -> bool:
    """Returns whether a test asks how far the lane's index has come, and for nothing else that differs between the lanes of a warp.

    What all lanes load alike is then a length, and no word of which each lane takes a bit.
    """
    deciding = [test]
    if test.kind == "control":
        before = setter_of(evidence, test)
        deciding = choosers_of(evidence, test) or ([before] if before else [])
    own = find_differing(evidence) & find_feeding(evidence, deciding)
    takes_bits = any(one.instruction.name in _OF_BITS and len(one.use.inputs) > 1 for one in own)
    return bool(own) and all(
        (is_broadcast(one) and not takes_bits)
        or (one.kind in _OF_INDICES and (adds(one) or not is_carried(evidence, one)))
        for one in own
    )


def _is_by_size(evidence: Evidence, test: Site) -> bool:
    """Returns whether a test lets the threads up to some index of their block go on, or those from there on."""
    deciding = choosers_of(evidence, test) if test.kind == "control" else [test]
    return any(one.opcode.startswith(BY_SIZE) for one in deciding) and is_decided_by_thread(evidence, test)


def _say_by_index(evidence: Evidence, by_index: TurnedOff) -> tuple[str, str]:
    """Returns the sentence for tests of the thread's index, with the threads that the heaviest leaves without work, and the advice."""
    test = max(by_index, key=lambda one: sum(by_index[one].values()))
    behind = by_index[test]
    off = sum(behind.values()) / sum(site.executed for site in behind) * LANES / (test.lanes or LANES)
    sites, whole = evidence.by_function[test.function], ""
    if test.kind == "control":
        going_on = sites[evidence.place(test, sites) + 1].executed / test.executed
        off = 1 - going_on * (1 - off)
        away = whole_percent(100 * (1 - going_on))
        whole = "" if away == "0" else f", and {away} % of the warps as a whole"
    threads = evidence.shape.threads if evidence.shape else 0
    idle = off * threads
    is_whole = threads and abs(idle - round(idle)) < _NEARLY_WHOLE
    who = (
        f"{round(idle):,} of {threads:,} threads"
        if is_whole
        else f"{whole_percent(100 * off)} % of the threads"
    )
    advice = _IN_LAST_WARP if is_whole and round(idle) < LANES and not threads % LANES else _BY_INDEX[1]
    return _BY_INDEX[0].format(who, whole), advice


def _say_of_one_thread(evidence: Evidence, of_one: Set[Site], turned_off: TurnedOff) -> Form:
    """Returns the form of one lane that does all of its warp's work by itself.

    If there are enough blocks or warps, and each has work of its own, threads can take the places of these. If not, the lanes have
    to share the work out.
    """
    if evidence.of("barrier") or any(site not in of_one for site in evidence.of(*ACCESSES)):
        return Form(*_NO_WORK)
    share = Form(ONE_ALONE[0], ONE_ALONE[1].format(evidence.words.shuffle_down), turned_off=turned_off)
    shape, stores = evidence.shape, evidence.of("global store")
    reading = [site for site in evidence.sites if OF_BLOCK in site.instruction.text]
    behind = [site for sites in turned_off.values() for site in sites if not evidence.innermost_loop(site)]
    if not (shape and stores and reading and behind):
        return share
    is_of_block = max(site.executed for site in behind) <= shape.blocks
    taking_part = shape.blocks if is_of_block else shape.warps
    if taking_part < LANES * (evidence.find("sms") or 0.0) or any(
        count_blocks_alike(evidence, one) > 1 for one in stores
    ):
        return share
    words, instead = evidence.words, ""
    if is_of_block and all(f"{OF_BLOCK}.X" in one.instruction.text for one in reading):
        instead = f" ({words.thread_of_grid} in place of {words.block_in_x})"
    sentence, advice = (
        text.format("block" if is_of_block else "warp", instead) for text in _A_THREAD_FOR_EACH
    )
    lost = {site: sum(one.get(site, 0.0) for one in turned_off.values()) for site in of_one}
    return Form(sentence, advice, _BLOCK_OF_RESULTS, {reading[0]: lost})
