"""Starts the Postgres that the processes of a run of the tests share, in a folder, and leaves it running."""

import sys
from pathlib import Path

from tests.embedded import PostgresServer

if __name__ == "__main__":
    PostgresServer(Path(sys.argv[1])).start()
