"""The entry point of a server: `uvicorn --factory api.main:app`."""

import os

from fastapi import FastAPI

from api.app import make_app
from api.context import ApiContext
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from stack.connections import connections
from store.database import Database
from workers.app import make_app as make_broker


def app() -> FastAPI:
    """The application on the servers of the environment, the .env file, or the running stack."""
    return make_app(context())


def context() -> ApiContext:
    """What the application uses. Raises StackError where there are no servers."""
    settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
    servers = connections(merged(os.environ, ENV_FILE))
    return ApiContext(
        settings=settings,
        database=Database(
            servers.database_url,
            pool_size=settings.ragq_database_pool,
            application_name="ragq-api",
            pooler_url=settings.ragq_database_pooler_url,
        ),
        broker=make_broker(servers.redis_url),
        flower_url=servers.flower_url,
        environment=os.environ,
        env_file=ENV_FILE,
    )
