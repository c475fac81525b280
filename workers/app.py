"""The Celery application. Messages carry ids; the truth of a job is in Postgres, so there is no result backend."""

from typing import Any, Final

import amqp
import redis
from celery import Celery
from kombu import Exchange, Queue
from kombu.exceptions import KombuError

from schemas.chains import QUEUES, STAGES
from stack.connections import broker_address
from workers.broker import PRIORITIES, BatchedEvents

#: Everything ragq keeps in the broker lies under this prefix.
KEY_PREFIX = "ragq:"

#: What is raised when the broker cannot be reached or refuses; kombu lets some errors through as they are.
BROKER_ERRORS: Final[tuple[type[BaseException], ...]] = (KombuError, OSError, redis.RedisError, amqp.AMQPError)


def make_app(broker_url: str) -> Celery:
    """The application on one broker, with the settings that were measured to lose nothing."""
    url, tls = broker_address(broker_url)
    app = Celery("ragq", broker=url)
    exchange = Exchange("ragq", type="direct")
    settings: dict[str, Any] = {
        # A queue without its own binding would share one with all others and get every message.
        "task_queues": [Queue(name, exchange, routing_key=name) for name in QUEUES],
        "task_routes": {f"ragq.{stage}": {"queue": stage, "routing_key": stage} for stage in STAGES},
        "task_create_missing_queues": True,
        "task_ignore_result": True,
        "result_backend": None,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_acks_on_failure": True,
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_send_task_events": True,
        "task_send_sent_event": True,
        "task_serializer": "json",
        "result_serializer": "json",
        "event_serializer": "json",
        "accept_content": ["json"],
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_pool_acquire_timeout": 30,
        # With Redis a cancelled task would be acknowledged as revoked, and so be lost.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_soft_shutdown_timeout": 10,
        "task_publish_retry_policy": {"max_retries": 3, "interval_start": 0, "interval_step": 0.2, "interval_max": 1},
    }
    if broker_url.startswith("redis"):
        settings["broker_transport"] = "workers.broker:Transport"
        settings["broker_transport_options"] = {
            "global_keyprefix": KEY_PREFIX,
            "priority_steps": list(PRIORITIES),
            "socket_timeout": 10,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            "health_check_interval": 10,
        }
    else:
        # As with Redis, no call waits forever for a broker that has stopped answering.
        settings["broker_transport_options"] = {"write_timeout": 10}
    app.conf.update(settings, broker_use_ssl=tls)
    return app


def make_worker_app(broker_url: str) -> Celery:
    """The application inside a worker: monitors hear of a task when it is received, and hear of many at once."""
    app = make_app(broker_url)
    # To announce that the next stage was sent costs more than to send it; a submission is still announced.
    app.conf.task_send_sent_event = False
    app.conf.worker_pool = "workers.process:StagePool"
    app.conf.worker_consumer = "workers.broker:CheckingConsumer"
    app.steps["consumer"].add(BatchedEvents)
    return app
