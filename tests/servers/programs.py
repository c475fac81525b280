"""Servers that Debian packages: started on a free port, killed, and started again there."""

import os
import shutil
import subprocess
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pytest

from stack.ports import LOOPBACK, Account, free_port
from stack.probes import broker_answers, postgres_answers
from tests import run_folder
from tests.embedded import Started
from tests.servers.certificates import Authority

USER, PASSWORD = "ragq", "password-of-the-tests"


class Program(Started):
    """A server with its files in a folder of its own. Asking for one that is not installed skips the test."""

    package: ClassVar[str]
    binary: ClassVar[str]
    user: ClassVar[str | None] = None
    """Whom the server runs as where the tests run as root; None for root."""

    def __init__(self) -> None:
        if shutil.which(self.binary) is None:
            pytest.skip(f"{self.package} is not installed: `make servers-test` installs it")
        if self.user is not None and os.geteuid() != 0:
            pytest.skip(f"{self.package} is started as user {self.user}, which needs root")
        super().__init__(run_folder.new_folder())
        self.prepare()
        self.write_files()
        if self.user is not None:
            for path in (self.data_dir, *self.data_dir.rglob("*")):
                shutil.chown(path, self.user)

    @cached_property
    def account(self) -> Account:
        return Account(user=self.user)

    @abstractmethod
    def write_files(self) -> None:
        """The configuration."""

    def __exit__(self, *_: object) -> None:
        self.kill()


class Broker(Program):
    """A broker; with TLS if it is given an authority."""

    scheme: ClassVar[str]
    login: ClassVar[str]
    path: ClassVar[str]

    def __init__(self, authority: Authority | None = None) -> None:
        self._authority = authority
        super().__init__()

    @property
    def url(self) -> str:
        if self._authority is None:
            return f"{self.scheme}://{self.login}@{LOOPBACK}:{self.port}{self.path}"
        trusted = f"?ssl_ca_certs={self._authority.certificate}"
        return f"{self.scheme}s://{self.login}@localhost:{self.port}{self.path}{trusted}"

    def answers(self) -> bool:
        return broker_answers(self.url)

    def write(self, name: str, settings: Mapping[str, object], sign: str) -> None:
        (self.data_dir / name).write_text("".join(f"{key}{sign}{value}\n" for key, value in settings.items()))


class Redis(Broker):
    package = "redis-server"
    binary = "redis-server"

    scheme, login, path = "redis", f":{PASSWORD}", "/0"

    def write_files(self) -> None:
        settings = {"bind": LOOPBACK, "port": self.port, "requirepass": PASSWORD, "dir": self.data_dir, "save": '""'}
        if self._authority is not None:
            server = self._authority.issue(self.data_dir)
            settings |= {"port": 0, "tls-port": self.port, "tls-auth-clients": "no"}
            settings |= {"tls-cert-file": server.certificate, "tls-key-file": server.key}
            settings |= {"tls-ca-cert-file": self._authority.certificate}
        self.write("redis.conf", settings, " ")

    def command(self) -> list[str]:
        return [self.binary, str(self.data_dir / "redis.conf")]


class RabbitMQ(Broker):
    package = "rabbitmq-server"
    binary = "/usr/lib/rabbitmq/bin/rabbitmq-server"

    scheme, login, path = "amqp", f"{USER}:{PASSWORD}", "//"

    def write_files(self) -> None:
        settings = {"default_user": USER, "default_pass": PASSWORD, "listeners.tcp.default": f"{LOOPBACK}:{self.port}"}
        if self._authority is not None:
            server = self._authority.issue(self.data_dir)
            del settings["listeners.tcp.default"]
            settings |= {"listeners.tcp": "none", "listeners.ssl.default": f"{LOOPBACK}:{self.port}"}
            settings |= {"ssl_options.certfile": str(server.certificate), "ssl_options.keyfile": str(server.key)}
            settings |= {"ssl_options.verify": "verify_none"}
            settings |= {"ssl_options.cacertfile": str(self._authority.certificate)}
        self.write("rabbitmq.conf", settings, " = ")
        (self.data_dir / "plugins").write_text("[].\n")

    def command(self) -> list[str]:
        places = {name: str(self.data_dir / name.lower()) for name in ("MNESIA_BASE", "LOG_BASE", "PID_FILE")}
        own = places | {
            "NODENAME": f"ragq{self.port}@localhost",
            "DIST_PORT": str(free_port()),
            "CONFIG_FILE": str(self.data_dir / "rabbitmq.conf"),
            "ENABLED_PLUGINS_FILE": str(self.data_dir / "plugins"),
            "SERVER_ADDITIONAL_ERL_ARGS": "-setcookie tests",
        }
        environment = {f"RABBITMQ_{name}": value for name, value in own.items()}
        environment |= {"HOME": str(self.data_dir), "ERL_EPMD_PORT": str(free_port())}
        return ["env", *(f"{name}={value}" for name, value in environment.items()), self.binary]


