"""Groups of kernels that must stay on one GPU, and the queue in which they wait for one.

A group that was begun on a GPU that is lost waits a while for that GPU to come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Condition
from time import monotonic
from typing import Literal

from profiler.catalog.ladders.ladder import size_text
from profiler.measuring.collect.target import Target

GroupBy = Literal["workloads", "kernels"]
_WAKE_S = 0.5


@dataclass(eq=False)
class TargetGroup:
    """Kernels that stay on one GPU. `home` is the UUID of the GPU that has begun them."""

    targets: list[Target]
    home: str | None = None
    is_begun: bool = False  # by this call, so what is kept of it is recent
    moves: int = 0  # times that it went from a lost GPU to another one
    losses: Counter[str] = field(default_factory=Counter)  # lost workers, by the label of what they measured
    waits_until: float = 0.0


class GroupQueue:
    """The groups that are left. Several threads take from it, one thread for each GPU."""

    def __init__(self, groups: Sequence[TargetGroup], return_s: float) -> None:
        self._waiting = list(groups)
        self._unfinished = len(groups)
        self._return_s = return_s
        self._present: set[str] = set()
        self._changed = Condition()
        self.is_closed = False
        for group in groups:
            group.waits_until = monotonic() + return_s

    @property
    def is_empty(self) -> bool:
        """Returns whether all groups are measured."""
        with self._changed:
            return self._unfinished == 0

    def arrive(self, gpu_uuid: str) -> bool:
        """Waits while another thread uses this GPU; returns False when nothing is left to do."""
        with self._changed:
            while gpu_uuid in self._present and not self._is_over():
                self._changed.wait(_WAKE_S)
            if self._is_over():
                return False
            self._present.add(gpu_uuid)
            return True

    def leave(self, gpu_uuid: str) -> None:
        """Starts the wait of this GPU's groups for its return."""
        with self._changed:
            self._present.discard(gpu_uuid)
            for group in self._waiting:
                if group.home == gpu_uuid:
                    group.waits_until = monotonic() + self._return_s
            self._changed.notify_all()

    def take(self, gpu_uuid: str) -> TargetGroup | None:
        """Waits for a group that this GPU may measure; returns None when all are measured or the queue is closed."""
        with self._changed:
            while not self._is_over():
                group = self._choose(gpu_uuid)
                if group is not None:
                    self._waiting.remove(group)
                    group.moves += group.home not in (None, gpu_uuid)
                    group.home = gpu_uuid
                    return group
                self._changed.wait(_WAKE_S)
            return None

    def give_back(self, group: TargetGroup) -> None:
        """Puts back a group whose worker was lost."""
        with self._changed:
            if group.targets:
                group.waits_until = monotonic() + self._return_s
                self._waiting.insert(0, group)
            self._changed.notify_all()

    def done(self) -> None:
        """Marks a group that was taken as measured, or as given up."""
        with self._changed:
            self._unfinished -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Ends the work: nothing is handed out any more."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()

    def _choose(self, gpu_uuid: str) -> TargetGroup | None:
        """Prefers the GPU's own groups; then those without a GPU, or whose GPU has been gone for long enough."""
        now = monotonic()
        own = [group for group in self._waiting if group.home == gpu_uuid]
        free = [
            group
            for group in self._waiting
            if group.home is None or (group.home not in self._present and now >= group.waits_until)
        ]
        return next(iter([*own, *free]), None)

    def _is_over(self) -> bool:
        return self.is_closed or self._unfinished == 0


def group_targets(targets: Sequence[Target], by: GroupBy) -> list[tuple[Target, ...]]:
    """Returns the groups of kernels that must stay together, the longest to measure first.

    Each group begins at another of its kernels: the driver serves one GPU after the other, so it is best if one GPU
    computes while another needs the driver.
    """
    groups: dict[str, list[Target]] = {}
    for index, target in enumerate(targets):
        workload = size_text(target.job.values) if target.job is not None else ""
        groups.setdefault(workload if by == "workloads" else str(index), []).append(target)
    longest_first = sorted(groups.values(), key=_cost, reverse=True)
    starts = [len(group) * place // len(longest_first) for place, group in enumerate(longest_first)]
    return [(*group[start:], *group[:start]) for group, start in zip(longest_first, starts, strict=True)]


def _cost(group: Sequence[Target]) -> tuple[int, float]:
    """Returns what groups are sorted by: the number of kernels, then their work."""
    return len(group), sum(target.job.work for target in group if target.job is not None)
