"""Which servers to use: those of the environment, else those of the running stack."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from schemas.errors import StackError
from stack.home import Home, find_home

OLLAMA_PORT = 11434


@dataclass(frozen=True, kw_only=True)
class Connections:
    """The servers that the environment names, else those of the running stack. The repr hides their passwords."""

    home: Home
    servers: Mapping[str, str]
    """URLs under DATABASE_URL, REDIS_URL and OLLAMA_HOST, of those that are named."""
    flower_url: str | None = None
    """The monitor of the running stack, if it has one."""
    api_url: str | None = None
    """The API and the pages of the running stack, if it has them."""

    def __repr__(self) -> str:
        return f"Connections({', '.join(f'{name}={masked(url)!r}' for name, url in self.servers.items())})"

    @property
    def database_url(self) -> str:
        """`postgresql://user:password@host:port/database`. Raises StackError where none is named."""
        return self._named("DATABASE_URL")

    @property
    def redis_url(self) -> str:
        """The broker. Raises StackError where none is named."""
        return self._named("REDIS_URL")

    @property
    def ollama_url(self) -> str | None:
        """`http://host:port`, of the embedded server too; None where none is named."""
        return self.servers.get("OLLAMA_HOST")

    def environment(self) -> dict[str, str]:
        """The variables that make another process of ragq use the same servers."""
        return {**self.servers, "DATABASE_URL": self.database_url, "REDIS_URL": self.redis_url}

    def _named(self, variable: str) -> str:
        if variable not in self.servers:
            raise StackError(
                f"{variable} is not set and no stack runs in {self.home.folder}. "
                f"Run `ragq up`, or set {variable} to an external server."
            )
        return self.servers[variable]


def connections(environment: Mapping[str, str] = os.environ) -> Connections:
    """The servers to use: each of DATABASE_URL, REDIS_URL and OLLAMA_HOST that is set, else the running stack's.
    Nothing is connected to. Raises StackError where the folder of the stack cannot be read and a server is missing."""
    home, given = find_home(environment), given_servers(environment)
    try:
        stack = home.read_state() if home.is_supervised() else None
    except StackError:
        # Who names both servers needs no stack, and the folder may be somebody else's.
        if not {"DATABASE_URL", "REDIS_URL"} <= given.keys():
            raise
        stack = None
    if stack is None:
        return Connections(home=home, servers=given)
    return Connections(home=home, servers=stack.servers | given, flower_url=stack.flower_url, api_url=stack.api_url)


def given_servers(environment: Mapping[str, str]) -> dict[str, str]:
    """The servers that the environment names, by variable, as URLs in one form. An empty text counts as unset.

    >>> given_servers({"DATABASE_URL": "postgres://me:pw@db/ragq", "OLLAMA_HOST": "10.0.0.7", "REDIS_URL": ""})
    {'DATABASE_URL': 'postgresql://me:pw@db/ragq', 'OLLAMA_HOST': 'http://10.0.0.7:11434'}
    """
    given = {}
    if url := environment.get("DATABASE_URL"):
        given["DATABASE_URL"] = database_url(url)
    if url := environment.get("REDIS_URL"):
        given["REDIS_URL"] = broker_url(url)
    if host := environment.get("OLLAMA_HOST"):
        given["OLLAMA_HOST"] = ollama_url(host, environment.get("OLLAMA_PORT"))
    return given


def database_url(url: str) -> str:
    """A database URL as every driver reads it.

    >>> database_url("postgresql+asyncpg://me:pw@127.0.0.1:5432/ragq")
    'postgresql://me:pw@127.0.0.1:5432/ragq'
    >>> database_url("postgresql://me:pw@db/ragq?ssl=require")
    'postgresql://me:pw@db/ragq?sslmode=require'
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("postgresql", "postgres", "postgresql+asyncpg", "postgresql+psycopg"):
        raise StackError(
            f"DATABASE_URL names {scheme if separator else 'no scheme'}, and ragq keeps its work in Postgres. "
            "Write postgresql://user:password@host:port/database."
        )
    server, _, query = rest.partition("?")
    if not query:
        return f"postgresql://{rest}"
    # SQLAlchemy's name for it; asyncpg would hand it to the server as a setting.
    options = [("sslmode" if name == "ssl" else name, value) for name, value in parse_qsl(query)]
    return f"postgresql://{server}?{urlencode(options, safe='/')}"


