"""`prof doctor` checks this machine and says how to repair what does not work."""

from __future__ import annotations

from typing import Annotated

from typer import BadParameter, Option

from profiler.commands.shared import options
from profiler.commands.shared.output import print_document
from profiler.errors import NotReady
from profiler.measuring.doctor.checks import ABILITIES, Machine, derive_readiness
from profiler.measuring.doctor.doctor import examine_machine
from profiler.present.documents.doctor import doctor_document


def doctor(
    *,
    require: Annotated[
        list[str] | None,
        Option(
            metavar="ABILITY",
            help="Fail unless this machine can do this: reading, storing, building or measuring; may be repeated.",
        ),
    ] = None,
    settings: options.StoreSettings,
) -> None:
    """Check what works on this machine, and say how to repair the rest.

    `prof` checks NVIDIA's report reader, the folders, the compiler, the GPU and ncu. It profiles an empty kernel to
    see whether it may read performance counters. A missing GPU is not a failure, because `prof` reads and compares
    reports without one. The exit code is 85 if something fails that should work here, or if this machine cannot do
    what --require names.

    Examples:
      prof doctor
      prof doctor --format json
      prof doctor --require building --require measuring
    """
    for one in require or ():
        if one not in ABILITIES:
            raise BadParameter(f"'{one}' is none of {', '.join(ABILITIES)}", param_hint="'--require'")
    checks = examine_machine(settings.runs_folder, Machine(), settings.progress)
    abilities = derive_readiness(checks)
    print_document(doctor_document(checks, abilities), settings.format)
    if failed := [one.name for one in checks if one.state == "failed"]:
        raise NotReady(f"not as it should be: {', '.join(failed)}")
    if lacking := [one for one in abilities if one.ability in (require or ()) and one.state != "ok"]:
        why = [
            f"{one.ability} is not possible here, because there is no {' and no '.join(one.because)}"
            for one in lacking
        ]
        remedy = "Follow the advice behind each line that is missing, or run this on another machine."
        raise NotReady("; ".join(why), remedy=remedy)
