"""What is kept in memory: loaded once, and bounded."""

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
