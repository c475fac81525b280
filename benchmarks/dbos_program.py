"""The chain as a DBOS workflow. Runs in DBOS's own environment and imports nothing of ragq.

`python -m benchmarks.dbos_program URL STAGES` reads how many workflows to start at once, line by line, and answers
each line when they have all ended.
"""

import sys
from itertools import count

from dbos import DBOS  # type: ignore[import-not-found]  # installed where this runs, see hop.py

from benchmarks.stamps import stamp

_numbers = count(1)


@DBOS.step()  # type: ignore[untyped-decorator]
def noop(job: int, position: int) -> None:
    """One stage."""
    stamp(job, position)


@DBOS.workflow()  # type: ignore[untyped-decorator]
def chain(job: int, stages: int) -> None:
    """One job."""
    for position in range(stages):
        noop(job, position)


def main(database_url: str, stages: int) -> None:
    """Serve until the input ends, with DBOS's default settings."""
    DBOS(config={"name": "benchmark", "system_database_url": database_url, "log_level": "WARNING"})
    DBOS.launch()
    print("ready", flush=True)
    for line in sys.stdin:
        handles = [DBOS.start_workflow(chain, next(_numbers), stages) for _ in range(int(line))]
        for handle in handles:
            handle.get_result()
        print("done", flush=True)
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
