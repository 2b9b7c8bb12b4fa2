"""A cause that may hold, as its detector states it: what the change would take away, where, and in which words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from profiler.analyse.causes.cause import is_ceiling
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import PASS_BYTES, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.words.triton import IN_TRITON
from profiler.analyse.recording.languages import Language
from profiler.catalog.metrics import LANES

# How many elements, loads or buffers take turns is the programmer's choice. Eight are assumed: they save seven eighths of what
# each costs by itself. Four would leave a quarter of that cost and sixteen a sixteenth, so another choice is off by an eighth of
# it at most.
EIGHTFOLD = 7 / 8
# Arithmetic has its result after four cycles, which four chains fill (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture
# via Microbenchmarking", 2018). A wait behind a scoreboard takes longer, and four chains leave a quarter of it.
FOUR_CHAINS = 3 / 4
# Cycles for which a warp's instruction takes its scheduler's pipe (CUDA C++ Programming Guide, "Arithmetic Instructions": 128 and 64
# results a cycle and SM).
CYCLES: Mapping[str, int] = {"fma": 1, "alu": 2}
WIDEST_BITS = 128  # of one access of a thread
# For such a load from shared memory, if each lane has a place of its own.
PASSES_OF_WIDEST = LANES * WIDEST_BITS // 8 // PASS_BYTES
# The part of the time that is worth a change: less is within the noise of a measurement.
WORTH_A_CHANGE = 0.03
# A fact that two detectors state: the rows of a block do the same along this axis, or all blocks do.
SAME_ALONG = "the same along {}"
# The blocks that are advised have 128 to 256 threads.
ENOUGH_THREADS = 256


@dataclass(frozen=True, eq=False)
class Candidate:
    """`weights` say how much each site contributes. `saves` and `at_most` replace the model's figures where the effect is on no resource.

    `regrouped` gives, for some resources, the part of their work that the change may remove as a side effect. The estimate does not count
    on it. The bound allows for it.

    A candidate for a ceiling names the `resource` that is at it, and comes first, unless a last round of blocks costs a tenth of the time.
    """

    name: str
    sentence: str
    advice: str
    effect: Effect = field(default_factory=Effect)
    weights: Mapping[Site, float] = field(default_factory=dict)
    evidence: Mapping[str, float] = field(default_factory=dict)
    saves: float | None = None
    at_most: float | None = None
    regrouped: Mapping[str, float] = field(default_factory=dict)
    resource: str = ""  # that is at its ceiling
    blames_lines: bool = False  # of a cause of the whole kernel: whether it is known where in it
    includes: str = ""  # another cause that the same change removes: the effect contains a part of it already
    in_triton: str = ""  # the advice in words of Triton, where the cause has several
    fact: str = ""  # of causes with the same fact and the same advice, only the first that is named states it

    @property
    def is_ceiling(self) -> bool:
        return is_ceiling(self.name)

    def advice_in(self, language: Language) -> str:
        """Returns the advice, which is in the kernel's words already; in Triton, the change may be another one."""
        in_triton = self.in_triton or IN_TRITON.get(self.name, "")
        return in_triton if in_triton and language == "Triton" else self.advice


Detector = Callable[[Evidence], Iterable[Candidate]]


def are_most(weights: Mapping[Site, float], some: Iterable[Site]) -> bool:
    """Returns whether some instructions have more than half of the weight of all."""
    return 2 * sum(weights[site] for site in some) > sum(weights.values())
