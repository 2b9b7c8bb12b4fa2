"""Options of the verbs that can use a cluster: which workers, and how they are reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from profiler.cluster.connection import Tls
    from profiler.cluster.worker_pool import WorkerPool

SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Use the workers of this Dask scheduler: tcp://host:8786, or tls://host:8786.",
    ),
]
SlurmOption = Annotated[
    str | None,
    typer.Option(
        "--slurm",
        metavar="OPTIONS",
        help="Start workers as Slurm jobs, with these options of sbatch: '--partition gpu --gres gpu:1'.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Jobs to start with --slurm [default: 1]."),
]
TlsCaOption = Annotated[
    Path | None,
    typer.Option("--tls-ca", exists=True, dir_okay=False, help="Who signed the certificates."),
]
TlsCertOption = Annotated[
    Path | None,
    typer.Option("--tls-cert", exists=True, dir_okay=False, help="Certificate of this side."),
]
TlsKeyOption = Annotated[
    Path | None,
    typer.Option("--tls-key", exists=True, dir_okay=False, help="Its private key."),
]


@dataclass(frozen=True)
class CrewChoice:
    """What was given of these options; at most one of `scheduler` and `slurm`."""

    scheduler: str | None = None
    slurm: str | None = None
    workers: int | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.slurm is not None:
            raise typer.BadParameter("--scheduler and --slurm exclude each other")
        if self.workers is not None and self.slurm is None:
            raise typer.BadParameter("--workers says how many jobs --slurm starts: give both")
        if any((self.ca, self.cert, self.key)) and self.scheduler is None:
            raise typer.BadParameter("--tls-ca, --tls-cert and --tls-key are for --scheduler tls://...")

    @property
    def is_given(self) -> bool:
        return self.scheduler is not None or self.slurm is not None

    @property
    def tls(self) -> Tls:
        from profiler.cluster.connection import Tls

        return Tls(self.ca, self.cert, self.key)

    def open(self, *, gpus: bool, say: Callable[[str], None]) -> WorkerPool:
        """The workers that were asked for; with `gpus`, each offers one. `say` gets a line when there is news."""
        if self.slurm is not None:
            from profiler.cluster.slurm import start_slurm_workers

            return start_slurm_workers(self.slurm, self.workers or 1, gpus=gpus, say=say)
        from profiler.cluster.connection import connect

        assert self.scheduler is not None
        return connect(self.scheduler, self.tls)
