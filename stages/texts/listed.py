"""Lists in messages: the first entries, and how many more there are."""

from collections.abc import Sequence

SHOWN = 20


def listed(ids: Sequence[object]) -> str:
    """The ids with commas between them; beyond SHOWN only their number.

    >>> listed([316, 319]), listed(range(1, 25))[-21:]
    ('316, 319', '18, 19, 20 and 4 more')
    """
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(map(str, ids[:SHOWN])) + more


def first_lines(entries: Sequence[object]) -> str:
    """A line for each entry, indented; beyond SHOWN only their number.

    >>> first_lines(range(1, 25))[-22:]
    '  19\\n  20\\n  and 4 more'
    """
    more = [f"and {len(entries) - SHOWN} more"] if len(entries) > SHOWN else []
    return "\n".join(f"  {entry}" for entry in (*entries[:SHOWN], *more))
