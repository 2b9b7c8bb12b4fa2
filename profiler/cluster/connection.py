"""Makes worker pools: connects to a scheduler, or starts workers on this host for one command."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiler.cluster.worker_pool import WorkerPool
from profiler.errors import ClusterNotInstalled, ClusterUnreachable

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

CONNECT_S = 10.0
START_S = 60.0
# Without a dashboard Dask still serves web pages, unencrypted and on every interface unless it is given an address.
NO_DASHBOARD: dict[str, Any] = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
CONNECT_ERRORS = (OSError, ValueError, RuntimeError, TypeError)  # what Dask raises when a connection fails
_LARGE = "1 GB"  # binaries and reports travel with the calls, and Dask should not warn about their size
Workers = Mapping[str, Mapping[str, str]]  # by name: what is added to the environment of its process


@dataclass(frozen=True)
class Tls:
    """Certificate files in PEM format. Dask's own configuration supplies those that are not given."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def security(self) -> Security:
        from distributed.security import Security

        given = {"tls_ca_file": self.ca}
        for role in ("client", "scheduler", "worker"):
            given |= {f"tls_{role}_cert": self.cert, f"tls_{role}_key": self.key}
        words: dict[str, Any] = {name: str(path) for name, path in given.items() if path is not None}
        return Security(**words, require_encryption=True) if words else Security()


def connect(address: str, tls: Tls | None = None) -> WorkerPool:
    """Connects to a scheduler; there may be no workers yet."""
    client_of = prepare_dask()
    try:
        client = client_of(
            address, security=(tls or Tls()).security(), timeout=CONNECT_S, set_as_default=False
        )
    except CONNECT_ERRORS as error:
        raise unreachable(address, error) from None
    return WorkerPool(client)


def start_local_workers(workers: Workers) -> WorkerPool:
    """Starts workers on this host for as long as the pool is used.

    They listen on loopback and accept only a certificate made for this pool, which keeps other users of the
    host out.
    """
    client_of = prepare_dask()
    from distributed import Nanny, Scheduler, SpecCluster
    from distributed.security import Security

    security = Security.temporary()
    specified = {
        name: {"cls": Nanny, "options": {**nanny_options(environment, security), "host": "127.0.0.1"}}
        for name, environment in workers.items()
    }
    listening = {"protocol": "tls://", "host": "127.0.0.1", "port": 0, "security": security}
    scheduler = {"cls": Scheduler, "options": {**listening, **NO_DASHBOARD}}
    cluster = SpecCluster(
        workers=specified, scheduler=scheduler, security=security, silence_logs=logging.CRITICAL
    )

    def close() -> None:
        with suppress(Exception):
            cluster.close(timeout=CONNECT_S)

    try:
        client = client_of(cluster, set_as_default=False)
        client.wait_for_workers(len(workers), timeout=START_S)
        return WorkerPool(client, close)
    except BaseException as error:
        close()
        if isinstance(error, (OSError, TimeoutError)):
            raise ClusterUnreachable(f"the workers of this host did not start: {error}") from None
        raise


def nanny_options(environment: Mapping[str, str], security: Security) -> dict[str, Any]:
    """Returns the options of a worker that lends a GPU, answers one call at a time, and logs nothing."""
    return {
        "nthreads": 1,
        "resources": {"GPU": 1},
        "env": {"DASK_LOGGING__DISTRIBUTED": "critical", **environment},
        "memory_limit": 0,
        "security": security,
        "silence_logs": logging.CRITICAL,
        **NO_DASHBOARD,
    }


def prepare_dask() -> type[Client]:
    """Returns Dask's client class, and silences Dask's own messages: prof reports what matters."""
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise ClusterNotInstalled(f"Dask is not installed: {error}") from None
    dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGE})
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return Client


def unreachable(address: str, error: Exception) -> ClusterUnreachable:
    if isinstance(error, TypeError):  # Dask raises this for tls:// without certificates
        return ClusterUnreachable(f"{address}: it needs certificates, and none were given")
    return ClusterUnreachable(f"{address}: no Dask scheduler answers there: {first_cause(error)}")


def first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