def broker_url(url: str) -> str:
    """A broker's URL, unchanged. Raises StackError for brokers that ragq does not use.

    >>> broker_url("amqps://me:pw@broker.example:5671/ragq")
    'amqps://me:pw@broker.example:5671/ragq'
    """
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in ("redis", "rediss", "amqp", "amqps"):
        raise StackError(
            f"REDIS_URL names {scheme if separator else 'no scheme'}, and the broker is Redis, Valkey or RabbitMQ. "
            "Write redis://:password@host:port/0 or amqp://user:password@host:port/vhost, or with TLS rediss://, amqps://."
        )
    return url


def ollama_url(host: str, port: str | None = None) -> str:
    """The address of an Ollama server from OLLAMA_HOST, which may be a name, a name with a port, or a URL.

    >>> ollama_url("gpu-box"), ollama_url("gpu-box:9000"), ollama_url("https://llm.example.org", "443")
    ('http://gpu-box:11434', 'http://gpu-box:9000', 'https://llm.example.org:443')
    """
    address = urlsplit(host if "://" in host else f"http://{host}")
    name = f"[{address.hostname}]" if ":" in (address.hostname or "") else address.hostname
    try:
        return f"{address.scheme}://{name}:{address.port or int(port or OLLAMA_PORT)}"
    except ValueError:
        raise StackError(
            f"OLLAMA_HOST is '{host}' and OLLAMA_PORT is '{port or ''}': the port is not a number from 1 to 65535."
        ) from None


def masked(url: str) -> str:
    """A URL without its password, for people and logs.

    >>> masked("redis://:secret@127.0.0.1:6379/0"), masked("redis://:sec/ret@127.0.0.1:6379/0")
    ('redis://:***@127.0.0.1:6379/0', 'redis://***@127.0.0.1:6379/0')
    """
    address = urlsplit(url)
    if address.password is None:
        # A slash in a password ends the host; what is before the last @ may be a password in any case.
        scheme, _, rest = url.partition("://")
        return url if "@" not in rest.removeprefix(address.netloc) else f"{scheme}://***@{rest.rpartition('@')[2]}"
    user, host = address.username or "", address.netloc.rpartition("@")[2]
    return address._replace(netloc=f"{user}:***@{host}").geturl()


#: Names of py-amqp for the options of a URL that redis-py knows.
_OF_AMQP: Final = {"ssl_ca_certs": "ca_certs", "ssl_certfile": "certfile", "ssl_keyfile": "keyfile"}


def broker_address(broker_url: str) -> tuple[str, dict[str, Any] | None]:
    """A broker by its URL, as Celery takes it: a URL, and its `broker_use_ssl`, None without TLS.

    `rediss://` and `amqps://` ask for a certificate of the host name that the authorities of this machine, or those of
    the file `?ssl_ca_certs=PATH`, have signed. `ssl_certfile` and `ssl_keyfile` are the certificate of this client.

    >>> broker_address("redis://:pw@broker:6379/0")
    ('redis://:pw@broker:6379/0', None)
    >>> broker_address("amqps://me:pw@broker:5671/ragq?ssl_ca_certs=/ca.pem")[0]
    'amqps://me:pw@broker:5671/ragq'
    """
    parts = urlsplit(broker_url)
    options = dict(parse_qsl(parts.query))
    if parts.scheme == "rediss":
        # Those of the URL win.
        return broker_url, {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True}
    if parts.scheme == "amqps":
        given = {_OF_AMQP[name]: value for name, value in options.items() if name in _OF_AMQP}
        tls = {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": parts.hostname, **given}
        return parts._replace(query="").geturl(), tls
    return broker_url, None
