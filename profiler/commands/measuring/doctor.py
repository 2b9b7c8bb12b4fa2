"""`prof doctor` checks this machine and says how to repair what does not work."""

from __future__ import annotations

from profiler.commands.shared import options
from profiler.commands.shared.output import print_document
from profiler.errors import NotReady
from profiler.measuring.doctor.checks import Machine, derive_readiness
from profiler.measuring.doctor.doctor import examine_machine
from profiler.present.documents.doctor import doctor_document


def doctor(settings: options.StoreSettings) -> None:
    """Check what works on this machine, and say how to repair the rest.

    `prof` checks NVIDIA's report reader, the folders, the compiler, the GPU and ncu. It profiles an empty kernel to
    see whether it may read performance counters. A missing GPU is not a failure, because `prof` reads and compares
    reports without one. The exit code is 85 if something fails that should work here.

    Examples:

      prof doctor

      prof doctor --format json
    """
    checks = examine_machine(settings.runs_folder, Machine(), settings.progress)
    print_document(doctor_document(checks, derive_readiness(checks)), settings.format)
    if failed := [one.name for one in checks if one.state == "failed"]:
        raise NotReady(f"not as it should be: {', '.join(failed)}")