class PgBouncer(Program):
    """PgBouncer in transaction mode, with four connections to a Postgres."""

    package = "pgbouncer"
    binary = "pgbouncer"
    user = "postgres"

    def __init__(self, postgres_url: str) -> None:
        self._server, _, self._database = postgres_url.rpartition("/")
        super().__init__()

    @property
    def url(self) -> str:
        return f"{self._server.rpartition('@')[0]}@{LOOPBACK}:{self.port}/{self._database}"

    def write_files(self) -> None:
        credentials, _, place = self._server.removeprefix("postgresql://").rpartition("@")
        user, _, password = credentials.partition(":")
        (self.data_dir / "users").write_text(f'"{user}" "{password}"\n')
        host, _, port = place.partition(":")
        (self.data_dir / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={host} port={port}\n"
            f"[pgbouncer]\nlisten_addr = {LOOPBACK}\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = plain\nauth_file = {self.data_dir / 'users'}\n"
            f"pool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 500\n"
        )

    def command(self) -> list[str]:
        return [shutil.which(self.binary) or self.binary, str(self.data_dir / "pgbouncer.ini")]

    def answers(self) -> bool:
        return postgres_answers(self.url)


class DebianPostgres(Program):
    """Another version of Postgres, with pgvector; with TLS if it is given an authority."""

    package = "postgresql"
    user = "postgres"

    def __init__(self, version: int, authority: Authority | None = None) -> None:
        self.binary = f"/usr/lib/postgresql/{version}/bin/postgres"  # type: ignore[misc]
        self.package = f"postgresql-{version}"  # type: ignore[misc]
        if not Path(f"/usr/share/postgresql/{version}/extension/vector.control").exists():
            pytest.skip(f"postgresql-{version} with pgvector is not installed: `make servers-test` installs it")
        self._authority = authority
        super().__init__()

    @property
    def url(self) -> str:
        """Of its database `postgres`."""
        options = "" if self._authority is None else f"?sslmode=verify-full&sslrootcert={self._authority.certificate}"
        return f"postgresql://{USER}:{PASSWORD}@localhost:{self.port}/postgres{options}"

    def write_files(self) -> None:
        password = self.data_dir / "password"
        password.write_text(PASSWORD)
        shutil.chown(self.data_dir, self.user)
        initdb = Path(self.binary).with_name("initdb")
        options = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={password}", "--no-sync"]
        command = [str(initdb), str(self.data_dir / "cluster"), *options, "--locale=C.UTF-8", "--encoding=UTF8"]
        subprocess.run(command, user=self.user, cwd="/", check=True, stdout=subprocess.DEVNULL)
        if self._authority is not None:
            self._authority.issue(self.data_dir)

    def command(self) -> list[str]:
        settings = {"listen_addresses": "localhost", "port": self.port, "unix_socket_directories": "", "fsync": "off"}
        if self._authority is not None:
            files = {"ssl_cert_file": self.data_dir / "server.pem", "ssl_key_file": self.data_dir / "server.key"}
            settings |= {"ssl": "on", **files}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [self.binary, "-D", str(self.data_dir / "cluster"), *options]

    def answers(self) -> bool:
        return postgres_answers(self.url)
