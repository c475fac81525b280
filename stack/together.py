"""Several processes of one command in the foreground, which end together."""

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

#: A process that ends sooner after its start would end again.
HOPELESS_S: Final = 10.0
_POLL_S: Final = 0.1
_PR_SET_PDEATHSIG: Final = 1


def run_together(commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> int:
    """Run the commands until this process gets SIGTERM or SIGINT, which each of them then gets too.

    A process that ends by itself is started again, unless it had just been started: then the others are stopped.
    Returns the exit code: 0 after a signal, else that of the process that ended.
    """
    together = _Together(environment)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, together.pass_on)
    for command in commands:
        together.start(command)
    while together.is_running():
        time.sleep(_POLL_S)
    return together.exit_code


class _Together:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._processes: list[tuple[subprocess.Popen[bytes], Sequence[str], float]] = []
        self._is_stopping = False
        self.exit_code = 0

    def start(self, command: Sequence[str]) -> None:
        process = subprocess.Popen(
            command,
            env=self._environment,
            # Ctrl-C reaches this process alone, so that each of the others gets it once.
            start_new_session=True,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )
        self._processes.append((process, command, time.monotonic()))

    def pass_on(self, number: int, _frame: object) -> None:
        self._is_stopping = True
        self._signal(number)

    def is_running(self) -> bool:
        """Whether anything runs, after what has ended by itself was started again."""
        ended = [one for one in self._processes if one[0].poll() is not None]
        self._processes = [one for one in self._processes if one not in ended]
        for process, command, started in ended:
            if self._is_stopping:
                continue
            if time.monotonic() - started >= HOPELESS_S:
                self.start(command)
            else:
                self.exit_code = process.returncode if process.returncode > 0 else 1
                self.pass_on(signal.SIGTERM, None)
        return bool(self._processes)

    def _signal(self, number: int) -> None:
        for process, _, _ in self._processes:
            process.send_signal(number)


def _end_with_parent() -> None:
    """Between fork and exec: get SIGTERM when this process's parent is killed, as nobody else would stop it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
