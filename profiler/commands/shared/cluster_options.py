"""Options that choose the workers of a cluster and the certificates for reaching them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.verb import OfOptions

if TYPE_CHECKING:
    from profiler.cluster.connection import Tls
    from profiler.cluster.worker_pool import WorkerPool


@dataclass(frozen=True)
class ClusterChoice:
    """The workers that options choose; at most one of `scheduler` and `slurm` is given."""

    scheduler: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="Use the workers of this Dask scheduler: tcp://host:8786, or tls://host:8786.",
        ),
    ] = None
    slurm: Annotated[
        str | None,
        Option(
            metavar="OPTIONS",
            help="Start workers as Slurm jobs, with these sbatch options: '--partition gpu --gres gpu:1'.",
        ),
    ] = None
    workers: Annotated[
        int | None, Option(metavar="N", min=1, help="Number of jobs that --slurm starts [default: 1].")
    ] = None
    tls_ca: Annotated[
        Path | None,
        Option(
            exists=True,
            dir_okay=False,
            help="Certificate of the authority that signed the certificates, for tls://.",
        ),
    ] = None
    tls_cert: Annotated[
        Path | None, Option(exists=True, dir_okay=False, help="Certificate of this machine, for tls://.")
    ] = None
    tls_key: Annotated[
        Path | None, Option(exists=True, dir_okay=False, help="Private key of --tls-cert.")
    ] = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.slurm is not None:
            raise Misuse("--scheduler and --slurm exclude each other")
        if self.workers is not None and self.slurm is None:
            raise Misuse("--workers says how many jobs --slurm starts: give both")
        if any((self.tls_ca, self.tls_cert, self.tls_key)) and self.scheduler is None:
            raise Misuse("--tls-ca, --tls-cert and --tls-key are for --scheduler tls://...")

    @property
    def is_given(self) -> bool:
        return self.scheduler is not None or self.slurm is not None

    @property
    def tls(self) -> Tls:
        from profiler.cluster.connection import Tls

        return Tls(self.tls_ca, self.tls_cert, self.tls_key)

    def open(self, *, gpus: bool, say: Callable[[str], None]) -> WorkerPool:
        """Returns the workers that were asked for; with `gpus`, each offers one GPU. `say` receives progress lines."""
        if self.slurm is not None:
            from profiler.cluster.slurm import start_slurm_workers

            return start_slurm_workers(self.slurm, self.workers or 1, gpus=gpus, say=say)
        from profiler.cluster.connection import connect

        assert self.scheduler is not None
        return connect(self.scheduler, self.tls)


Cluster = Annotated[ClusterChoice, OfOptions(ClusterChoice)]
