"""Says how many turns a loop of the source makes, where its machine code shows that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.flow.reduction_trees import Tree, copies_in


def known_turns(evidence: Evidence, tree: Tree) -> float | None:
    """Returns the turns of a tree's loop; None where it may be unrolled, so that each turn of the machine code is several of the source.

    Where a barrier, a store or a load stands in it once, only loops within it are unrolled. Several may also be those of a function that is
    called twice: a number that may be wrong is not said.
    """
    fewest = min(copies_in(evidence, tree.loop).values(), default=1)
    return tree.turns if tree.exchanges == fewest == 1 else None


def _each_turn(turns: float | None) -> str:
    return "each turn of a loop" if turns is None else f"each of {turns:.0f} turns of a loop"


def named_turns(turns: Sequence[float | None]) -> str:
    if len(turns) == 1:
        return _each_turn(turns[0])
    most = most_turns(turns)
    return f"each turn of {len(turns)} loops" + (f", which make up to {most:.0f}" if most else "")


def most_turns(turns: Sequence[float | None]) -> float | None:
    """Returns the most turns of a loop, if those of all are known."""
    return None if None in turns else max(filter(None, turns))


def as_figure(turns: float | None) -> Mapping[str, float]:
    return {} if turns is None else {"turns": turns}
