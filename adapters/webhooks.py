"""Sends webhooks: to addresses that may be asked, without following redirects, and without reading what is answered."""

import asyncio
import socket
from collections.abc import Iterable, Mapping
from typing import Final

import httpcore

from stages.webhooks import is_public

#: For each of connecting, sending, and waiting for the status.
_SECONDS: Final = 5.0


class NotDeliveredError(Exception):
    """A message was not accepted. The text says why, without the address or what was answered."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        self.is_final = is_final
        """The receiver said that it wants no more."""
        super().__init__(reason)


class _PublicNetwork(httpcore.AsyncNetworkBackend):
    """Connects to what a name resolves to, unless one of its addresses is private. The address that was looked at is
    the one that is connected to: a name that resolves otherwise the next time has no effect."""

    def __init__(self) -> None:
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError("the name of the host is not known") from error
        addresses = [str(address[4][0]) for address in found]
        if not all(map(is_public, addresses)):
            raise NotDeliveredError("the host has a private address; RAGQ_WEBHOOK_ALLOW_PRIVATE=true allows it")
        return await self._network.connect_tcp(addresses[0], port, timeout, local_address, socket_options)


async def deliver(url: str, headers: Mapping[str, str], body: bytes, *, allow_private: bool) -> None:
    """Send a JSON message. Raises NotDeliveredError unless the status of the answer is 2xx."""
    limits = dict.fromkeys(("connect", "read", "write", "pool"), _SECONDS)
    sent = [*headers.items(), ("content-type", "application/json"), ("user-agent", "ragq")]
    network = None if allow_private else _PublicNetwork()
    try:
        async with (
            httpcore.AsyncConnectionPool(network_backend=network) as pool,
            pool.stream("POST", url, headers=sent, content=body, extensions={"timeout": limits}) as response,
        ):
            status = response.status
    except httpcore.TimeoutException as error:
        raise NotDeliveredError(f"no answer in {_SECONDS:g} seconds") from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise NotDeliveredError(f"the host was not reached ({type(error).__name__})") from error
    if not 200 <= status < 300:
        raise NotDeliveredError(f"answered with status {status}", is_final=status == 410)
