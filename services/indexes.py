"""The reference index that a request names."""

from schemas.errors import Refused
from store.database import Connection
from store.references import references
from store.references.references import StoredIndex


async def current_index(connection: Connection, name: str) -> StoredIndex:
    """The index of a name that can be searched. Raises Refused when there is none, with those that there are."""
    stored = {index.name: index for index in await references.current(connection)}
    if name not in stored:
        known = ", ".join(stored) or "none yet"
        raise Refused(f"There is no reference index '{name}'. There are: {known}.")
    return stored[name]
