"""Runs workers on this host for a scheduler elsewhere, each in a process of its own.

A worker that dies is started again. All of them end with this process, however it ends.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profiler.cluster.connection import (
    CONNECT_ERRORS,
    CONNECT_S,
    START_S,
    Tls,
    Workers,
    first_cause,
    nanny_options,
    prepare_dask,
    unreachable,
)
from profiler.errors import ClusterUnreachable, SchedulerLost

if TYPE_CHECKING:
    from distributed import Nanny

_CLOSE_S = 2.0  # nobody needs what a worker is doing then


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
    address: str, tls: Tls, workers: Workers, listening: Listening, begun: Callable[[], None]
) -> None:
    """Runs the workers until SIGINT or SIGTERM arrives; calls `begun` when all of them are connected."""
    prepare_dask()
    asyncio.run(_host(address, tls, workers, listening, begun))


async def _host(
    address: str, tls: Tls, workers: Workers, listening: Listening, begun: Callable[[], None]
) -> None:
    asked_to_end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked_to_end.set)
    host = listening.host_of(await _probe(address, tls))
    nannies = [_nanny(address, tls, name, added, host) for name, added in workers.items()]
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


def _nanny(address: str, tls: Tls, name: str, environment: Mapping[str, str], host: str) -> Nanny:
    """Makes a worker that answers one call at a time and may start processes of its own.

    Dask's own profiler would wake it a hundred times a second, also while a kernel is timed: 2 % of a core.
    """
    from distributed import Nanny

    return Nanny(
        address,
        name=name,
        host=host,
        config={"distributed.worker.daemon": False, "distributed.worker.profile.enabled": False},
        death_timeout=START_S,
        **nanny_options(environment, tls.security()),
    )
