"""The servers of the stack as processes of the tests, which may kill them and start them again."""

import subprocess
import time
from typing import Any, Self

from stack import servers
from stack.logs import last_lines
from stack.probes import broker_answers, postgres_answers
from stack.supervision import STOP_TIMEOUT_S, kill_tree

_START_S = 60.0
_POLL_S = 0.05


class Started(servers.EmbeddedServer):
    """A server that is started, killed, and started again on its port."""

    _process: "subprocess.Popen[bytes]"

    @property
    def pid(self) -> int:
        return self._process.pid

    def answers(self) -> bool:
        raise NotImplementedError

    def start(self) -> Self:
        """Start the server and wait until it answers."""
        self.prepare()
        path = self.data_dir / "log"
        with path.open("ab") as log:
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
        deadline = time.monotonic() + _START_S
        while not self.answers():
            assert self._process.poll() is None and time.monotonic() < deadline, last_lines(path)
            time.sleep(_POLL_S)
        return self

    def kill(self) -> None:
        kill_tree(self.pid)
        self._process.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        if self._process.poll() is None:
            self._process.send_signal(self.stop_signal)
            self._process.wait(STOP_TIMEOUT_S)


class PostgresServer(Started, servers.PostgresServer):
    """A Postgres that forces nothing to disk: its commits outlive the server, and not the machine."""

    def command(self) -> list[str]:
        """See EmbeddedServer."""
        return [*super().command(), "-c", "fsync=off", "-c", "full_page_writes=off"]

    def answers(self) -> bool:
        return postgres_answers(self.url)


class ValkeyServer(Started, servers.ValkeyServer):
    """A Valkey."""

    def answers(self) -> bool:
        return broker_answers(self.url)
