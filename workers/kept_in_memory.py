"""What was loaded and may be needed again, within limits."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

Value = TypeVar("Value")

MAX_BYTES: Final = 512 * 1024**2
IDLE_SECONDS: Final = 600.0


class Sized(NamedTuple, Generic[Value]):
    """What was loaded, and about how many bytes it takes."""

    value: Value
    size: int


@dataclass
class _Kept:
    value: Any
    size: int
    expiry: asyncio.TimerHandle


class KeptInMemory:
    """Values by key. Used on one event loop.

    The least recently used ones are dropped when all together are larger than `max_bytes`, the newest never; each is
    dropped after `idle_s` seconds without use.
    """

    def __init__(self, *, max_bytes: int = MAX_BYTES, idle_s: float = IDLE_SECONDS) -> None:
        self._max_bytes = max_bytes
        self._idle_s = idle_s
        self._kept: OrderedDict[tuple[str, int], _Kept] = OrderedDict()
        self._loading = asyncio.Lock()

    async def get(self, key: tuple[str, int], load: Callable[[], Awaitable[Sized[Value]]]) -> Value:
        """The value of the key, loaded once, however many ask. Raises what `load` raises, and keeps nothing then."""
        async with self._loading:
            if key not in self._kept:
                loaded = await load()
                self._kept[key] = _Kept(loaded.value, loaded.size, self._expiry(key))
        kept = self._kept[key]
        kept.expiry.cancel()
        kept.expiry = self._expiry(key)
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(one.size for one in self._kept.values()) > self._max_bytes:
            self.drop(next(iter(self._kept)))
        found: Value = kept.value
        return found

    def drop(self, key: tuple[str, int]) -> None:
        """Forget the value of a key, if there is one."""
        if key in self._kept:
            self._kept.pop(key).expiry.cancel()

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    def _expiry(self, key: tuple[str, int]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._idle_s, self.drop, key)
