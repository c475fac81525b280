"""Lists of ids in messages: the first ones, and how many more there are."""

from collections.abc import Sequence

SHOWN = 20


def listed(ids: Sequence[object]) -> str:
    """The ids with commas between them; beyond SHOWN only their number.

    >>> listed([316, 319]), listed(range(1, 25))[-21:]
    ('316, 319', '18, 19, 20 and 4 more')
    """
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(map(str, ids[:SHOWN])) + more
