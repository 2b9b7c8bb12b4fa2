"""Judges what has been published about these kernels by the recorded runs.

A claim is data: its sentence, a command that shows what is behind the verdict, and a function of what is recorded. A claim
about a step of a ladder has the verdict of `prof ladder --ideas`, which holds a claimed factor to a tenth of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from recorded_tables import prose, recorded_climb, table_text

from profiler.analyse.code.hot_loop import LoopSheet, derive_loop_sheet
from profiler.analyse.code.regions import read_counted_code
from profiler.analyse.ladder.climb import Climb
from profiler.analyse.ladder.ideas import Idea, Story, derive_ideas, judge_story
from profiler.analyse.ladder.ladder import RungFinding
from profiler.analyse.ladder.rungs import Rung
from profiler.catalog.ladders.ladder import LADDER_FILE
from profiler.errors import ProfError

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


@dataclass(frozen=True)
class Recorded:
    """Reads figures from the runs by ladder and rung; raises NotRecordedError for what is missing."""

    kernels: Path
    runs: Path

    def climb(self, ladder: str, **workload: int) -> Climb:
        try:
            return recorded_climb(self.kernels / ladder / LADDER_FILE, self.runs, **workload)
        except ProfError as error:
            raise NotRecordedError(str(error)) from None

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

    def _timed(self, figure: str, ladder: str, kernel: int, **workload: int) -> float:
        found = getattr(self.rung(ladder, kernel, **workload)[1], figure)
        if not found:
            raise NotRecordedError(f"times of {ladder} {kernel}")
        return float(found)

    def pct(self, ladder: str, kernel: int) -> float:
        """The speed in percent of the reference that was timed beside it."""
        return self._timed("reference_pct", ladder, kernel)

    def gbs(self, ladder: str, kernel: int) -> float:
        return self._timed("gbytes_per_s", ladder, kernel)

    def times(self, ladder: str, before: int, after: int, **workload: int) -> float:
        """How many times as fast the second rung is."""
        first, second = (self._timed("duration_ns", ladder, one, **workload) for one in (before, after))
        return first / second

    def executed(self, ladder: str, kernel: int, opcode: str) -> float:
        """Warp instructions of exactly this opcode in a launch."""
        return self.rung(ladder, kernel)[0].profile.opcodes.get(opcode, 0.0)

    def loop(self, ladder: str, kernel: int) -> LoopSheet:
        profile = self.rung(ladder, kernel)[0].profile
        return derive_loop_sheet(profile, read_counted_code(profile))

    def idea(self, ladder: str, kernel: int, **workload: int) -> Idea:
        for one in derive_ideas(self.climb(ladder, **workload)).ideas:
            if one.kernel == kernel:
                return one
        raise NotRecordedError(f"{ladder} {kernel}")

    def loads_in_ptx(self, kernel: int) -> dict[int, int]:
        """Returns how many loads from shared memory of each width, in bits, a GEMM rung has in PTX: `widths.py` counts them."""
        path = self.runs / "checks/gemm-ptx.json"
        rungs = json.loads(path.read_text()) if path.exists() else {}
        if str(kernel) not in rungs:
            raise NotRecordedError(f"PTX of gemm {kernel}")
        return {int(bits): count for bits, count in rungs[str(kernel)].items()}

    def check(self, ladder: str, kernel: int) -> dict[str, Any]:
        """Returns what `prof verify` found about a rung, which is stored beside the runs."""
        path = self.runs / "checks" / f"{ladder}.json"
        rows = json.loads(path.read_text()) if path.exists() else []
        for row in rows:
            if row["kernel"] == kernel:
                return dict(row)
        raise NotRecordedError(f"verification of {ladder} {kernel}")


def step(
    ladder: str, *kernels: int, more: Callable[[Recorded], str] | None = None, **workload: int
) -> Callable[[Recorded], Verdict]:
    """Judges steps of a ladder as `prof ladder --ideas` does; where they differ, it depends. `more` says more about them."""

    def judge(recorded: Recorded) -> Verdict:
        ideas = [recorded.idea(ladder, kernel, **workload) for kernel in kernels]
        words = {_OF_STORY[one.story] for one in ideas}
        text = "; ".join([*map(_step_text, ideas), *([more(recorded)] if more else [])])
        if "not looked at" in words:
            return Verdict("not looked at", text)
        return Verdict(words.pop() if len(words) == 1 else "depends", text)

    return judge


def _step_text(idea: Idea) -> str:
    if idea.speedup is None:
        return f"{idea.name}: not measured"
    claimed = f", {idea.published.ratio:.2f}x claimed" if idea.published else ""
    return f"{idea.name}: {idea.speedup.ratio:.3f}x here{claimed}"


def factor(here: float, claimed: float, evidence: str) -> Verdict:
    """Judges a claimed gain as `prof ladder --ideas` does, where the two rungs are no step of a ladder."""
    story = judge_story("faster", "better" if here > 1 else "worse", here, claimed)
    return Verdict(_OF_STORY[story], evidence)


def decide(holds: bool, evidence: str, otherwise: Word = "contradicted") -> Verdict:
    return Verdict("reproduced" if holds else otherwise, evidence)


def judge_claim(claim: Claim, recorded: Recorded) -> Verdict:
    if claim.judge is None:
        return Verdict("not looked at", "")
    try:
        return claim.judge(recorded)
    except NotRecordedError:
        return Verdict("not looked at", "")


def claims_table(recorded: Recorded, claims: tuple[Claim, ...]) -> str:
    """One row a claim: what it says, the verdict, the figures behind it, and the command that shows them."""
    rows = []
    for claim in claims:
        verdict = judge_claim(claim, recorded)
        command = f"`{claim.command}`" if claim.command else ""
        rows.append((claim.id, prose(claim.says), verdict.word, prose(verdict.evidence), command))
    return table_text(("", "claim", "verdict", "here", "command"), rows)
