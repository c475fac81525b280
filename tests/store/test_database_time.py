"""How long the database took in a piece of work."""

import pytest

from store.database import DatabaseTime


def test_calls_at_the_same_time_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 5.0, 10.0, 12.0])
    monkeypatch.setattr("store.database.time.perf_counter", lambda: next(clock))
    found = DatabaseTime()

    first, second = found.call(), found.call()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert found.seconds == 0
    second.__exit__(None, None, None)
    with pytest.raises(OSError), found.call():
        raise OSError

    assert found.seconds == 4 + 2
