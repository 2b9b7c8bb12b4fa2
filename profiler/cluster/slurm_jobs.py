"""One Slurm job for each worker, by dask-jobqueue, which is imported here: import this inside functions.

What sbatch is told beyond the plain job is the user's own words, put on its command line: there they overrule
whatever the job's script says. Scheduler and workers speak TLS with a certificate that is made for this one command and
reaches the nodes inside the script, which Slurm shows to nobody but its owner: on a cluster, everybody else could
otherwise have the workers run what he likes.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import dask
from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed.core import Status
from distributed.security import Security

from profiler.cluster.connection import NO_DASHBOARD

_NEVER = "1000 days"  # else Dask cancels a job whose worker is gone, and Slurm may be about to start it again
_AT_ONCE = 8  # calls of sbatch and scancel: each is a process here and work for the controller
# What dask-jobqueue would say of memory, time and processors: the partition's own defaults are better guesses.
_SKIPPED = ("--mem=", "-t ", "--cpus-per-task=")
_MEMORY_LIMIT = "${SLURM_MEM_PER_NODE:-0}MiB"  # what Slurm grants, as it says in the job; 0: no limit
_TLS_FILES = {"ca": "tls_ca_file", "cert": "tls_worker_cert", "key": "tls_worker_key"}


@dataclass
class Submitter:
    """Where all jobs are submitted: what Slurm was told, and what became of it."""

    command: Sequence[str]  # sbatch and its options
    jobs: dict[str, WorkerJob] = field(default_factory=dict)  # by the name of the worker
    at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def call(self, *command: str) -> tuple[int, str, str]:
        """In a session of its own: a Ctrl-C in the terminal must not end sbatch before it has said a number."""
        async with self.at_once:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")


class WorkerJob(SLURMJob):
    """`number` is Slurm's; `refusal` what sbatch said instead of one."""

    def __init__(self, *arguments: Any, submitter: Submitter, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._submitter = submitter
        self.worker, self.number = str(self.name), ""
        self.refusal: str | None = None
        self.is_cancelled = False

    @contextmanager
    def job_file(self) -> Iterator[str]:
        """Readable by its owner alone."""
        with tempfile.NamedTemporaryFile("w", prefix="prof-", suffix=".sh") as file:
            file.write(self.job_script())
            file.flush()
            yield file.name

    async def start(self) -> None:
        """Never fails: an exception would only be logged, by whoever scales the cluster."""
        with self.job_file() as path:
            code, out, err = await self._submitter.call(*self._submitter.command, path)
        number = out.partition(";")[0].strip()  # --parsable: it may be followed by the name of a cluster
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
    """The scheduler, in this process, and its jobs. No worker has a name that another had."""

    job_cls: Any = WorkerJob

    def __init__(self, **options: Any) -> None:
        self._numbers = count(1)
        super().__init__(**options)

    def _new_worker_name(self, _: int) -> str:
        return f"slurm-{next(self._numbers)}"

    def _get_worker_security(self, _: Security) -> Security:
        """Where `_prologue` puts the files on the node; dask-jobqueue would put them on a shared disk."""
        return Security(
            require_encryption=True,
            **{option: f'"$prof_tls/{name}.pem"' for name, option in _TLS_FILES.items()},
        )


def start_cluster(
    submitter: Submitter, gpus: bool, python: str | None, interface: str | None
) -> SlurmCluster:
    """Without jobs yet. `interface`: where the scheduler listens; by default, where this host is reached."""
    dask.config.set({"distributed.deploy.lost-worker-timeout": _NEVER})
    site = dask.config.get("jobqueue.slurm")
    security = Security.temporary()
    listen = {"interface": interface} if interface else {}
    resources = ["--resources", "GPU=1"] if gpus else []
    return SlurmCluster(
        submitter=submitter, security=security, silence_logs="critical", cores=1, processes=1, memory="1 GB",
        job_name="prof", job_directives_skip=_SKIPPED, job_script_prologue=_prologue(security, site.get("job-script-prologue") or ()),
        python=shlex.quote(python or site.get("python") or sys.executable),
        worker_extra_args=[*resources, "--memory-limit", _MEMORY_LIMIT, "--no-dashboard", "--dashboard-address", NO_DASHBOARD["dashboard_address"]],
        scheduler_options={**NO_DASHBOARD, **listen},
    )  # fmt: skip


def sbatch_command(options: Sequence[str], log: Path) -> list[str]:
    """The last word on each option is the user's."""
    return ["sbatch", "--parsable", "--output", os.fspath(log), *options]


def _prologue(security: Security, lines_of_site: Sequence[str]) -> list[str]:
    """What the job does before it starts the worker."""
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
