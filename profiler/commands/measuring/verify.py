"""`prof verify` checks the results of kernels against their reference."""

from __future__ import annotations

import sys
from itertools import product

from profiler.ask.named.ladders import open_ladder, workloads
from profiler.commands.shared import options
from profiler.commands.shared.ladders import build_rungs, choose_rungs, raise_failures
from profiler.commands.shared.output import print_document
from profiler.commands.shared.progress import Progress
from profiler.errors import GpuNotFound
from profiler.measuring.collect.gpu_turn import gpu_turn
from profiler.measuring.rungs.program import RungJob, fresh_seed
from profiler.measuring.rungs.verify import Checked, check_kernel
from profiler.measuring.tools.gpus import find_gpu
from profiler.present.documents.rungs import check_row, verified_document


def verify(
    *,
    kernel: options.KernelOption = None,
    size: options.SizeOption = None,
    set_param: options.ParameterOption = None,
    seed: options.SeedOption = None,
    jobs: options.JobsOption = None,
    timeout: options.TimeoutOption = 600.0,
    settings: options.LadderSettings,
) -> None:
    """Check every kernel's result against its reference.

    `prof` first builds what changed, and draws random inputs. The command fails if a kernel's result is wrong or
    could not be checked. It also lists the workloads that a kernel refuses and the libraries that are missing.
    These are failures only if nothing at all was verified, or if --kernel chose a kernel whose library is missing.

    Examples:
      prof verify
      prof verify --kernel 6 --size 1024 --size 4096
      prof verify --set-param m=1000 --set-param n=777 --set-param k=33
    """
    opened = open_ladder(settings)
    kernels = choose_rungs(opened, kernel)
    shapes, gpu = workloads(opened, size, set_param), find_gpu()
    built = build_rungs(opened, kernels, gpu.arch, settings, jobs)
    checked: list[Checked] = []
    ended: BaseException | None = None
    whole = len(shapes) * len(kernels)
    with Progress("verifying", whole, settings) as progress:
        try:
            for values, one in product(shapes, kernels):
                binary = built.get(one.number)
                at = binary.binary if binary else None
                job = RungJob(opened, one, values, at, fresh_seed() if seed is None else seed)
                if binary is not None and binary.error is not None:  # the build has printed it
                    missing = binary.status == "unavailable"
                    checked.append(Checked(job, "unavailable" if missing else "failed", error=binary.error))
                    progress.advance()
                else:
                    with gpu_turn(gpu, progress.note):
                        checked.append(check_kernel(job, timeout))
                    progress.advance(_line(checked[-1]), checked[-1].error)
        except (KeyboardInterrupt, GpuNotFound) as error:  # the results until here are still printed
            ended = error
    if ended is not None and not checked:
        raise ended
    print_document(verified_document([check_row(one) for one in checked]), settings.format)
    if ended is not None:
        print(f"only {len(checked)} of {whole} were verified", file=sys.stderr)
        raise ended
    _judge(checked, asked=bool(kernel))


def _line(checked: Checked) -> str:
    if checked.error is not None:
        return checked.verdict
    error = "" if checked.relative_error is None else f": relative error {checked.relative_error:.1e}"
    return f"{checked.verdict:<12}{checked.job.label}{error}"


def _judge(checked: list[Checked], asked: bool) -> None:
    for verdict, what in (("wrong", "checks found a wrong result"), ("failed", "checks came to no verdict")):
        errors = [one.error for one in checked if one.verdict == verdict and one.error]
        raise_failures(errors, len(checked), what)
    verified = any(one.verdict == "correct" for one in checked)
    for one in checked:
        if one.error and (not verified or (asked and one.verdict == "unavailable")):
            raise one.error
