"""Pairs each candidate with the baseline of the same name and workload.

In: stores and runs. Out: pairs of runs, and the runs without a counterpart. A recording compared with itself
would always pass, so a folder as its own baseline, or the same run on both sides, is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from profiler.ask.named.gpus import is_on, no_such_gpu
from profiler.catalog.ladders.ladder import size_text
from profiler.errors import RunNotFound
from profiler.store.reports.near import files_in, what_is_near
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import Run, RunStore
from profiler.text import natural_order

RunPair = tuple[Run, Run]
_Work = tuple[str, frozenset[tuple[str, int]]]  # a name and the workload
_Subject = tuple[_Work, tuple[str, ...]]  # the work and the GPUs
_MOST_NAMED = 6
_RENAMED = "A report that was only renamed finds its counterpart under the old name: `prof ingest REPORT --name NAME`, in a new folder."
_NOTHING_NEW = "Give the new runs with --runs (or PROF_RUNS), and the older ones with --baseline."


@dataclass(frozen=True)
class Pairing:
    """The pairs of two folders, the runs of each that have no counterpart, and notes that say so."""

    pairs: list[RunPair]
    unmatched: list[str]
    notes: list[str]


def pair_stores(baseline: RunStore, candidate: RunStore, gpu: str | None = None) -> Pairing:
    """Returns pairs of the newest runs of every name and workload that both folders hold, and the others.

    Runs of one GPU are paired; those of different GPUs only where a name and workload has no pair on one.
    """
    if baseline.is_same_place(candidate):
        raise RunNotFound(
            f"{candidate.root} is both the baseline and the folder to check, so every run would be compared with itself",
            remedy=_NOTHING_NEW,
        )
    for store in (baseline, candidate):
        _require_runs(store)
    names = [{run_id.name for run_id in store.ids()} for store in (baseline, candidate)]
    before, after = (_newest(store, names[0] & names[1], gpu) for store in (baseline, candidate))
    pairs = [(before[subject], run) for subject, run in after.items() if subject in before]
    paired = {_work(run.manifest) for _, run in pairs}
    older, newer = map(_on_any_gpu, (before, after))
    pairs += [(older[work], run) for work, run in newer.items() if work in older and work not in paired]
    if not pairs:
        raise RunNotFound(
            f"{baseline.root} and {candidate.root} hold no run of the same name and workload",
            remedy=f"Record the same kernels at the same sizes in both; `prof list --runs DIR` shows what is there. {_RENAMED}",
        )
    pairs.sort(key=lambda pair: natural_order(title_of(pair[1])))
    lonely = [[title_of(run) for work, run in one.items() if work not in other] for one, other in ((older, newer), (newer, older))]  # fmt: skip
    gone, new = [*(names[0] - names[1]), *lonely[0]], [*(names[1] - names[0]), *lonely[1]]
    notes = [
        "matched by the name and the workload of each run; a report has the name of its file",
        *_note(f"not recorded in {candidate.root}", gone),
        *_note(f"no baseline in {baseline.root}", new),
        *([_RENAMED] if gone and new else []),
    ]
    return Pairing(pairs, [*gone, *new], notes)


def _require_runs(store: RunStore) -> None:
    """Raises RunNotFound for a folder without runs, and says how reports that lie there become runs."""
    if store.ids() or store.left_out:
        return
    if isinstance(store.root, Path) and files_in(store.root):
        raise RunNotFound(
            f"{store.root}: no runs are stored there; {what_is_near(store.root)}",
            remedy="Store the reports of each side in a folder of its own, `prof --runs DIR ingest REPORTS`, and check these: `prof check --baseline DIR OTHER`.",
        )
    raise RunNotFound(f"{store.root}: no runs are stored there")


def pair_runs(baseline: Run, candidate: Run) -> RunPair:
    """Returns two runs as a pair; raises RunNotFound if they are the same recording."""
    if _are_one(baseline, candidate):
        raise RunNotFound(
            f"{title_of(candidate)}: the same recording on both sides, so nothing would be checked",
            remedy=_NOTHING_NEW,
        )
    return baseline, candidate


def find_newest(store: RunStore, like: Run, gpu: str | None = None) -> Run:
    """Returns the newest run in the store with the same name and workload, on the same GPU if there is one."""
    found = _newest(store, {like.manifest.name}, gpu)
    newest = found.get(_subject(like.manifest)) or _on_any_gpu(found).get(_work(like.manifest))
    if newest is None:
        raise RunNotFound(f"{store.root}: no run of {title_of(like)}")
    return newest


def find_newer(store: RunStore, baseline: Run, gpu: str | None = None) -> Run:
    """Returns the newest run of the baseline's name and workload; raises RunNotFound if it is not newer than the baseline."""
    manifest = baseline.manifest
    newest = find_newest(store, baseline, gpu)
    if newest.manifest.run_id <= manifest.run_id:
        raise RunNotFound(
            f"{store.root}: no run of {title_of(baseline)} is newer than the baseline, {manifest.run_id}",
            remedy=f"Name the candidate too, or an older run as the baseline: `prof list {manifest.name}` shows them.",
        )
    return newest


def title_of(run: Run) -> str:
    """Returns a run's name and workload, or a report's file name."""
    if not run.stored:
        return PurePath(run.label).name
    workload = run.manifest.workload
    return f"{run.manifest.name}, {size_text(workload)}" if workload else run.manifest.name


def _are_one(one: Run, other: Run) -> bool:
    """Returns whether two runs are copies of one recording, whatever they are called."""
    this, that = (RunId.parse(run.manifest.run_id) for run in (one, other))
    return this is not None and that is not None and (this.time, this.hash) == (that.time, that.hash)


def _newest(store: RunStore, names: Iterable[str], gpu: str | None) -> dict[_Subject, Run]:
    wanted = set(names)
    runs = store.open_all(run_id for run_id in store.ids() if run_id.name in wanted)
    meant = [run for run in runs if is_on(run.manifest, gpu)]
    if gpu and runs and not meant:
        raise no_such_gpu(gpu, "these names", (one for run in runs for one in run.manifest.gpus))
    return {_subject(run.manifest): run for run in meant}  # oldest first, so the newest stays


def _on_any_gpu(found: Mapping[_Subject, Run]) -> dict[_Work, Run]:
    """Returns the newest run of each work, whichever GPU it was recorded on."""
    in_time = sorted(found.items(), key=lambda one: one[1].manifest.run_id)
    return {work: run for (work, _), run in in_time}


def _subject(manifest: Manifest) -> _Subject:
    return _work(manifest), tuple(manifest.gpus)


def _work(manifest: Manifest) -> _Work:
    """Returns what two runs must share to be paired; a profiled function has no workload, and a timed one an empty one."""
    return manifest.name, frozenset((manifest.workload or {}).items())


def _note(what: str, names: Iterable[str]) -> list[str]:
    listed = sorted(names, key=natural_order)
    if not listed:
        return []
    more = f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
    return [f"{what}, so not checked: {'; '.join(listed[:_MOST_NAMED])}{more}"]
