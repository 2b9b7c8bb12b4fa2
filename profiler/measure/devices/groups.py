"""Groups of kernels that wait for a GPU. One that was begun waits for the same GPU as long as that may come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Condition
from time import monotonic

from profiler.measure.collect.target import Target

_WAKE_S = 0.5


@dataclass(eq=False)
class Group:
    """Kernels that stay on one GPU. `home` is the UUID of the one that has begun them."""

    targets: list[Target]
    home: str | None = None
    is_begun: bool = False  # by this very call: what is kept of it is not from long ago
    moves: int = 0  # from a home that was lost to another
    losses: Counter[str] = field(default_factory=Counter)  # of workers, by what they were measuring
    waits_until: float = 0.0


class Groups:
    """Several threads take from it, each for the GPU that it leads; one thread a GPU at a time."""

    def __init__(self, groups: Sequence[Group], return_s: float) -> None:
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
        """Whether all are measured."""
        with self._changed:
            return self._unfinished == 0

    def arrive(self, gpu_uuid: str) -> bool:
        """Waits while another thread leads this GPU; False when there is nothing to do any more."""
        with self._changed:
            while gpu_uuid in self._present and not self._is_over():
                self._changed.wait(_WAKE_S)
            if self._is_over():
                return False
            self._present.add(gpu_uuid)
            return True

    def leave(self, gpu_uuid: str) -> None:
        with self._changed:
            self._present.discard(gpu_uuid)
            for group in self._waiting:
                if group.home == gpu_uuid:
                    group.waits_until = monotonic() + self._return_s
            self._changed.notify_all()

    def take(self, gpu_uuid: str) -> Group | None:
        """Waits for one that this GPU may measure; None when all are measured, or it is closed."""
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

    def give_back(self, group: Group) -> None:
        """Its worker was lost."""
        with self._changed:
            if group.targets:
                group.waits_until = monotonic() + self._return_s
                self._waiting.insert(0, group)
            self._changed.notify_all()

    def done(self) -> None:
        """One that was taken has been measured, or given up."""
        with self._changed:
            self._unfinished -= 1
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()

    def _choose(self, gpu_uuid: str) -> Group | None:
        """Its own first; then what is nobody's, or whose GPU has been gone for long enough."""
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
