"""The contract of every TagLexicon, for the fake and for Postgres."""

import pytest

from schemas.errors import FailureCategory
from schemas.values.tags import Lexicon, Tag, Vocabulary
from stages.ports import TagLexicon
from store import vocabularies
from store.database import Database
from store.vocabularies import PostgresVocabularies
from tests.fakes.tags import InMemoryVocabulary
from tests.refusals import failing

SHIRT = Tag(name="shirt", category="0", count=90, nsfw_probability=0.25)
HAT = Tag(name="hat", category="7", count=None)
BOTH = Tag(name="both", count=1)
ALIASES = {"tee": ("shirt",), "wear": ("hat", "shirt"), "both": ("hat",)}


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.servers)])
def stored_in(request: pytest.FixtureRequest) -> Database | None:
    """The database of the real one; None for the fake."""
    return request.getfixturevalue("database") if request.param == "postgres" else None


async def test_tags_aliases_and_their_targets_are_looked_up(stored_in: Database | None) -> None:
    lexicon: TagLexicon = InMemoryVocabulary({tag.name: tag for tag in (SHIRT, HAT, BOTH)}, ALIASES)
    stored_id = 1
    if stored_in is not None:
        imported = Vocabulary(tags=(SHIRT, HAT, BOTH), aliases=ALIASES)
        stored_id = await stored_in.once(vocabularies.keep, "clothes", imported)
        lexicon = PostgresVocabularies(stored_in)

    assert await lexicon.look_up(stored_id, ["wear", "nobody", "both"]) == Lexicon(
        tags={"both": BOTH, "hat": HAT, "shirt": SHIRT}, aliases={"both": ("hat",), "wear": ("hat", "shirt")}
    )
    assert await lexicon.look_up(stored_id, ["nobody"]) == Lexicon(tags={}, aliases={})
    assert await lexicon.look_up(99, []) == Lexicon(tags={}, aliases={})
    with failing(FailureCategory.VOCABULARY_UNUSABLE, "Vocabulary 99 is not stored"):
        await lexicon.look_up(99, ["word"])
