"""Submits one Slurm job for each worker, with dask-jobqueue. Importing it is slow: import this module inside
functions.

The user's own options go to sbatch's command line, where they overrule the job's script. Scheduler and
workers speak TLS with a certificate that is made for this one command. It reaches the nodes inside the
script, which Slurm shows only to its owner; without it, everybody on the cluster could have the workers run
anything.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import dask
from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed.core import Status
from distributed.security import Security

from profiler.cluster.connection import NO_DASHBOARD

_NEVER = "1000 days"  # otherwise Dask cancels a job whose worker is gone, although Slurm may be about to start it again
_AT_ONCE = 8  # how many calls of sbatch and scancel: each is a process here and work for the controller
# Options that dask-jobqueue would set for memory, time and processors: the partition's defaults are better guesses.
_SKIPPED = ("--mem=", "-t ", "--cpus-per-task=")
_MEMORY_LIMIT = "${SLURM_MEM_PER_NODE:-0}MiB"  # what Slurm grants the job; 0 means no limit
_TLS_FILES = {"ca": "tls_ca_file", "cert": "tls_worker_cert", "key": "tls_worker_key"}


@dataclass
class Submitter:
    """Submits jobs with sbatch, and keeps them by the names of their workers."""

    command: Sequence[str]  # sbatch and its options
    jobs: dict[str, WorkerJob] = field(default_factory=dict)  # by the name of the worker
    at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def call(self, *command: str) -> tuple[int, str, str]:
        """Runs one of Slurm's commands in a session of its own, since Ctrl-C must not end sbatch before it prints a number."""
        async with self.at_once:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")


class WorkerJob(SLURMJob):
    """A job with one worker: Slurm's `number` for it, or the `refusal` that sbatch printed instead."""

    def __init__(self, *arguments: Any, submitter: Submitter, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._submitter = submitter
        self.worker, self.number = str(self.name), ""
        self.refusal: str | None = None
        self.is_cancelled = False

    @contextmanager
    def job_file(self) -> Iterator[str]:
        """Writes the job's script into a file that only its owner can read."""
        with tempfile.NamedTemporaryFile("w", prefix="prof-", suffix=".sh") as file:
            file.write(self.job_script())
            file.flush()
            yield file.name

    async def start(self) -> None:
        """Submits the job. Raises nothing, since Dask would only log it; sets `refusal` instead."""
        with self.job_file() as path:
            code, out, err = await self._submitter.call(*self._submitter.command, path)
        number = out.partition(";")[0].strip()  # with --parsable, the name of a cluster may follow
        if code == 0 and number.isdigit():
            self.number = number
        else:
            self.refusal = err.strip() or out.strip() or f"sbatch ended with exit code {code}"
        self.status = Status.running
        self._submitter.jobs[self.worker] = self

    async def close(self) -> None:
        if self.number and not self.is_cancelled:
            code, _, _ = await self._submitter.call("scancel", self.number)
            self.is_cancelled = code == 0
        self.status = Status.closed


class SlurmCluster(SLURMCluster):
    """The scheduler, in this process, and its jobs. No worker gets a name that another one had."""

    job_cls: Any = WorkerJob

    def __init__(self, **options: Any) -> None:
        self._numbers = count(1)
        super().__init__(**options)

    def _new_worker_name(self, _: int) -> str:
        return f"slurm-{next(self._numbers)}"

    def _get_worker_security(self, _: Security) -> Security:
        """Returns the certificate files that `_prologue` writes on the node; dask-jobqueue would put them on a shared disk."""
        return Security(
            require_encryption=True,
            **{option: f'"$prof_tls/{name}.pem"' for name, option in _TLS_FILES.items()},
        )


def start_cluster(
    submitter: Submitter, gpus: bool, python: str | None, interface: str | None
) -> SlurmCluster:
    """Starts the scheduler, without jobs yet. It listens at `interface`; by default, where others reach this host."""
    dask.config.set({"distributed.deploy.lost-worker-timeout": _NEVER})
    site = dask.config.get("jobqueue.slurm")
    security = Security.temporary()
    listen = {"interface": interface} if interface else {}
    resources = ["--resources", "GPU=1"] if gpus else []
    return SlurmCluster(
        submitter=submitter,
        security=security,
        silence_logs="critical",
        cores=1,
        processes=1,
        memory="1 GB",
        job_name="prof",
        job_directives_skip=_SKIPPED,
        job_script_prologue=_prologue(security, site.get("job-script-prologue") or ()),
        python=shlex.quote(python or site.get("python") or sys.executable),
        worker_extra_args=[
            *resources,
            "--memory-limit",
            _MEMORY_LIMIT,
            "--no-dashboard",
            "--dashboard-address",
            NO_DASHBOARD["dashboard_address"],
        ],
        scheduler_options={**NO_DASHBOARD, **listen},
    )


def _prologue(security: Security, lines_of_site: Sequence[str]) -> list[str]:
    """Returns the lines of the job's script that come before the worker's start."""
    lines = [
        *lines_of_site,
        "prof_tls=$(mktemp -d) || exit",
        "trap 'rm -rf \"$prof_tls\"' EXIT",
        "trap 'exit 143' TERM",
    ]
    for name, option in _TLS_FILES.items():
        text = str(getattr(security, option)).strip()
        lines += [f"cat > \"$prof_tls/{name}.pem\" <<'END'", text, "END"]
    return lines
