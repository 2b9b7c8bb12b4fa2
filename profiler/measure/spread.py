"""Collecting on several GPUs of one host: who measures what, one ncu per GPU at a time.

Kernels that will be compared with each other stay on one GPU unless told otherwise, since no two
GPUs are equally fast. ncu lets one of its kind run at a time per lock file, and finds that in TMPDIR:
each GPU gets a folder of its own, the same for every prof of the host.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Literal

from profiler.catalog.ladder import size_text
from profiler.errors import GpuNotFound, ProfError
from profiler.measure.collect import Outcome, collect
from profiler.measure.collection import CollectPlan, Observer, Step
from profiler.measure.process import end_all
from profiler.measure.target import Target
from profiler.measure.toolchain import Gpu
from profiler.store.runs import RunStore
from profiler.store.sandbox import Sandbox
from profiler.store.staging import Staging

SpreadBy = Literal["workloads", "kernels"]
_ENDING_S = 0.05


@dataclass(frozen=True)
class Share:
    """What one GPU measures, in this order."""

    gpu: Gpu
    targets: tuple[Target, ...]


def choose_gpus(given: str, gpus: Sequence[Gpu]) -> list[Gpu]:
    """`all`, or numbers and UUIDs separated by commas; numbers count the visible ones from 0."""
    if given == "all":
        return list(gpus)
    chosen = []
    for name in given.split(","):
        found = [gpu for index, gpu in enumerate(gpus) if name.strip() in (str(index), gpu.uuid)]
        if not found:
            raise GpuNotFound(
                f"--gpus {given}: there is no GPU '{name.strip()}'; {len(gpus)} are visible, from 0",
                remedy="Give numbers such as 0,1, UUIDs, or all.",
            )
        chosen += found
    return list(dict.fromkeys(chosen))


def share_out(targets: Sequence[Target], gpus: Sequence[Gpu], by: SpreadBy) -> list[Share]:
    """Groups that must stay together go whole to the GPU with the least to do, the largest first."""
    groups: dict[str, list[Target]] = {}
    for index, target in enumerate(targets):
        workload = size_text(target.job.values) if target.job is not None else ""
        groups.setdefault(workload if by == "workloads" else str(index), []).append(target)
    loads: list[list[Target]] = [[] for _ in gpus]
    for group in sorted(groups.values(), key=len, reverse=True):
        min(loads, key=len).extend(group)
    return [
        Share(gpu, tuple(_bound_to(gpu, target) for target in load))
        for gpu, load in zip(gpus, loads, strict=True)
        if load
    ]


def collect_shares(
    plan: CollectPlan, shares: Sequence[Share], store: RunStore, observer: Observer
) -> Iterator[Outcome]:
    """Every share at once, a thread each; what is fatal to one ends all."""
    if not shares:
        return
    with Staging(store.root) as staging, Sandbox(workers=len(shares)) as sandbox:
        if len(shares) == 1:
            one = replace(plan, gpu=shares[0].gpu)
            yield from collect(one, shares[0].targets, store, staging, sandbox, observer)
            return
        outcomes: SimpleQueue[Outcome | ProfError | None] = SimpleQueue()
        stopped = Event()

        def begin(step: Step) -> None:
            if stopped.is_set():
                raise _Stopped
            observer.begin(step)

        def work(share: Share) -> None:
            try:
                one, watched = replace(plan, gpu=share.gpu), replace(observer, begin=begin)
                for outcome in collect(one, share.targets, store, staging, sandbox, watched):
                    outcomes.put(outcome)
            except _Stopped:
                pass
            except ProfError as error:
                outcomes.put(error)
            finally:
                outcomes.put(None)

        with ThreadPoolExecutor(len(shares)) as threads:
            futures = [threads.submit(work, share) for share in shares]
            try:
                for _ in shares:
                    while (outcome := outcomes.get()) is not None:
                        if isinstance(outcome, ProfError):
                            raise outcome
                        yield outcome
            finally:
                stopped.set()
                while wait(futures, timeout=0).not_done:
                    end_all()  # again and again: a thread may be about to start one more
                    wait(futures, timeout=_ENDING_S)
            for future in futures:
                future.result()  # a bug in a thread is a bug


class _Stopped(Exception):
    """Raised in the other threads where one has failed for good; never shown."""


def _bound_to(gpu: Gpu, target: Target) -> Target:
    environment = {"CUDA_VISIBLE_DEVICES": gpu.uuid, "TMPDIR": str(_lock_folder(gpu))}
    if target.job is None:
        return replace(target, environment=environment)
    return replace(target, environment=environment, job=replace(target.job, environment=environment))


def _lock_folder(gpu: Gpu) -> Path:
    folder = Path(tempfile.gettempdir()) / f"prof-{gpu.uuid.lower()[:12]}"
    with suppress(FileExistsError):
        folder.mkdir()
        with suppress(OSError):
            os.chmod(folder, 0o1777)  # whoever measures on this GPU waits for the same lock
    return folder
