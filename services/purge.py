"""Old runs purged: what `ragq purge` does, and what it would do."""

from collections.abc import Callable

from store.database import Connection
from store.runs import purging
from store.runs.purging import Criteria, Old, Purged


async def candidates(connection: Connection, criteria: Criteria) -> list[Old]:
    """The runs that a purge would take, oldest first; those of a purge that was broken off are not among them."""
    return await purging.find(connection, criteria)


async def purge(connection: Connection, criteria: Criteria, report: Callable[[Purged], None]) -> list[Purged]:
    """Finish purges that were broken off, then purge every run of the criteria, and report each when it is gone."""
    done = []
    async for one in purging.purge(connection, criteria):
        done.append(one)
        report(one)
    return done
