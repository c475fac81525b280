import pytest

from adapters.openai import OpenAIEmbedder
from schemas.errors import Refused
from schemas.settings.process import OpenAIAddress, ProcessSettings
from schemas.settings.run import EmbeddingSettings, ModelSettings, RunSettings
from store.database import Database
from workers.wiring import Wiring

OPENAI = RunSettings(embedding=EmbeddingSettings(backend="openai"), model=ModelSettings(embedding_model="e"))


def wired(**settings: str) -> Wiring:
    """The wiring of a process with these settings, which connects to nothing before it is asked."""
    process = ProcessSettings.from_environment(settings)
    return Wiring(process, Database("postgresql://h/d"), ollama_url=None, is_crowded=lambda: False)


async def test_a_run_with_backend_openai_is_embedded_by_the_server_that_is_named() -> None:
    with pytest.raises(Refused, match="RAGQ_OPENAI_EMBEDDING_BASE_URL is not set"):
        wired().embedder(OPENAI)
    wiring = wired(RAGQ_OPENAI_EMBEDDING_BASE_URL="http://e/v1")

    embedder = wiring.embedder(OPENAI)

    assert (type(embedder), embedder.name) == (OpenAIEmbedder, "e")
    assert wiring.embedder(OPENAI) is embedder
    await wiring.close()


def test_no_key_is_sent_to_a_server_that_it_was_not_set_for() -> None:
    for chat, embeddings, expected in [
        (("http://c/v1", "ck"), (None, None), OpenAIAddress("http://c/v1", "ck")),
        (("http://c/v1", "ck"), ("http://e/v1", None), OpenAIAddress("http://e/v1", None)),
        (("http://c/v1", "ck"), (None, "ek"), OpenAIAddress("http://c/v1", "ek")),
        (("http://c/v1", "ck"), ("http://e/v1", "ek"), OpenAIAddress("http://e/v1", "ek")),
        ((None, None), (None, "ek"), None),
    ]:
        names = ("RAGQ_OPENAI_BASE_URL", "RAGQ_OPENAI_API_KEY")
        others = ("RAGQ_OPENAI_EMBEDDING_BASE_URL", "RAGQ_OPENAI_EMBEDDING_API_KEY")
        given = zip((*names, *others), (*chat, *embeddings), strict=True)

        settings = ProcessSettings.from_environment({name: value for name, value in given if value is not None})

        assert settings.openai_embedding_server == expected
