"""PSQ_*: candidate tags for phrases."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class PsqSettings(SettingsGroup):
    """Candidate tags for phrases."""

    model_config = SettingsConfigDict(env_prefix="PSQ_")

    retrieval_global_k: int = Field(default=300, ge=1)
    """Maximum candidates of a request."""
    retrieval_per_phrase_k: int = Field(default=10, ge=1)
    """Nearest tokens considered per phrase."""
    retrieval_per_phrase_final_k: int = Field(default=1, ge=1)
    """Tags kept per phrase; more if the phrase names more tags exactly."""
    min_tag_count: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    """Tags with a lower count are dropped; a missing count is 0. `auto` is 100 if at least 95 % of the tags reach it,
    and 0 otherwise."""
    similarity: Literal["fused", "original"] = "fused"
    """How near a token is to a phrase: by spelling, meaning and FastText together, or by FastText alone."""
    skip_fasttext_for_exact_alias: bool = True
    """Skip the search for neighbours of a phrase that names a tag exactly, by the tag's name or an alias."""
    context_weight: float = Field(default=0.5, ge=0.0, le=1.0)
    """Weight of the context in the combined score; the similarity has the rest."""
    context_tag_weight: float = Field(default=1.0, ge=0.0)
    """Weight of each context tag in the context, where a phrase has weight 1."""
