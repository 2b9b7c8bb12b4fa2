"""Says what changed since a program or a rung was last measured, right after it was measured again."""

from __future__ import annotations

from contextlib import suppress

from profiler.ask.compare import answer_of, compare_runs
from profiler.ask.named.earlier import run_before
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.output import print_document
from profiler.errors import ProfError
from profiler.present.documents.comparisons import answer_document
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore


def says_what_changed(store: RunStore, measured: Manifest, settings: VerbSettings) -> bool:
    """Prints what changed since the run before, and the command that says more; returns False if there is nothing to say.

    That is so if no run before measured the same, and for a rung whose source is what it was. Whether another program
    has changed is not known.
    """
    new, earlier = RunId.parse(measured.run_id), run_before(store, measured)
    if new is None or earlier is None:
        return False
    before, after = store.open(earlier), store.open(new)
    if measured.ladder is not None and before.manifest.facts.sources == after.manifest.facts.sources:
        return False
    if settings.format == "table":
        with suppress(ProfError):  # the command below says why the two cannot be compared
            _print_answer(before, after, settings)
    settings.say("", f"next: prof compare {measured.name}")
    return True


def _print_answer(before: Run, after: Run, settings: VerbSettings) -> None:
    comparisons = compare_runs(before, after, settings, every=None, force=False)
    answer = answer_document(answer_of(comparisons, every=False)).brief
    print()
    print_document(answer, settings.format)
