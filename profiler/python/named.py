"""Finds the recording, the runs or the ladder that a user of the Python interface names, in any of the accepted forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from profiler.analyse.ladder.climb import Climb
from profiler.analyse.recording.kernel_choice import VersionOf
from profiler.ask.ladder import find_climb
from profiler.ask.named.earlier import open_with_the_one_before
from profiler.ask.named.ladders import open_ladder
from profiler.ask.named.references import open_named, with_launches
from profiler.ask.named.settings import Settings
from profiler.python.answers import Sheet
from profiler.python.recordings import open_existing
from profiler.python.shows_itself import ShowsItself
from profiler.store.runs.file_names import REPORT_SUFFIXES
from profiler.store.runs.run import Run
from profiler.store.runs.run_store import RunStore

_WIDTH = 80  # of what stands in an error's sentence


def store_of(runs: RunStore | str | Path) -> RunStore:
    """Returns the store, or the one in this folder or at this URL, which must exist."""
    return runs if isinstance(runs, RunStore) else open_existing(runs)


class Asked(NamedTuple):
    """A recording, and which of its kernels and launches a function is to look at; None chooses all."""

    recording: Any
    kernel_name: str | None
    nvtx: str | None
    launch: int | str | None


def asked_of(
    recording: object, kernel_name: str | None, nvtx: str | None = None, launch: int | str | None = None
) -> Asked:
    """Returns the recording, and with a sheet that of which it is, with its kernel and its launches unless others are given."""
    origin = getattr(recording, "_origin", None) if isinstance(recording, Sheet) else None
    if origin is None:
        return Asked(recording, kernel_name, nvtx, launch)
    kernel = VersionOf(recording.kernel_name) if kernel_name is None else kernel_name  # type: ignore[attr-defined]
    return Asked(
        origin.recording,
        kernel,
        origin.nvtx if nvtx is None else nvtx,
        origin.launch if launch is None else launch,
    )


def sides_of(first: Asked, second: Asked) -> tuple[Asked, Asked]:
    """Returns two sides: without a name for the second, that of the first chooses both kernels, and a sheet alone does so too."""
    names = (first.kernel_name, second.kernel_name)
    if names[0] is None or names[0] == names[1]:
        names = (names[1], None)
    return first._replace(kernel_name=names[0]), second._replace(kernel_name=names[1])


def launches_of(first: Asked, second: Asked) -> Settings:
    """Returns the choice of launches for both sides: that of one side holds for the other; raises an error if each has its own."""
    choices = {(one.nvtx, one.launch) for one in (first, second)} - {(None, None)}
    if len(choices) > 1:
        raise ValueError("the two sides are of different launches, which only `prof.compare` takes")
    nvtx, launch = next(iter(choices), (None, None))
    return Settings(nvtx=nvtx, launch=launch)


def compared_runs(first: Asked, second: Asked) -> tuple[Run, Run]:
    """Returns both runs. Without a second recording, they are the run before the first one and that, or the first one twice if two
    of its kernels or launches are meant.
    """
    is_run_alone = second.kernel_name is None and second.launch in (None, first.launch)
    if second.recording is None and is_run_alone:
        settings = Settings(nvtx=first.nvtx, launch=first.launch)
        return open_with_the_one_before(reference_of(first.recording), settings, timed=True)
    before = run_of(first.recording, first.nvtx, first.launch)
    after = first.recording if second.recording is None else second.recording
    return before, run_of(after, second.nvtx, second.launch)


def run_of(
    recording: Run | str | int | Path, nvtx: str | None = None, launch: int | str | None = None
) -> Run:
    """Returns the given run, or the one that a name, a number, an id or a path means, with only the launches of this range and number."""
    settings = Settings(nvtx=nvtx, launch=launch)
    if isinstance(recording, (str, int, Path)):
        return open_named([str(recording)], settings, timed=True)[0]
    if not isinstance(recording, Run):
        raise TypeError(
            f"{_called(recording)} is no recording: give the path of a report, the name, number or id of a run, or what "
            "`prof.measure` or `prof.read` returned"
        )
    return with_launches(recording, settings.choice)


def each_of(given: Iterable[object]) -> list[Any]:
    """Returns the recordings, with those of a list, a tuple or a generator in its place, at least one."""
    several = [
        one
        if isinstance(one, Iterable) and not isinstance(one, (str, bytes, Run, RunStore, ShowsItself))
        else [one]
        for one in given
    ]
    if recordings := list(chain.from_iterable(several)):
        return recordings
    raise ValueError("no recording is given: the list is empty")


def _called(given: object) -> str:
    """Returns what a caller gave, in one line: an answer shows itself in many."""
    line = repr(given)
    return line if len(line) <= _WIDTH and "\n" not in line else f"a {type(given).__name__}"


def reference_of(recording: Run | RunStore | str | int | Path) -> str:
    """Returns how a command would name the recording, or the folder of runs."""
    if isinstance(recording, RunStore):
        return str(recording.root)
    return str(recording if isinstance(recording, (str, int, Path)) else run_of(recording).path)


def open_among(recordings: Iterable[object]) -> dict[str, Run]:
    """Returns the recordings that are open already, each under the name that a command would use."""
    return {reference_of(one): one for one in recordings if isinstance(one, Run)}


def climb_of(
    name: str | Path, runs: RunStore | str | Path, workload: Mapping[str, int] | None, gpu: str | None
) -> Climb:
    """Returns the runs of a ladder's rungs at one workload and on one GPU."""
    if not isinstance(name, (str, Path)) or str(name).endswith(REPORT_SUFFIXES):
        raise TypeError(f"{_called(name)} is no ladder: give its name, such as 'gemm', or its file")
    store = store_of(runs)
    settings = replace(settings_of(name, store), gpu=gpu)
    return find_climb(store, open_ladder(settings), workload, gpu=gpu, usual_gpu=settings.usual_gpu)


def settings_of(ladder: str | Path, runs: RunStore) -> Settings:
    """Returns the settings of a question about this ladder."""
    return Settings(runs=runs.root, ladder=str(ladder), ladder_given=True)
