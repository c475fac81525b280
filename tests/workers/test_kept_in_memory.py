"""What is kept in memory: loaded once, bounded, and dropped."""

import asyncio

from workers.tag_models import KeptInMemory, Sized


class Loads:
    """Counts what was loaded."""

    def __init__(self) -> None:
        self.keys: list[int] = []

    async def get(self, kept: KeptInMemory, key: int, size: int = 10) -> str:
        async def load() -> Sized[str]:
            self.keys.append(key)
            return Sized(f"value {key}", size)

        return await kept.get(("what", key), load)


async def test_the_least_recently_used_values_make_room_and_the_newest_stays() -> None:
    kept, loads = KeptInMemory(max_bytes=25), Loads()

    for key in (1, 2, 1, 3):
        await loads.get(kept, key)
    assert [("what", key) in kept for key in (1, 2, 3)] == [True, False, True]

    await loads.get(kept, 4, size=100)
    assert [("what", key) in kept for key in (1, 3, 4)] == [False, False, True]


async def test_a_value_that_is_not_used_is_dropped_and_one_that_is_used_stays() -> None:
    kept, loads = KeptInMemory(idle_s=0.2), Loads()

    await loads.get(kept, 1)
    await loads.get(kept, 2)
    for _ in range(6):
        await asyncio.sleep(0.05)
        await loads.get(kept, 2)

    assert (("what", 1) in kept, ("what", 2) in kept) == (False, True)
