"""`prof worker` lends this host's GPUs to a Dask scheduler."""

from __future__ import annotations

import socket
import sys
from typing import Annotated

from typer import Argument, Context, Option

from profiler.cluster.hosted_workers import Listening, host_workers
from profiler.commands.shared import options
from profiler.commands.shared.cluster_options import ClusterChoice
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.verb import OfOptions
from profiler.measuring.tools.gpus import choose_gpus, find_gpus
from profiler.measuring.tools.ncu import find_ncu


def worker(
    *,
    context: Context,
    scheduler: Annotated[
        str,
        Argument(metavar="ADDRESS", help="Address of a Dask scheduler: tcp://host:8786, or tls://host:8786."),
    ],
    gpus: Annotated[str, Option(metavar="LIST", help="GPUs of this host to lend: all, or 0,1.")] = "all",
    name: Annotated[
        str | None,
        Option(
            "--name",
            metavar="NAME",
            help="First part of the workers' names, before -gpu0 [default: the host's name].",
        ),
    ] = None,
    host: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="Address of this host to listen at [default: the one that reaches the scheduler].",
        ),
    ] = None,
    interface: Annotated[
        str | None, Option(metavar="NAME", help="Listen on this network interface, such as ib0.")
    ] = None,
    cluster: Annotated[ClusterChoice, OfOptions(ClusterChoice, "scheduler", "tls_ca", "tls_cert", "tls_key")],
) -> None:
    """Lend this host's GPUs to a cluster until Ctrl-C.

    Every GPU gets a worker of its own, and `prof` starts a worker again when it dies. Anybody who can reach the
    scheduler or a worker can run code here as you: keep them in a private network, or use TLS with --tls-ca,
    --tls-cert and --tls-key.

    Examples:
      prof worker tcp://head:8786
      prof worker tls://head:8786 --gpus 0,1 --interface ib0
    """
    if host is not None and interface is not None:
        raise Misuse("--host and --interface exclude each other")
    settings = options.settings_of(context)
    ncu, visible = find_ncu(), find_gpus()
    chosen = choose_gpus(gpus, visible)
    hosted = {
        f"{name or socket.gethostname()}-gpu{visible.index(gpu)}": {"CUDA_VISIBLE_DEVICES": gpu.uuid}
        for gpu in chosen
    }

    def begun() -> None:
        if settings.quiet:
            return
        for one, gpu in zip(hosted, chosen, strict=True):
            print(f"worker      {one}: {gpu.name}, {gpu.uuid}, ncu {ncu.version}", file=sys.stderr)
        print(f"working for {scheduler}; Ctrl-C ends it", file=sys.stderr, flush=True)

    host_workers(scheduler, cluster.tls, hosted, Listening(host, interface), begun)
