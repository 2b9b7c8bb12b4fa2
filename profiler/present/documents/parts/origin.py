"""Says where a recording comes from, as facts: when, where and how it was recorded, and of what."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath

from profiler.catalog.ladders.ladder import size_text
from profiler.store.runs.manifest import Manifest, Provenance, StoredReport
from profiler.text import brief_word, shortened, size

_HASH_CHARACTERS = 12
_COMMAND_WIDTH = 300
_BRIEF = ("run", "origin", "part", "recorded", "workload", "verified", "ncu", "measured")


def provenance_facts(manifest: Manifest, report: str | None, *, full: bool) -> list[tuple[str, str]]:
    """Returns the known facts, the most interesting first: all if `full`, or only what was recorded, when, where and how.

    `report` is the name of a report that was never stored. Its folder is left out, because pages are sent to others.
    """
    facts = manifest.facts
    is_ingested = report is None and manifest.origin == "ingested"
    ncu = f"{manifest.ncu_version or 'of unknown version'}, CUDA {manifest.cuda_version}"
    rows = [
        ("run", f"not stored: {report}" if report is not None else manifest.run_id),
        ("origin", "ingested from a report, not collected by prof" if is_ingested else ""),
        ("part", manifest.part),
        ("recorded", f"{manifest.recorded} on {', '.join(manifest.gpus) or 'an unknown GPU'}"),
        ("kernel", f"{manifest.ladder} {manifest.kernel}" if manifest.kernel is not None else ""),
        ("workload", size_text(manifest.workload or {})),
        ("verified", "" if facts.relative_error is None else f"relative error {facts.relative_error:.1e}"),
        ("library", _algorithms(facts)),
        ("ncu", ncu if manifest.has_counters else ""),
        ("measured", _measured(manifest)),
        ("preset", _preset(manifest)),
        ("sections", ", ".join(manifest.sections)),
        ("program", manifest.program),
        ("command", _brief(manifest.command_line)),
        ("seed", str(facts.seed) if facts.seed is not None else ""),
        ("compiler", _compiler(facts)),
        ("runtime", facts.runtime or ""),
        ("binary", f"SHA-256 {facts.binary_sha256}" if facts.binary_sha256 else ""),
        ("driver", facts.driver_version),
        ("commit", _commit(facts)),
        ("report", _reports(manifest.reports)),
    ]
    return [(name, value) for name, value in rows if value and (full or name in _BRIEF)]


def _measured(manifest: Manifest) -> str:
    controls = f"clock control {manifest.clock_control}, cache control {manifest.cache_control}"
    return f"{controls}, {manifest.replay_mode} replay" if manifest.has_counters else ""


def _preset(manifest: Manifest) -> str:
    names = ", ".join(manifest.missing_metrics)
    missing = f"; nothing recorded for {names}" if names else ""
    return f"{manifest.preset}{missing}" if manifest.preset else ""


def _brief(command_line: str) -> str:
    """Returns the start and the end of the command, without its long list of metrics; `--format json` has all of it."""
    with suppress(ValueError):
        program, *words = shlex.split(command_line)
        command_line = shlex.join(map(brief_word, [PurePath(program).name, *words]))
    return shortened(command_line, _COMMAND_WIDTH)


def _compiler(facts: Provenance) -> str:
    flags = " ".join([*facts.build_flags, *(f"(without {name})" for name in facts.without)])
    return f"nvcc {facts.nvcc_version} {flags}" if facts.nvcc_version else ""


def _commit(facts: Provenance) -> str:
    return f"{facts.git_commit}{', with changes' if facts.git_dirty else ''}" if facts.git_commit else ""


def _reports(reports: Sequence[StoredReport]) -> str:
    if len(reports) == 1:
        return f"{size(reports[0].bytes)}, SHA-256 {reports[0].sha256}"
    if not reports:
        return ""
    hashes = ", ".join(f"{report.sha256[:_HASH_CHARACTERS]}..." for report in reports)
    whole = size(sum(report.bytes for report in reports))
    return f"{len(reports)}, one per process, {whole}, SHA-256 {hashes}"


def _algorithms(facts: Provenance) -> str:
    """Returns the fastest algorithm of the reference's library, and what other processes chose."""
    known = [
        ", ".join(f"{name} {one[name]}" for name in ("id", "tile", "stages", "split_k") if name in one)
        or "its default"
        for one in facts.algorithms
    ]
    chosen = "; in another process ".join(dict.fromkeys(known))
    return f"fastest of {facts.library or 'its library'} when timed: {chosen}" if known else ""
