"""PSQ_*: candidate tags for phrases."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class PsqSettings(SettingsGroup):
    """Candidate tags for phrases."""

    prefix: ClassVar = "PSQ_"

    retrieval_global_k: Annotated[int, Ge(1)] = 300
    """Maximum candidates of a request."""
    retrieval_per_phrase_k: Annotated[int, Ge(1)] = 10
    """Nearest tokens considered per phrase."""
    retrieval_per_phrase_final_k: Annotated[int, Ge(1)] | Literal["auto"] = "auto"
    """Tags kept per phrase; more if the phrase names more tags exactly. `auto` keeps those whose score is at least 0.6
    of the best one's, five at most, and one with PSQ_SIMILARITY=original."""
    min_tag_count: Annotated[int, Ge(0)] | Literal["auto"] = "auto"
    """Tags with a lower count are dropped; a missing count is 0. `auto` is 100 if at least 95 % of the tags reach it,
    and 0 otherwise."""
    similarity: Literal["fused", "original"] = "fused"
    """How near a token is to a phrase: by spelling, meaning and FastText together, or by FastText alone."""
    skip_fasttext_for_exact_alias: bool = True
    """Skip the search for neighbours of a phrase that names a tag exactly, by the tag's name or an alias."""
    context_weight: Annotated[float, Ge(0.0), Le(1.0)] = 0.5
    """Weight of the context in the combined score; the similarity has the rest."""
    context_tag_weight: Annotated[float, Ge(0.0)] = 1.0
    """Weight of each context tag in the context, where a phrase has weight 1."""
