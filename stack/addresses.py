"""Which addresses of this machine nobody else can reach."""

import ipaddress
import socket


def is_loopback(host: str) -> bool:
    """Whether a server that listens on a host listens on loopback alone. A name must resolve to loopback only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "127.8.9.10", "::1", "[::1]", "::ffff:127.0.0.1")]
    [True, True, True, True, True]
    >>> [is_loopback(host) for host in ("0.0.0.0", "::", "", "192.168.1.7")]
    [False, False, False, False]
    """
    if (address := literal(host)) is not None:
        return _is_loopback(address)
    if not host:
        return False
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(found) and all(is_loopback(str(address[0])) for *_, address in found)


def literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is written as, in brackets or without; None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _is_loopback(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (inner or address).is_loopback
