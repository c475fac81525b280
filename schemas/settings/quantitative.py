"""QUANTITATIVE_*: the source of evidence, the check of its quotes, the scoring of items."""

from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class QuantitativeSettings(SettingsGroup):
    """The source of evidence, the check of its quotes, the scoring of items."""

    model_config = SettingsConfigDict(env_prefix="QUANTITATIVE_")

    evidence_extractor: Literal["llm", "similarity"] = "llm"
    """Source of quotes: a language model that reads the transcript, or similarity to descriptions of the items."""
    similarity_threshold: float = Field(default=0.70, ge=0.0, le=1.0)
    """Similarity, (1 + cosine) / 2, from which the `similarity` extractor quotes an utterance."""
    similarity_max_quotes: int = Field(default=3, ge=1, le=20)
    """Maximum quotes per item of the `similarity` extractor."""
    evidence_quote_validation_enabled: bool = True
    """Keep only quotes that occur in the transcript."""
    evidence_quote_validation_mode: Literal["substring", "fuzzy"] = "substring"
    """A quote must occur in the transcript exactly, or nearly."""
    evidence_quote_fuzzy_threshold: float = Field(default=0.85, ge=0.5, le=1.0)
    """Partial match ratio from which mode `fuzzy` accepts a quote."""
    evidence_quote_fail_on_all_rejected: bool = False
    """Fail the job when there are quotes and none occurs in the transcript, instead of continuing without evidence."""
    evidence_quote_log_rejections: bool = True
    """Log how many quotes were rejected per item."""
    severity_inference_mode: Literal["strict", "infer"] = "strict"
    """Score only stated frequencies, or also frequencies inferred from the way of speaking."""
    track_na_reasons: bool = True
    """Record why an item has no score."""
