"""TLS to the broker: its certificate is checked, which kombu leaves out unless it is told."""

import ssl
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

#: Names of py-amqp for the options of a URL that redis-py knows.
_OF_AMQP: Final = {"ssl_ca_certs": "ca_certs", "ssl_certfile": "certfile", "ssl_keyfile": "keyfile"}


class BrokerAddress(NamedTuple):
    """What Celery is given."""

    url: str
    tls: dict[str, Any] | None
    """Its `broker_use_ssl`; None without TLS."""


def address(broker_url: str) -> BrokerAddress:
    """A broker by its URL, as Celery takes it.

    `rediss://` and `amqps://` ask for a certificate of the host name that the authorities of this machine, or those of
    the file `?ssl_ca_certs=PATH`, have signed. `ssl_certfile` and `ssl_keyfile` are the certificate of this client.

    >>> address("redis://:pw@broker:6379/0").tls is None
    True
    >>> address("amqps://me:pw@broker:5671/ragq?ssl_ca_certs=/ca.pem").url
    'amqps://me:pw@broker:5671/ragq'
    """
    parts = urlsplit(broker_url)
    options = dict(parse_qsl(parts.query))
    if parts.scheme == "rediss":
        # Those of the URL win.
        return BrokerAddress(broker_url, {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True})
    if parts.scheme == "amqps":
        given = {_OF_AMQP[name]: value for name, value in options.items() if name in _OF_AMQP}
        tls = {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": parts.hostname, **given}
        return BrokerAddress(parts._replace(query="").geturl(), tls)
    return BrokerAddress(broker_url, None)
