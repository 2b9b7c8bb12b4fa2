"""What has been published about these kernels, each claim with the verdict that the recorded runs give.

A claim is data: its sentence, a command that shows what is behind the verdict, and a function of what is recorded. A claim
about a step of a ladder has the verdict of `prof ladder --ideas`, which holds a claimed factor to a tenth of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from profiler.analyse.code.hot_loop import LoopSheet, derive_loop_sheet, read_counted_code
from profiler.analyse.ladder.climb import Climb
from profiler.analyse.ladder.ideas import BAND, Idea, Story, derive_ideas
from profiler.analyse.ladder.ladder import RungFinding
from profiler.analyse.ladder.rungs import Rung
from profiler.ask.ladder import find_climb
from profiler.catalog.ladders.ladder import LADDER_FILE
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import ProfError
from profiler.present.render.markdown import markdown_table
from profiler.store.runs.run_store import RunStore

Word = Literal["reproduced", "contradicted", "depends", "not looked at"]

_OF_STORY: Mapping[Story, Word] = {
    "holds": "reproduced",
    "direction only": "depends",
    "does not hold": "contradicted",
    "unclear": "depends",
    "not published": "not looked at",
}


@dataclass(frozen=True)
class Verdict:
    word: Word
    evidence: str


class NotRecordedError(Exception):
    """Nothing is recorded that could decide the claim."""


@dataclass(frozen=True)
class Claim:
    id: str
    says: str
    command: str = ""
    judge: Callable[[Recorded], Verdict] | None = None  # None: nobody has looked


class Recorded:
    """What the runs hold, by ladder and rung; whatever is missing raises NotRecordedError."""

    def __init__(self, kernels: Path, store: RunStore) -> None:
        self._kernels, self._store = kernels, store
        self._climbs: dict[tuple[str, tuple[tuple[str, int], ...]], Climb] = {}

    def climb(self, ladder: str, **workload: int) -> Climb:
        key = ladder, tuple(sorted(workload.items()))
        if key not in self._climbs:
            try:
                file = read_ladder(self._kernels / ladder / LADDER_FILE)
                self._climbs[key] = find_climb(self._store, file, workload or None)
            except ProfError as error:
                raise NotRecordedError(str(error)) from None
        return self._climbs[key]

    def rung(self, ladder: str, kernel: int, **workload: int) -> tuple[Rung, RungFinding]:
        climb = self.climb(ladder, **workload)
        for rung, found in zip(climb.rungs, climb.finding.kernels, strict=True):
            if found.kernel == kernel:
                return rung, found
        raise NotRecordedError(f"{ladder} {kernel}")

    def mean(self, ladder: str, kernel: int, metric: str, **workload: int) -> float:
        series = self.rung(ladder, kernel, **workload)[0].profile.series
        if metric not in series:
            raise NotRecordedError(f"{metric} of {ladder} {kernel}")
        return series[metric].mean

    def change(self, ladder: str, before: int, after: int, metric: str) -> tuple[float, float]:
        return self.mean(ladder, before, metric), self.mean(ladder, after, metric)

    def pct(self, ladder: str, kernel: int, **workload: int) -> float:
        """The speed in percent of the reference that was timed beside it."""
        found = self.rung(ladder, kernel, **workload)[1].reference_pct
        if found is None:
            raise NotRecordedError(f"times of {ladder} {kernel}")
        return found

    def gbs(self, ladder: str, kernel: int) -> float:
        found = self.rung(ladder, kernel)[1].gbytes_per_s
        if found is None:
            raise NotRecordedError(f"times of {ladder} {kernel}")
        return found

    def times(self, ladder: str, before: int, after: int, **workload: int) -> float:
        """How many times as fast the second rung is."""
        pair = [self.rung(ladder, kernel, **workload)[1].duration_ns for kernel in (before, after)]
        if not all(pair):
            raise NotRecordedError(f"times of {ladder} {before} and {after}")
        return pair[0] / pair[1]

    def executed(self, ladder: str, kernel: int, opcode: str) -> float:
        """Warp instructions of exactly this opcode in a launch."""
        return self.rung(ladder, kernel)[0].profile.opcodes.get(opcode, 0.0)

    def loop(self, ladder: str, kernel: int) -> LoopSheet:
        profile = self.rung(ladder, kernel)[0].profile
        return derive_loop_sheet(profile, read_counted_code(profile))

    def idea(self, ladder: str, kernel: int) -> Idea:
        for one in derive_ideas(self.climb(ladder)).ideas:
            if one.kernel == kernel:
                return one
        raise NotRecordedError(f"{ladder} {kernel}")

    def loads_in_ptx(self, kernel: int) -> dict[int, int]:
        """How many loads from shared memory of each width, in bits, the PTX of a GEMM rung has, by `widths.py`."""
        path = Path(str(self._store.root)) / "checks/gemm-ptx.json"
        rungs = json.loads(path.read_text()) if path.exists() else {}
        if str(kernel) not in rungs:
            raise NotRecordedError(f"PTX of gemm {kernel}")
        return {int(bits): count for bits, count in rungs[str(kernel)].items()}

    def check(self, ladder: str, kernel: int) -> dict[str, Any]:
        """What `prof verify` found of a rung, as stored beside the runs."""
        path = Path(str(self._store.root)) / "checks" / f"{ladder}.json"
        rows = json.loads(path.read_text()) if path.exists() else []
        for row in rows:
            if row["kernel"] == kernel:
                return dict(row)
        raise NotRecordedError(f"verification of {ladder} {kernel}")


def step(ladder: str, *kernels: int) -> Callable[[Recorded], Verdict]:
    """Judges steps of a ladder as `prof ladder --ideas` does; of several, the least certain verdict counts."""

    def judge(recorded: Recorded) -> Verdict:
        ideas = [recorded.idea(ladder, kernel) for kernel in kernels]
        words = [_OF_STORY[one.story] for one in ideas]
        order: tuple[Word, ...] = ("not looked at", "contradicted", "depends", "reproduced")
        word = min(words, key=order.index) if len(set(words)) > 1 else words[0]
        return Verdict(
            "depends" if len(set(words)) > 1 and "not looked at" not in words else word,
            "; ".join(map(_step_text, ideas)),
        )

    return judge


def _step_text(idea: Idea) -> str:
    if idea.speedup is None:
        return f"{idea.name}: not measured"
    claimed = f", {idea.published.ratio:.2f}x claimed" if idea.published else ""
    return f"{idea.name}: {idea.speedup.ratio:.3f}x here{claimed}"


def factor(here: float, claimed: float, evidence: str) -> Verdict:
    """Judges a claimed ratio by the band of `prof ladder --ideas`."""
    if 1 / BAND <= here / claimed <= BAND:
        return Verdict("reproduced", evidence)
    same_way = (here > 1) == (claimed > 1)
    return Verdict("depends" if same_way else "contradicted", evidence)


def decide(holds: bool, evidence: str, otherwise: Word = "contradicted") -> Verdict:
    return Verdict("reproduced" if holds else otherwise, evidence)


def judge_claim(claim: Claim, recorded: Recorded) -> Verdict:
    if claim.judge is None:
        return Verdict("not looked at", "")
    try:
        return claim.judge(recorded)
    except NotRecordedError:
        return Verdict("not looked at", "")


def claims_table(kernels: Path, store: RunStore, claims: tuple[Claim, ...]) -> str:
    """One row a claim: what it says, the verdict, the figures behind it, and the command that shows them."""
    recorded = Recorded(kernels, store)
    rows = []
    for claim in claims:
        verdict = judge_claim(claim, recorded)
        rows.append((claim.id, claim.says, verdict.word, verdict.evidence, claim.command))
    return markdown_table(("", "claim", "verdict", "here", "command"), rows)
