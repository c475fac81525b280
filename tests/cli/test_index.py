"""`ragq index list` where columns are scarce, and where no index is built."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from store.database import Connection
from tests.cli.conftest import Ragq
from tests.fakes.references import IndexedChunk
from tests.store.reference_indexes import store_index

NAME = "huggingface_all_minilm_l6_v2_avec_train"


async def an_index(connection: Connection) -> None:
    vector = np.array([1, 0], dtype=np.float32)
    await store_index(connection, 7, [IndexedChunk(1, 304, 0, "a chunk", vector, {})])
    await connection.execute("UPDATE reference_index SET name = $1, participants = 1, chunks = 1", NAME)


@pytest.mark.parametrize("columns", ["160", "100"])
def test_the_whole_name_of_an_index_is_shown(
    ragq: Ragq, stored: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    stored(an_index)

    assert NAME in ragq("index", "list").stdout.split()
