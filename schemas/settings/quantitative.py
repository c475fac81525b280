"""QUANTITATIVE_*: where evidence comes from, how its quotes are checked, how items are scored."""

from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class QuantitativeSettings(SettingsGroup):
    """Where evidence comes from, how its quotes are checked, how items are scored."""

    model_config = SettingsConfigDict(env_prefix="QUANTITATIVE_")

    evidence_extractor: Literal["llm", "similarity"] = "llm"
    """Who finds the quotes: a language model that reads the transcript, or similarity to descriptions of the items."""
    similarity_threshold: float = Field(default=0.70, ge=0.0, le=1.0)
    """Similarity, (1 + cosine) / 2, from which the `similarity` extractor takes an utterance."""
    similarity_max_quotes: int = Field(default=3, ge=1, le=20)
    """Quotes per item that the `similarity` extractor takes at most."""
    evidence_quote_validation_enabled: bool = True
    """Keep only quotes that stand in the transcript."""
    evidence_quote_validation_mode: Literal["substring", "fuzzy"] = "substring"
    """A quote has to stand in the transcript as it is, or nearly so."""
    evidence_quote_fuzzy_threshold: float = Field(default=0.85, ge=0.5, le=1.0)
    """Partial match ratio from which mode `fuzzy` accepts a quote."""
    evidence_quote_fail_on_all_rejected: bool = False
    """Fail the job when quotes were given and none stands in the transcript, instead of going on without evidence."""
    evidence_quote_log_rejections: bool = True
    """Log how many quotes were rejected per item."""
    severity_inference_mode: Literal["strict", "infer"] = "strict"
    """Score stated frequencies alone, or also frequencies inferred from how something is said."""
    track_na_reasons: bool = True
    """Record why an item has no score."""
