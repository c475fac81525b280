"""What a worker and its watchdog send each other."""

import signal
from typing import Final, NamedTuple

PULSE: Final = b"\0"
#: The last word of a worker that ends in order. Without it, the end of the pipe is a death.
FAREWELL: Final = b"\x04"
#: Asks a worker where its threads are. A process that does not expect it ignores this one.
ASK: Final = signal.SIGURG


class Orders(NamedTuple):
    """What a watchdog has to know; the first line of its stdin, as JSON."""

    pid: int
    worker_id: str
    database_url: str
    lease_s: float
    heartbeat_s: float
    hung_s: float
    log_level: str
    log_format: str

    @property
    def silence_s(self) -> float:
        """Seconds without a pulse after which a worker counts as hung: its leases last as long again."""
        return self.lease_s / 2
