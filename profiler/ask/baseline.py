"""Pairs each candidate with the baseline of the same name and workload.

In: stores and runs. Out: pairs of runs, and the runs without a counterpart. A recording compared with itself
would always pass, so a folder as its own baseline, or the same run on both sides, is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from profiler.analyse.recording.kernel_choice import matching_kernels, nearest_words
from profiler.ask.named.gpus import is_on, no_such_gpu
from profiler.catalog.ladders.ladder import size_text
from profiler.errors import KernelNotFound, RunNotFound
from profiler.store.reports.near import files_in
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unstored import open_reports
from profiler.text import Spoken, first_of, natural_order

RunPair = tuple[Run, Run]
_Work = tuple[str, frozenset[tuple[str, int]]]  # a name and the workload
_Subject = tuple[_Work, tuple[str, ...]]  # the work and the GPUs
_Matched = tuple[list[RunPair], list[Run], list[Run]]  # the pairs, and what only one side has
_MOST_NAMED = 6
_RENAMED = "A report that was only renamed finds its counterpart under the old name: `prof ingest REPORT --name NAME`, in a new folder."
_IN_PYTHON = "Give the new recording first, and the older one as `baseline`."
_NOTHING_NEW = Spoken(
    "Give the new runs with --runs (or PROF_RUNS), and the older ones with --baseline.", _IN_PYTHON
)

_NO_OTHER = Spoken(
    "Give the older report with --baseline and the newer one after it: prof check --baseline OLD.ncu-rep NEW.ncu-rep",
    _IN_PYTHON,
)


@dataclass(frozen=True)
class Pairing:
    """The pairs of two folders, the runs that only the baseline or only the candidate has, and notes that say so.

    Runs that the `stores` left out are damaged.
    """

    pairs: list[RunPair]
    missing: Sequence[str] = ()
    new: Sequence[str] = ()
    notes: Sequence[str] = ()
    stores: Sequence[RunStore] = ()


def pair_stores(
    baseline: RunStore, candidate: RunStore, gpu: str | None = None, kernel_name: str | None = None
) -> Pairing:
    """Returns pairs of the newest runs of every name and workload that both folders hold, and the others.

    A folder without runs may hold reports, which count as runs with the names of their files.
    Runs of one GPU are paired; those of different GPUs only where a name and workload has no pair on one. Runs without a
    kernel that matches `kernel_name` are left out; raises KernelNotFound if that leaves none.
    """
    if baseline.is_same_place(candidate):
        raise RunNotFound(
            f"{candidate.root} is both the baseline and the folder to check, so every run would be compared with itself",
            remedy=_NOTHING_NEW,
        )
    for store in (baseline, candidate):
        _require_runs(store)
    before, after = (_newest(store, gpu) for store in (baseline, candidate))
    both, which = f"{baseline.root} and {candidate.root}", ""
    pairs, missing, new = _matched(before, after)
    if kernel_name is not None:
        fitting = _with_kernel([*before.values(), *after.values()], kernel_name, both)
        pairs, missing, new = _narrowed(pairs, missing, new, fitting)
        which = f" with a kernel that matches '{kernel_name}'"
    if not pairs:
        raise RunNotFound(
            f"{both} hold no run of the same name and workload{which}",
            remedy=f"Record the same kernels at the same sizes in both; `prof list --runs DIR` shows what is there. {_RENAMED}",
        )
    pairs.sort(key=lambda pair: natural_order(title_of(pair[1])))
    lost, added = (sorted(map(title_of, side), key=natural_order) for side in (missing, new))
    notes = ["matched by the name and the workload of each run; a report has the name of its file"]
    for what, names in (
        (f"not recorded in {candidate.root}", lost),
        (f"no baseline in {baseline.root}", added),
    ):
        notes += [f"{what}, so not checked: {first_of(names, _MOST_NAMED, '; ')}"] if names else []
    notes += [_RENAMED] if lost and added else []
    return Pairing(pairs, lost, added, notes, [baseline, candidate])


def _matched(before: Mapping[_Subject, Run], after: Mapping[_Subject, Run]) -> _Matched:
    """Returns the runs of one subject as pairs, then those of one work on different GPUs that have no pair yet."""
    pairs = [(before[subject], run) for subject, run in after.items() if subject in before]
    paired = {_work(run.manifest) for _, run in pairs}
    older, newer = map(_on_any_gpu, (before, after))
    pairs += [(older[work], run) for work, run in newer.items() if work in older and work not in paired]
    missing = [run for work, run in older.items() if work not in newer]
    new = [run for work, run in newer.items() if work not in older]
    return pairs, missing, new


def _with_kernel(runs: Sequence[Run], kernel_name: str, where: str) -> set[str]:
    """Returns the ids of the runs with a kernel that matches; raises KernelNotFound if no run has one."""
    fitting = {run.manifest.run_id for run in runs if matching_kernels(run, kernel_name)}
    if not fitting:
        near = nearest_words(kernel_name, [kernel.name for run in runs for kernel in run.manifest.kernels])
        raise KernelNotFound(f"{where}: no kernel name matches '{kernel_name}'{near}")
    return fitting


def _narrowed(
    pairs: Iterable[RunPair], missing: Iterable[Run], new: Iterable[Run], fitting: Collection[str]
) -> _Matched:
    """Returns what the `fitting` runs leave. Where one side of a pair lost the kernel, or has it only now, it stands alone.

    A recording of times alone names no kernel, and fits whatever the other side fits.
    """

    def fits(run: Run) -> bool:
        return run.manifest.run_id in fitting

    kept: list[RunPair] = []
    lost, added = ([run for run in side if fits(run)] for side in (missing, new))
    for one, other in pairs:
        if fits(one) and other.manifest.kernels and not fits(other):
            lost.append(one)
        elif fits(other) and one.manifest.kernels and not fits(one):
            added.append(other)
        elif fits(one) or fits(other):
            kept.append((one, other))
    return kept, lost, added


def _require_runs(store: RunStore) -> None:
    """Raises RunNotFound for a folder that has neither runs nor reports."""
    if not (store.ids() or store.left_out or _reports_in(store)):
        raise RunNotFound(f"{store.root}: no runs are stored there, and it holds no reports")


def _reports_in(store: RunStore) -> list[Path]:
    return files_in(store.root) if isinstance(store.root, Path) else []


def pair_runs(baseline: Run, candidate: Run) -> RunPair:
    """Returns two runs as a pair; raises RunNotFound if they are the same recording."""
    if _are_one(baseline, candidate):
        raise RunNotFound(
            f"{title_of(candidate)}: the same recording on both sides, so nothing would be checked",
            remedy=_NOTHING_NEW if candidate.stored else _NO_OTHER,
        )
    return baseline, candidate


def find_newest(store: RunStore, like: Run, gpu: str | None = None) -> Run:
    """Returns the newest run in the store with the same name and workload, on the same GPU if there is one."""
    found = _newest(store, gpu, like.manifest.name)
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
    """Returns a run's name and workload; a report has the name that it would be stored under."""
    workload = run.manifest.workload
    return f"{run.manifest.name}, {size_text(workload)}" if workload else run.manifest.name


def _are_one(one: Run, other: Run) -> bool:
    """Returns whether two runs are copies of one recording, whatever they are called."""
    this, that = (RunId.parse(run.manifest.run_id) for run in (one, other))
    return this is not None and that is not None and (this.time, this.hash) == (that.time, that.hash)


def _newest(store: RunStore, gpu: str | None, name: str | None = None) -> dict[_Subject, Run]:
    """Returns the newest run of every subject, or of the subjects called `name`."""
    ids = store.ids()
    if ids or store.left_out:
        runs = store.open_all(run_id for run_id in ids if name in (None, run_id.name))
    else:
        reports = sorted(open_reports(_reports_in(store)), key=lambda run: run.manifest.run_id)
        runs = [run for run in reports if name in (None, run.manifest.name)]
    meant = [run for run in runs if is_on(run.manifest, gpu)]
    if gpu and runs and not meant:
        raise no_such_gpu(gpu, str(store.root), (one for run in runs for one in run.manifest.gpus))
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
