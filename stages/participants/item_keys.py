"""The keys of a reply, matched with the items."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from schemas.values.phq8 import PHQ8Item
from stages.replies import RepairStep

_PREFIX: Final = "PHQ8_"
_SHAPE_CHARS: Final = 40


class ItemKeys(NamedTuple):
    """The members of a reply's object under the keys of their items."""

    members: dict[str, Any]
    repeated: tuple[str, ...]
    """Evidence keys that several members with different values stand for; `members` has the first value."""
    unknown: tuple[str, ...]
    """The shapes of keys that belong to no item, in order."""

    def repairs(self, reply: Mapping[str, Any]) -> tuple[RepairStep, ...]:
        """What was done to the keys of this reply."""
        near = (RepairStep.NEAR_KEYS,) if self.members.keys() - reply.keys() else ()
        return (*near, RepairStep.UNKNOWN_KEYS) if self.unknown else near


def match_keys(reply: Mapping[str, Any]) -> ItemKeys:
    """Match each key with the item it names, whatever its case, its separators and its prefix.

    >>> match_keys({"sleep": 1, "PHQ-8 Tired": 2, "PHQ8_Mood": 3})
    ItemKeys(members={'PHQ8_Sleep': 1, 'PHQ8_Tired': 2}, repeated=(), unknown=('PHQ8_xxxx',))
    """
    members: dict[str, Any] = {}
    repeated, unknown = [], []
    for key, value in reply.items():
        evidence_key = _BY_NAME.get(_name(key))
        if evidence_key is None:
            unknown.append(key_shape(key))
        elif members.setdefault(evidence_key, value) != value:
            repeated.append(evidence_key)
    return ItemKeys(members, tuple(repeated), tuple(unknown))


def key_shape(key: str) -> str:
    """A key without its words, which may be the participant's: `x` for a letter, `9` for a digit.

    >>> key_shape("I can't sleep 3")
    'x xxx?x xxxxx 9'
    """
    prefix = _PREFIX if key.startswith(_PREFIX) else ""
    return prefix + "".join(map(_shape, key[len(prefix) : _SHAPE_CHARS]))


def _shape(char: str) -> str:
    if char in "_- ":
        return char
    return "x" if char.isalpha() else "9" if char.isdigit() else "?"


def _name(key: str) -> str:
    return "".join(filter(str.isalnum, key.casefold())).removeprefix("phq8")


_BY_NAME: Final = {_name(item.value): item.evidence_key for item in PHQ8Item}
