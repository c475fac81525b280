"""Short identifiers that reveal nothing of a text, and lists of them in messages."""

import hashlib
import re
from collections.abc import Sequence
from typing import Final


def short_hash(text: str) -> str:
    """The first 12 hex digits of the SHA-256 of the text in UTF-8.

    >>> short_hash("1,2,3")
    '8a6ae1512200'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:12]


PLAIN_ID: Final = r"^[A-Za-z0-9._:-]{1,64}$"


def is_plain_id(text: str) -> bool:
    """Whether the text can be the id of a subject: ids appear in messages, logs and Flower, and text may not.

    >>> [is_plain_id(text) for text in ("q-17", "2024.1:b", "", "why is it so", "é")]
    [True, True, False, False, False]
    """
    return re.fullmatch(PLAIN_ID, text) is not None


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
