"""EMBEDDING_*: the reference index, its search and the filters after the search."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le, MinLen

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddingSettings(SettingsGroup):
    """The reference index, its search and the filters after the search."""

    prefix: ClassVar = "EMBEDDING_"

    backend: Literal["huggingface", "ollama", "openai"] = "huggingface"
    """The embedder: a sentence-transformers model in the worker, an Ollama server, or any server with OpenAI's
    embeddings API at RAGQ_OPENAI_EMBEDDING_BASE_URL."""
    dimension: Annotated[int, Ge(1)] = 4096
    """Numbers per vector; longer vectors of the model are cut to it and normalised again."""
    allow_insufficient_dimension_embeddings: bool = False
    """Skip vectors shorter than EMBEDDING_DIMENSION instead of failing."""
    chunk_size: Annotated[int, Ge(2), Le(20)] = 8
    """Lines of a transcript per chunk of the reference index."""
    chunk_step: Annotated[int, Ge(1)] = 2
    """Lines from the start of one chunk to the start of the next; at most EMBEDDING_CHUNK_SIZE."""
    top_k_references: Annotated[int, Ge(1), Le(10)] = 2
    """References kept per item after the similarity threshold."""
    min_evidence_chars: Annotated[int, Ge(0)] = 8
    """Characters that an item's evidence, or a chunk, needs in order to be embedded."""
    enable_batch_query_embedding: bool = True
    """Embed the evidence of all items in one call instead of one call per item."""
    query_embed_timeout_seconds: Annotated[int, Ge(30), Le(3600)] = 300
    """Seconds that one embedding call may take."""
    embeddings_file: Annotated[str, MinLen(1)] = "huggingface_qwen3_8b_paper_train"
    """Name of the reference index that is searched."""
    enable_retrieval_audit: bool = False
    """Log one `retrieved_reference` event per reference that remains after all filters."""
    min_reference_similarity: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
    """References below this similarity, (1 + cosine) / 2, are dropped; 0 drops none."""
    max_reference_chars_per_item: Annotated[int, Ge(0)] = 0
    """Maximum characters of reference text per item; the first reference beyond it ends the list; 0 is no limit."""
    enable_item_tag_filter: bool = False
    """Search only chunks that carry the tag of the item."""
    reference_score_source: Literal["participant", "chunk"] = "participant"
    """Score that a reference shows: its participant's for the item, or the chunk's own."""
    allow_chunk_scores_prompt_hash_mismatch: bool = False
    """Accept chunk scores from another prompt."""
    enable_reference_validation: bool = False
    """Let a language model judge every reference before it goes into the prompt."""
    validation_model: str = ""
    """Model that judges references; if empty, MODEL_JUDGE_MODEL."""
    validation_max_refs_per_item: Annotated[int, Ge(1)] = 2
    """Accepted references per item at which judging stops; only used with validation."""
