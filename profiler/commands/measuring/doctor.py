"""`prof doctor`: what works on this machine, and how to mend what does not."""

from __future__ import annotations

import typer

from profiler.commands.shared.options import FormatOption, RunsOption, settings_of
from profiler.commands.shared.output import print_document


def doctor(
    context: typer.Context,
    runs: RunsOption = None,
    format: FormatOption = None,
) -> None:
    """Say what works on this machine, and how to mend what does not.

    Looks at NVIDIA's reader, the folders, the compiler, the GPU, ncu, and whether counters may be
    read, by profiling an empty kernel. Where there is no GPU, that is no failure: reports are read
    and compared without one. Exit code 85 says that something that should work does not.

    Examples:

      prof doctor

      prof doctor --format json
    """
    from profiler.errors import NotReady
    from profiler.measure.doctor.checks import Machine, derive_readiness
    from profiler.measure.doctor.doctor import examine
    from profiler.present.documents.doctor import doctor_document

    settings = settings_of(context, runs, format=format)
    checks = examine(settings.runs_folder, Machine())
    print_document(doctor_document(checks, derive_readiness(checks)), format=settings.format)
    if failed := [one.name for one in checks if one.state == "failed"]:
        raise NotReady(f"not as it should be: {', '.join(failed)}")
