"""EMBEDDING_*: the reference index, its search and the filters after the search."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup, disagreement


class EmbeddingSettings(SettingsGroup):
    """The reference index, its search and the filters after the search."""

    model_config = SettingsConfigDict(env_prefix="EMBEDDING_")

    backend: Literal["huggingface", "ollama", "openai"] = "huggingface"
    """The embedder: a sentence-transformers model in the worker, an Ollama server, or any server with OpenAI's
    embeddings API at RAGQ_OPENAI_EMBEDDING_BASE_URL."""
    dimension: int = Field(default=4096, ge=1)
    """Numbers per vector; longer vectors of the model are cut to it and normalised again."""
    allow_insufficient_dimension_embeddings: bool = False
    """Skip vectors shorter than EMBEDDING_DIMENSION instead of failing."""
    chunk_size: int = Field(default=8, ge=2, le=20)
    """Lines of a transcript per chunk of the reference index."""
    chunk_step: int = Field(default=2, ge=1)
    """Lines from the start of one chunk to the start of the next; at most EMBEDDING_CHUNK_SIZE."""
    top_k_references: int = Field(default=2, ge=1, le=10)
    """References kept per item after the similarity threshold."""
    min_evidence_chars: int = Field(default=8, ge=0)
    """Characters that an item's evidence, or a chunk, needs in order to be embedded."""
    enable_batch_query_embedding: bool = True
    """Embed the evidence of all items in one call instead of one call per item."""
    query_embed_timeout_seconds: int = Field(default=300, ge=30, le=3600)
    """Seconds that one embedding call may take."""
    embeddings_file: str = Field(default="huggingface_qwen3_8b_paper_train", min_length=1)
    """Name of the reference index that is searched."""
    enable_retrieval_audit: bool = False
    """Log one `retrieved_reference` event per reference that remains after all filters."""
    min_reference_similarity: float = Field(default=0.0, ge=0.0, le=1.0)
    """References below this similarity, (1 + cosine) / 2, are dropped; 0 drops none."""
    max_reference_chars_per_item: int = Field(default=0, ge=0)
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
    validation_max_refs_per_item: int = Field(default=2, ge=1)
    """Accepted references per item at which judging stops; only used with validation."""

    @model_validator(mode="after")
    def _chunks_leave_no_line_out(self) -> Self:
        if self.chunk_step > self.chunk_size:
            raise disagreement(
                f"EMBEDDING_CHUNK_STEP={self.chunk_step} is more than EMBEDDING_CHUNK_SIZE={self.chunk_size}, "
                "so lines between two chunks would be lost; lower the step or raise the size",
                "EMBEDDING_CHUNK_STEP",
                "EMBEDDING_CHUNK_SIZE",
            )
        return self
