"""Servers that Debian packages: started on a free port, killed, and started again there."""

import os
import pwd
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from stack.ports import LOOPBACK, free_port
from stack.probes import broker_answers, postgres_answers
from stack.processes import kill_tree
from tests import run_folder
from tests.servers.certificates import Authority

START_TIMEOUT_S = 60.0
USER, PASSWORD = "ragq", "password-of-the-tests"


class Program(ABC):
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
        self.folder = run_folder.new_folder()
        self.log = self.folder / "output"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.write_files()
        if self.user is not None:
            for path in (self.folder, *self.folder.rglob("*")):
                shutil.chown(path, self.user)

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect."""

    @abstractmethod
    def write_files(self) -> None:
        """The configuration."""

    @abstractmethod
    def command(self) -> list[str]:
        """The server in the foreground."""

    @abstractmethod
    def answers(self) -> bool:
        """It accepts clients."""

    def environment(self) -> Mapping[str, str]:
        """That of the process."""
        return os.environ

    def start(self) -> Self:
        """Start it and wait until it answers."""
        account: dict[str, Any] = {}
        if self.user is not None:
            account = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                **account,
                env=self.environment(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.answers():
            assert self._process.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)
        return self

    def kill(self) -> None:
        """SIGKILL, children included."""
        if self._process is not None:
            kill_tree(self._process.pid)
            self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

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
        """A configuration of a setting in each line."""
        (self.folder / name).write_text("".join(f"{key}{sign}{value}\n" for key, value in settings.items()))


class Redis(Broker):
    """Redis, which Valkey was forked from."""

    package = "redis-server"
    binary = "redis-server"

    scheme, login, path = "redis", f":{PASSWORD}", "/0"

    def write_files(self) -> None:
        settings = {"bind": LOOPBACK, "port": self.port, "requirepass": PASSWORD, "dir": self.folder, "save": '""'}
        if self._authority is not None:
            server = self._authority.issue(self.folder, "localhost")
            settings |= {"port": 0, "tls-port": self.port, "tls-auth-clients": "no"}
            settings |= {"tls-cert-file": server.certificate, "tls-key-file": server.key}
            settings |= {"tls-ca-cert-file": self._authority.certificate}
        self.write("redis.conf", settings, " ")

    def command(self) -> list[str]:
        return [self.binary, str(self.folder / "redis.conf")]


class RabbitMQ(Broker):
    """RabbitMQ, a node of its own."""

    package = "rabbitmq-server"
    binary = "/usr/lib/rabbitmq/bin/rabbitmq-server"

    scheme, login, path = "amqp", f"{USER}:{PASSWORD}", "//"

    def write_files(self) -> None:
        settings = {"default_user": USER, "default_pass": PASSWORD, "listeners.tcp.default": f"{LOOPBACK}:{self.port}"}
        if self._authority is not None:
            server = self._authority.issue(self.folder, "localhost")
            del settings["listeners.tcp.default"]
            settings |= {"listeners.tcp": "none", "listeners.ssl.default": f"{LOOPBACK}:{self.port}"}
            settings |= {"ssl_options.certfile": str(server.certificate), "ssl_options.keyfile": str(server.key)}
            settings |= {"ssl_options.verify": "verify_none"}
            settings |= {"ssl_options.cacertfile": str(self._authority.certificate)}
        self.write("rabbitmq.conf", settings, " = ")
        (self.folder / "plugins").write_text("[].\n")

    def command(self) -> list[str]:
        return [self.binary]

    def environment(self) -> Mapping[str, str]:
        places = {name: str(self.folder / name.lower()) for name in ("MNESIA_BASE", "LOG_BASE", "PID_FILE")}
        own = places | {
            "NODENAME": f"ragq{self.port}@localhost",
            "DIST_PORT": str(free_port()),
            "CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "SERVER_ADDITIONAL_ERL_ARGS": "-setcookie tests",
        }
        prefixed = {f"RABBITMQ_{name}": value for name, value in own.items()}
        return os.environ | prefixed | {"HOME": str(self.folder), "ERL_EPMD_PORT": str(free_port())}


class PgBouncer(Program):
    """PgBouncer in transaction mode, with few connections to a Postgres."""

    package = "pgbouncer"
    binary = "pgbouncer"
    user = "postgres"

    def __init__(self, postgres_url: str, *, connections: int = 4) -> None:
        self._server, _, self._database = postgres_url.rpartition("/")
        self._connections = connections
        super().__init__()

    @property
    def url(self) -> str:
        return f"{self._server.rpartition('@')[0]}@{LOOPBACK}:{self.port}/{self._database}"

    def write_files(self) -> None:
        credentials, _, place = self._server.removeprefix("postgresql://").rpartition("@")
        user, _, password = credentials.partition(":")
        (self.folder / "users").write_text(f'"{user}" "{password}"\n')
        host, _, port = place.partition(":")
        (self.folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={host} port={port}\n"
            f"[pgbouncer]\nlisten_addr = {LOOPBACK}\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = plain\nauth_file = {self.folder / 'users'}\n"
            f"pool_mode = transaction\ndefault_pool_size = {self._connections}\nmax_client_conn = 500\n"
        )

    def command(self) -> list[str]:
        return [shutil.which(self.binary) or self.binary, str(self.folder / "pgbouncer.ini")]

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
        password = self.folder / "password"
        password.write_text(PASSWORD)
        shutil.chown(self.folder, self.user)
        initdb = Path(self.binary).with_name("initdb")
        options = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={password}", "--no-sync"]
        command = [str(initdb), str(self.folder / "cluster"), *options, "--locale=C.UTF-8", "--encoding=UTF8"]
        subprocess.run(command, user=self.user, cwd="/", check=True, stdout=subprocess.DEVNULL)
        if self._authority is not None:
            self._authority.issue(self.folder, "localhost")

    def command(self) -> list[str]:
        settings = {"listen_addresses": "localhost", "port": self.port, "unix_socket_directories": "", "fsync": "off"}
        if self._authority is not None:
            files = {"ssl_cert_file": self.folder / "server.pem", "ssl_key_file": self.folder / "server.key"}
            settings |= {"ssl": "on", **files}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [self.binary, "-D", str(self.folder / "cluster"), *options]

    def answers(self) -> bool:
        return postgres_answers(self.url)
