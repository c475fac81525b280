"""What a webhook is: which addresses are asked, how a message is signed, and when a failed one is sent again.

Headers and signatures are those of Standard Webhooks (https://www.standardwebhooks.com), version 1.
"""

import base64
import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from schemas.errors import Refused
from schemas.values.requests import LONGEST_URL

#: Seconds before the second, third, ... time that a message is sent; after the last one it is given up.
WAITS_S: Final = (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)

_ALLOW: Final = "set RAGQ_WEBHOOK_ALLOW_PRIVATE=true here and for the workers"


def checked_url(url: str, *, allow_private: bool) -> str:
    """The address of a webhook: https, or with `allow_private` http too. Raises Refused for anything else, and for
    hosts that are private by their name or number. What a name resolves to is looked at when a message is sent."""
    parts = _parts(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused("The address of a webhook is https://host/path of at most 2,000 characters.")
    if parts.username is not None or parts.fragment:
        raise Refused("The address of a webhook has no user, password or fragment.")
    if allow_private:
        return url
    if parts.scheme == "http":
        raise Refused(f"The address of a webhook is not encrypted. Use https, or {_ALLOW}.")
    if _is_private_name(parts.hostname):
        raise Refused(f"{parts.hostname} is a private address. To allow it, {_ALLOW}.")
    return url


def _parts(url: str) -> SplitResult | None:
    if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        return None if parts.port == 0 else parts
    except ValueError:
        return None


def _is_private_name(host: str) -> bool:
    name = host.rstrip(".").lower()
    try:
        return not is_public(name)
    except ValueError:
        return name == "localhost" or name.endswith((".localhost", ".local", ".internal"))


def is_public(address: str) -> bool:
    """Whether an address of IPv4 or IPv6 is reached over the internet. Raises ValueError for a name.

    >>> is_public("9.9.9.9"), is_public("10.0.0.1"), is_public("::ffff:127.0.0.1"), is_public("169.254.169.254")
    (True, False, False, False)
    """
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        # An address of IPv4 in one of IPv6 is as public as the former: mapped, 6to4, NAT64.
        inner = found.ipv4_mapped or found.sixtofour
        if inner is None and found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        found = inner or found
    return found.is_global and not found.is_multicast


_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


def shown_url(url: str) -> str:
    """The scheme and host of an address: its path may be a secret of the receiver.

    >>> shown_url("https://hooks.example.org/services/T0/secret")
    'https://hooks.example.org/…'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def signed_headers(key: bytes, message_id: str, at_s: int, body: bytes) -> Mapping[str, str]:
    """The headers of a message that is sent at a time, in seconds since 1970."""
    content = b".".join((message_id.encode(), str(at_s).encode(), body))
    signature = base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(at_s), "webhook-signature": f"v1,{signature}"}


def wait_s(times_sent: int) -> float | None:
    """Seconds until a message is sent again that was sent so often; None when it is given up.

    >>> wait_s(1), wait_s(9), wait_s(10)
    (5, 86400, None)
    """
    return WAITS_S[times_sent - 1] if times_sent <= len(WAITS_S) else None
