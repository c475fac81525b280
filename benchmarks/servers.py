"""Temporary servers with the durability of the product's: fsync on, append-only file on."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from stack.postgres import PostgresServer
from stack.valkey import ValkeyServer
from store import migrate


class Servers(NamedTuple):
    """A migrated database, a broker, and a folder for other files of a benchmark."""

    postgres: PostgresServer
    valkey: ValkeyServer
    folder: Path


@contextmanager
def servers() -> Iterator[Servers]:
    """Both servers, running until the block ends."""
    with tempfile.TemporaryDirectory(prefix="ragq-benchmark-") as name:
        folder = Path(name)
        # Postgres does not run as root: another account has to reach its folder.
        folder.chmod(0o711)
        with (
            PostgresServer(folder / "postgres", durable=True) as postgres,
            ValkeyServer(folder / "valkey", durable=True) as valkey,
        ):
            migrate.upgrade(postgres.url)
            yield Servers(postgres, valkey, folder)
