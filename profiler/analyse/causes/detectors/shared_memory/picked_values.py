"""Detects loops in whose turns a block finds by an exchange what belongs to the turn's number, where a table would do."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.turns import as_figure, each_turn, known_turns
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import SHARED, Site
from profiler.analyse.causes.flow.dataflow import changed_in, choosers_of, find_writers, reach
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.staging import TURNS_WORTH_IT, stored_registers
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import REGISTER

_PASSING = ("MOV", "IMAD.MOV", "R2UR")
# They make one value of two: with zeros, or with values that are the smallest, the other one is left.
_JOINING = ("FADD", "DADD", "HADD2", "IADD3", "IMAD.X", "IMAD.IADD", "FMNMX", "VIMNMX", "IMNMX", *_PASSING)
_COUNTING = ("IADD3", "UIADD3", "VIADD", "IMAD.IADD", "IMAD.X", "MOV", "UMOV", "IMAD.MOV")
_EQUAL = ".EQ."
_TESTS = ("ISETP.EQ.", "ISETP.NE.")
_OF_A_WARP = ("SHFL", "REDUX")
_SELECTS = ("SEL", "FSEL")
# What runs in fewer of the turns is behind a branch.
_HALF = 1 / 2


def detect_picked_values(evidence: Evidence) -> Iterable[Candidate]:
    """Names loops in each turn of which the threads of a block add up what they hold for the turn's number, and nothing for another.

    Before the loop, each thread could store what it holds in a table in shared memory, at its own number. Each turn then reads one
    place of it, without shuffles or barriers.
    """
    fractions: dict[Site, float] = {}
    most, said = 0.0, None
    for loop in evidence.loops_around(evidence.of("barrier")):
        exchanging = _Picking(evidence, loop).find_exchange()
        turns = evidence.turns(exchanging[0], loop) if exchanging else 0.0
        if turns >= TURNS_WORTH_IT:
            fractions |= dict.fromkeys(exchanging, 1 - 1 / turns)
            if turns > most:
                most, said = turns, known_turns(evidence, loop, turns)
    if fractions:
        yield Candidate(
            "redundant-shared-accesses",
            f"In {each_turn(said)}, the threads of a block exchange values and meet at barriers, only to find what one of them "
            "holds for the number of the turn: all others give nothing.",
            "Let each thread store what it holds in a table in shared memory before the loop, at its own number: each turn then reads one place, "
            "without a barrier. Or let the threads work on all numbers at once, without the loop.",
            evidence.without(fractions),
            {site: evidence.charged[site].total or site.executed for site in fractions},
            as_figure(said),
            in_triton="Compute with whole blocks instead of a number a turn; or load the one value of a turn (`tl.load(pointer + k)`, which the "
            "caches serve) instead of picking it from a block by `tl.sum(tl.where(…))`, and prepare before the launch which numbers a program has.",
        )


class _Picking:
    """Follows through the turns of a loop what its threads exchange, as long as it is made of picked values."""

    def __init__(self, evidence: Evidence, loop: Loop) -> None:
        self.evidence, self.loop = evidence, loop
        self.held: set[str] = set()  # registers with picked values, or what was made of them
        self.found: list[Site] = []
        self.loads: set[Site] = set()
        self.loaded: dict[str, Site] = {}  # what a register holds of them
        self.passed_on: set[Site] = set()

    def find_exchange(self) -> list[Site]:
        """Returns what exchanges picked values; nothing if the threads exchange others, too, or meet for other reasons.

        The last loads stay: they stand for those from the table.
        """
        inside = [
            site
            for site in self.evidence.inside(self.loop)
            if self.evidence.innermost_loop(site) == self.loop
        ]
        most = max(site.executed for site in inside)
        if not all(self._goes_on(site) for site in inside if site.executed > _HALF * most):
            return []
        last = self.loads - self.passed_on
        has_all = self.passed_on and last and any(site.kind == "shared store" for site in self.found)
        return [site for site in self.found if site not in last] if has_all else []

    def _goes_on(self, site: Site) -> bool:
        one, written = site.instruction, site.use.written
        takes = not self.held.isdisjoint(site.use.inputs)
        if site.kind == "barrier":
            self.found.append(site)
        elif one.name in _SELECTS and not takes and self._picks(site):
            self._hold(site)
        elif one.name in _OF_A_WARP or (takes and self._joins(site)):
            if not takes:
                return False
            self._pass_on(site)
            self._hold(site)
        elif site.kind == "shared store":
            if not stored_registers(one) <= self.held:
                return False
            self._pass_on(site)
            self.found.append(site)
        elif site.kind == "shared load":
            self._hold(site)
            self.loads.add(site)
            self.loaded |= dict.fromkeys(written, site)
        elif site.kind in SHARED:
            return False
        else:
            self._forget(site)
        return True

    def _forget(self, site: Site) -> None:
        self.held -= set(site.use.written)
        for name in site.use.written:
            self.loaded.pop(name, None)

    def _hold(self, site: Site) -> None:
        self._forget(site)
        self.found.append(site)
        self.held |= set(site.use.written)

    def _pass_on(self, site: Site) -> None:
        self.passed_on |= {self.loaded[name] for name in site.use.inputs if name in self.loaded}

    def _joins(self, site: Site) -> bool:
        """Returns whether an instruction makes one value of picked ones, or hands one on."""
        return site.instruction.opcode.startswith(_JOINING) and site.use.inputs <= self.held

    def _picks(self, site: Site) -> bool:
        """Returns whether a thread takes a value from before the loop where a number of its own is that of the turn, and a constant elsewhere."""
        _, first, second, chooser = site.instruction.operands[:4]
        direct = choosers_of(self.evidence, site)
        if len(direct) != 1 or not changed_in(self.loop).isdisjoint(REGISTER.findall(f"{first} {second}")):
            return False
        is_first = (_EQUAL in direct[0].opcode) != chooser.startswith("!")
        elsewhere = second if is_first else first
        tests = reach(direct, lambda one: choosers_of(self.evidence, one))
        return (
            not REGISTER.search(elsewhere)
            and all(one.opcode.startswith(_TESTS) for one in tests)
            and any(self._is_of_number(one) for one in tests)
        )

    def _is_of_number(self, test: Site) -> bool:
        """Returns whether threads compare a number of their own with one that only counts the turns."""
        counting = reach(self._sources_in_turns(test), self._sources_in_turns)
        return (
            test in find_differing_in_block(self.evidence)
            and any(is_carried(self.evidence, one) for one in counting)
            and all(one.instruction.opcode.startswith(_COUNTING) for one in counting)
        )

    def _sources_in_turns(self, site: Site) -> list[Site]:
        """Returns the instructions of the loop that wrote what this one reads, in the same turn or in the one before."""
        sites = self.evidence.by_function[site.function]
        here = self.evidence.place(site, sites)
        writers = (
            sites[place]
            for name in site.use.inputs
            for place in find_writers(self.evidence, sites, here, name)
        )
        return [one for one in writers if one.instruction in self.loop]
