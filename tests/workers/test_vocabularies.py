"""The models of a vocabulary are the same however often they are built."""

from types import SimpleNamespace
from typing import Any

from schemas.settings.run import RunSettings
from tests.fakes.embedder import FakeEmbedder
from tests.stages.tags.clothes import CLOTHES
from workers.tags import index_embed


async def test_names_are_embedded_in_ascending_order() -> None:
    embedder = FakeEmbedder()

    async def ask(*_: Any) -> Any:
        return CLOTHES

    inputs = {"vocabulary_id": 1, "seed": 1, "sentences": {"backend": "huggingface", "model": "mini"}}
    work: Any = SimpleNamespace(
        claim=SimpleNamespace(inputs=inputs),
        read={},
        settings=RunSettings(),
        database=SimpleNamespace(ask=ask),
        embedder_of=lambda backend, model: embedder,
    )

    await index_embed(work)

    assert embedder.calls == [sorted({*(tag.name for tag in CLOTHES.tags), *CLOTHES.aliases})]
