"""What a watchdog does for a worker that hangs or died: leases, a log line, and an end."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Final

import psutil
import structlog

from stack import log_config
from store.database import Database, DatabaseUnavailableError
from store.runs import hung_workers
from store.runs.hung_workers import End
from workers.stack_traces import where_it_hangs
from workers.watchdog_orders import ASK, Orders

log = structlog.get_logger(__name__)

#: Log lines of a worker that hangs come after 3, 6, 12 ... seconds.
_GROWTH: Final = 2.0
#: Heartbeats that a silent worker still has. One that was only suspended, or had no processor, sends a pulse by then.
_PATIENCE: Final = 2
_ROOT: Final = Path(__file__).parents[1]
_END_RETRY_SECONDS: Final = 60.0


class Rescue:
    """One worker that was silent, from then on."""

    def __init__(self, orders: Orders) -> None:
        log_config.configure(orders.log_level, orders.log_format)
        self._orders = orders
        self._runner = asyncio.Runner()
        self._database = Database(orders.database_url, pool_size=1, application_name="ragq watchdog")
        self._log = log.bind(worker=orders.worker_id)
        self._silences = 0
        self._next_line_s = 0.0
        self._busy_s = self._processor_s()

    def hold(self, hung_for_s: float, traceback: str) -> None:
        """Renew the leases of a worker that hangs. Those of a suspended process run out: nothing computes there.

        After some silent heartbeats the worker is asked where it hangs, and reported at the next. One that has just
        died is left to `report_death`.
        """
        try:
            process = psutil.Process(self._orders.pid)
            if process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP):
                self._report("worker_suspended", hung_for_s)
                return
            self._silences += 1
            if self._silences == _PATIENCE:
                process.send_signal(ASK)
        except psutil.NoSuchProcess:
            return
        place = where_it_hangs(traceback, _ROOT)
        try:
            held = self._runner.run(
                self._database.with_retry(
                    lambda connection: hung_workers.hold(
                        connection,
                        self._orders.worker_id,
                        lease_s=self._orders.lease_s,
                        hung_for_s=hung_for_s,
                        place=place,
                    ),
                    retry_for_s=self._orders.heartbeat_s,
                )
            )
        except DatabaseUnavailableError as error:
            self._log.warning("lease_not_renewed", error_type=type(error.__cause__).__name__)
            return
        if self._silences > _PATIENCE:
            self._report("worker_hung", hung_for_s, place=place, stages=[f"j{one.job_id} {one.stage}" for one in held])

    def report_recovery(self) -> None:
        """The worker computes again."""
        self._log.warning("worker_recovered")
        self._write(hung_workers.recovered)

    def report_death(self) -> None:
        """The worker died: its stages are due again at once."""
        self._log.error("worker_died")
        self._end(End.DIED)

    def end_worker(self, hung_for_s: float) -> None:
        """Kill a worker that hung for too long, so that a supervisor starts another."""
        self._log.error("worker_killed", hung_for_s=round(hung_for_s, 1), limit="RAGQ_HUNG_SECONDS")
        try:
            os.kill(self._orders.pid, signal.SIGKILL)
        except ProcessLookupError:
            self._log.info("worker_is_gone")
        self._end(End.HUNG)

    def _end(self, end: End) -> None:
        self._write(lambda connection, worker_id: hung_workers.end(connection, worker_id, end))

    def _write(self, statement: hung_workers.Statement) -> None:
        async def write() -> None:
            try:
                await self._database.with_retry(
                    lambda connection: statement(connection, self._orders.worker_id), retry_for_s=_END_RETRY_SECONDS
                )
            finally:
                await self._database.close()

        try:
            with self._runner:
                self._runner.run(write())
        except DatabaseUnavailableError as error:
            self._log.warning("leases_left_to_run_out", error_type=type(error.__cause__).__name__)

    def _report(self, event: str, hung_for_s: float, **values: object) -> None:
        if hung_for_s < self._next_line_s:
            return
        self._next_line_s = hung_for_s * _GROWTH
        busy_s = self._processor_s() - self._busy_s
        self._log.warning(event, hung_for_s=round(hung_for_s, 1), processor_s=round(busy_s, 1), **values)

    def _processor_s(self) -> float:
        try:
            times = psutil.Process(self._orders.pid).cpu_times()
        except psutil.NoSuchProcess:
            return 0.0
        return float(times.user + times.system)
