"""The worker's entry: `python -m workers.main worker`. Importing it finds the broker and registers the tasks."""

import os
from typing import Any

import structlog
from celery import signals
from celery.bin.celery import celery

from schemas.chains import STAGES
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from stack import logs
from stack.connections import connections
from stages import failures
from workers.app import make_worker_app
from workers.leases import crash_point
from workers.process import StageTask, current, give_back_later, run_stage, stop

log = structlog.get_logger(__name__)


app = make_worker_app(connections(merged(os.environ, ENV_FILE)).redis_url)


def _define(stage: str) -> None:
    @app.task(name=f"ragq.{stage}", bind=True, base=StageTask)
    def task(self: Any, *, run: int, job: int, subject: str) -> None:
        run_stage(self, stage, job)


for _stage in STAGES:
    _define(_stage)


@signals.setup_logging.connect
def _configure_logging(**_: Any) -> None:
    settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
    logs.configure(settings.log_level, settings.log_format)


@signals.worker_ready.connect
def _start(sender: Any = None, **_: Any) -> None:
    # The dispatcher and the heartbeat have to run before the first task comes.
    try:
        current(app, concurrency=sender.pool.limit or 1)
    except Exception as error:  # noqa: BLE001  (Celery would log it and run on, without dispatcher and heartbeat)
        log.critical("worker_cannot_start", error_type=failures.type_name(error), error=failures.shown_message(error))
        raise SystemExit(1) from None


signals.worker_shutting_down.connect(give_back_later)
signals.worker_process_shutdown.connect(stop)
signals.worker_shutdown.connect(stop)


@signals.task_success.connect
def _published(sender: Any = None, **_: Any) -> None:
    if sender is not None and sender.request.id is not None:
        _, stage, attempt = sender.request.id.split(":")
        crash_point("after_publish", stage, int(attempt))


def main() -> None:
    """Celery's command line over this application: its own would import packages of the working folder that have ragq's
    names."""
    celery.params[0].default = app
    celery()


if __name__ == "__main__":
    main()
