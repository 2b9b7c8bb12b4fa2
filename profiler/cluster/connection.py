"""Makes worker pools: connects to a scheduler, or starts workers on this host for one command."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiler.cluster.worker_pool import WorkerPool
from profiler.errors import ClusterNotInstalled, ClusterUnreachable, SchedulerLost

if TYPE_CHECKING:
    from distributed import Client, Nanny
    from distributed.security import Security

CONNECT_S = 10.0
START_S = 60.0
_LARGE = "1 GB"  # binaries and reports travel with the calls, and Dask should not warn about their size


@dataclass(frozen=True)
class Tls:
    """Certificate files in PEM format. Dask's own configuration supplies those that are not given."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def security(self) -> Security:
        from distributed.security import Security

        given = {
            "tls_ca_file": self.ca,
            "tls_client_cert": self.cert,
            "tls_client_key": self.key,
            "tls_scheduler_cert": self.cert,
            "tls_scheduler_key": self.key,
            "tls_worker_cert": self.cert,
            "tls_worker_key": self.key,
        }
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


def start_local_workers(
    environments: Sequence[Mapping[str, str]], gpus: bool, names: Sequence[str] | None = None
) -> WorkerPool:
    """Starts one worker process on this host for each environment, for as long as the pool is used.

    They listen on loopback and accept only a certificate made for this pool, which keeps other users of the
    host out.
    """
    names = names or [f"worker-{number}" for number in range(len(environments))]
    client_of = prepare_dask()
    from distributed import Nanny, Scheduler, SpecCluster
    from distributed.security import Security

    security = Security.temporary()
    workers = {
        name: {"cls": Nanny, "options": {**nanny_options(environment, security, gpus), "host": "127.0.0.1"}}
        for name, environment in zip(names, environments, strict=True)
    }
    scheduler = {
        "cls": Scheduler,
        "options": {
            "protocol": "tls://",
            "host": "127.0.0.1",
            "port": 0,
            "security": security,
            **NO_DASHBOARD,
        },
    }
    cluster = SpecCluster(
        workers=workers, scheduler=scheduler, security=security, silence_logs=logging.CRITICAL
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


# Without a dashboard Dask still serves web pages, unencrypted and on every interface unless it is given an address.
NO_DASHBOARD: dict[str, Any] = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
CONNECT_ERRORS = (OSError, ValueError, RuntimeError, TypeError)  # what Dask raises when a connection fails


def nanny_options(environment: Mapping[str, str], security: Security, gpus: bool) -> dict[str, Any]:
    """Returns the options of a worker that answers one call at a time, and logs nothing."""
    return {
        "nthreads": 1,
        "resources": {"GPU": 1} if gpus else {},
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


# Runs workers on this host for a scheduler elsewhere, each in a process of its own.
#
# A worker that dies is started again. All of them end with this process, however it ends.

_CLOSE_S = 2.0  # nobody needs what a worker is doing then


@dataclass(frozen=True)
class HostedWorker:
    """A worker to start; `environment` is added to that of its process."""

    name: str
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Listening:
    """The address at which workers listen: the address `host`, at `interface`, or else where this host
    reaches the scheduler from.
    """

    host: str | None = None
    interface: str | None = None

    def host_of(self, local_address: str) -> str:
        """Returns the host for Dask; `local_address` is this side of a connection to the scheduler."""
        from distributed.comm.addressing import get_address_host, unparse_host_port
        from distributed.utils import get_ip_interface

        if self.host is not None:
            return self.host
        if self.interface is None:
            return unparse_host_port(get_address_host(local_address))
        try:
            return unparse_host_port(get_ip_interface(self.interface))
        except ValueError as error:
            raise ClusterUnreachable(
                f"--interface {self.interface}: {error}", remedy="`ip address` lists the interfaces."
            ) from None


def host_workers(
    address: str, tls: Tls, workers: Sequence[HostedWorker], listening: Listening, begun: Callable[[], None]
) -> None:
    """Runs the workers until SIGINT or SIGTERM arrives; calls `begun` when all of them are connected."""
    prepare_dask()
    asyncio.run(_host(address, tls, workers, listening, begun))


async def _host(
    address: str, tls: Tls, workers: Sequence[HostedWorker], listening: Listening, begun: Callable[[], None]
) -> None:
    asked_to_end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked_to_end.set)
    host = listening.host_of(await _probe(address, tls))
    nannies = [_nanny(address, tls, worker, host) for worker in workers]
    ending: asyncio.Future[Any] = asyncio.ensure_future(asked_to_end.wait())
    try:
        starting: asyncio.Future[Any] = asyncio.gather(*(_start(nanny, address) for nanny in nannies))
        await asyncio.wait([starting, ending], return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            return
        starting.result()
        begun()
        ended: asyncio.Future[Any] = asyncio.gather(*(nanny.finished() for nanny in nannies))
        await asyncio.wait([ended, ending], return_when=asyncio.FIRST_COMPLETED)
        if not asked_to_end.is_set():
            raise SchedulerLost(
                f"{address}: the Dask scheduler is gone, or no longer needs these workers",
                remedy="Start the scheduler again, then this command.",
            )
    finally:
        ending.cancel()
        await asyncio.gather(*(nanny.close(timeout=_CLOSE_S) for nanny in nannies), return_exceptions=True)


async def _probe(address: str, tls: Tls) -> str:
    """Connects to the scheduler once, and returns the address on this side. Unlike a worker, this does not try again."""
    from distributed.comm.core import connect

    try:
        arguments: dict[str, Any] = tls.security().get_connection_args("worker")
        comm = await connect(address, timeout=CONNECT_S, **arguments)
    except CONNECT_ERRORS as error:
        raise unreachable(address, error) from None
    local_address: str = comm.local_address
    await comm.close()
    return local_address


async def _start(nanny: Nanny, address: str) -> None:
    try:
        await nanny
    except Exception as error:
        cause = str(first_cause(error))
        if "name taken" in cause:
            raise ClusterUnreachable(
                f"{address}: there is a worker {nanny.name} already", remedy="Give another --name."
            ) from None
        raise ClusterUnreachable(f"{address}: worker {nanny.name} was refused: {cause}") from None


def _nanny(address: str, tls: Tls, worker: HostedWorker, host: str) -> Nanny:
    """Makes a worker that answers one call at a time and may start processes of its own.

    Dask's own profiler would wake it a hundred times a second, also while a kernel is timed: 2 % of a core.
    """
    from distributed import Nanny

    return Nanny(
        address,
        name=worker.name,
        host=host,
        config={"distributed.worker.daemon": False, "distributed.worker.profile.enabled": False},
        death_timeout=START_S,
        **nanny_options(worker.environment, tls.security(), gpus=True),
    )
