"""QUANTITATIVE_*: the source of evidence, the check of its quotes, the scoring of items."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantitativeSettings(SettingsGroup):
    """The source of evidence, the check of its quotes, the scoring of items."""

    prefix: ClassVar = "QUANTITATIVE_"

    evidence_extractor: Literal["llm", "similarity"] = "llm"
    """Source of quotes: a language model that reads the transcript, or similarity to descriptions of the items."""
    similarity_threshold: Annotated[float, Ge(0.0), Le(1.0)] = 0.70
    """Similarity, (1 + cosine) / 2, from which the `similarity` extractor quotes an utterance."""
    similarity_max_quotes: Annotated[int, Ge(1), Le(20)] = 3
    """Maximum quotes per item of the `similarity` extractor."""
    evidence_quote_validation_enabled: bool = True
    """Keep only quotes that occur in the transcript."""
    evidence_quote_validation_mode: Literal["substring", "fuzzy"] = "substring"
    """A quote must occur in the transcript exactly, or nearly."""
    evidence_quote_fuzzy_threshold: Annotated[float, Ge(0.5), Le(1.0)] = 0.85
    """Partial match ratio from which mode `fuzzy` accepts a quote."""
    evidence_quote_fail_on_all_rejected: bool = False
    """Fail the job when there are quotes and none occurs in the transcript, instead of continuing without evidence."""
    evidence_quote_log_rejections: bool = True
    """Log how many quotes were rejected per item."""
    severity_inference_mode: Literal["strict", "infer"] = "strict"
    """Score only stated frequencies, or also frequencies inferred from the way of speaking."""
    track_na_reasons: bool = True
    """Record why an item has no score."""
