"""The whole chain of a tags job as one function."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from schemas.values.tags import RankedTags
from stages.ports import NeighbourSearch, TagLexicon, Vector
from stages.tags.rerank import rank_tags
from stages.tags.retrieve import Sentences, embed_phrases, retrieve_tags
from stages.tags.similarity import ContextModel, TokenModel
from stages.tags.validate import validate_tags

EmbedSentences: TypeAlias = Callable[[Sequence[str]], Awaitable[Sentences]]
"""Embeds the phrases of a request by the sentence embedder of a vocabulary."""


class SearchedVocabulary(NamedTuple):
    """A vocabulary with everything that a request needs."""

    vocabulary_id: int
    lexicon: TagLexicon
    search: NeighbourSearch
    tokens: TokenModel
    context_model: ContextModel
    rows: Mapping[str, Vector]
    """The context rows of tags."""
    sentences: EmbedSentences | None = None
    """With it all sources are fused, without it FastText alone counts."""


async def candidates_from_phrases(
    vocabulary: SearchedVocabulary,
    rewrite_phrases: Sequence[str],
    *,
    allow_nsfw_tags: bool,
    context_tags: Sequence[str] | None = None,
    context_tag_weight: float = 1.0,
    context_weight: float = 0.5,
    per_phrase_k: int = 50,
    per_phrase_final_k: int = 1,
    global_k: int = 300,
    min_tag_count: int = 0,
    skip_exact: bool = True,
) -> RankedTags:
    """The candidates for some phrases, best first: embed, retrieve, rerank and validate in sequence.

    The defaults are those of the original library; a run uses PSQ_* instead. Raises as the stages do.
    """
    embedded, vectors = embed_phrases(
        rewrite_phrases,
        tokens=vocabulary.tokens,
        context_model=vocabulary.context_model,
        context_tags=context_tags or (),
        context_tag_weight=context_tag_weight,
        sentences=None if vocabulary.sentences is None else await vocabulary.sentences(rewrite_phrases),
    )
    retrieved = await retrieve_tags(
        embedded,
        vectors,
        lexicon=vocabulary.lexicon,
        search=vocabulary.search,
        vocabulary_id=vocabulary.vocabulary_id,
        allow_nsfw_tags=allow_nsfw_tags,
        per_phrase_k=per_phrase_k,
        min_tag_count=min_tag_count,
        skip_exact=skip_exact,
    )
    ranked = rank_tags(
        retrieved,
        context=embedded.context,
        rows=vocabulary.rows,
        context_weight=context_weight,
        per_phrase_final_k=per_phrase_final_k,
        global_k=global_k,
    )
    tags = [candidate.tag for candidate in ranked.candidates]
    validate_tags(
        ranked,
        retrieved=retrieved,
        lexicon=await vocabulary.lexicon.look_up(vocabulary.vocabulary_id, tags),
        allow_nsfw_tags=allow_nsfw_tags,
        min_tag_count=min_tag_count,
        global_k=global_k,
    )
    return ranked
