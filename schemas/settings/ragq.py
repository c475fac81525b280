"""RAGQ_* settings of a run: those that are new in ragq. The RAGQ_* settings of a process are in process.py."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le, Predicate

from schemas.settings.base import Allowed, SettingsGroup
from schemas.values.coverage_grid import ALLOWED, GRID, is_coverage_grid


@dataclass(frozen=True, kw_only=True, slots=True)
class RagqSettings(SettingsGroup):
    """Settings that are new in ragq."""

    prefix: ClassVar = "RAGQ_"

    retrieve_candidates: Annotated[int, Ge(1), Le(1000)] = 50
    """Nearest chunks per item that the search returns for ranking; at least EMBEDDING_TOP_K_REFERENCES."""
    reranker: Literal["similarity", "cross_encoder"] = "similarity"
    """Order of the references: by similarity, or by a cross-encoder that reads evidence and reference together."""
    reranker_model: str = ""
    """Folder or hub id of the cross-encoder; required by RAGQ_RERANKER=cross_encoder."""
    reranker_batch_size: Annotated[int, Ge(1), Le(32)] = 8
    """Pairs in one pass of the cross-encoder."""
    reranker_max_tokens: Annotated[int, Ge(128), Le(1024)] = 512
    """Tokens of a pair that the cross-encoder reads; the rest is cut."""
    reranker_timeout_seconds: Annotated[int, Ge(1)] = 300
    """Seconds that the cross-encoder may take for the references of one item."""
    validation_max_chars: Annotated[int, Ge(100), Le(100_000)] = 4000
    """Characters of a passage that the judging prompt shows; the rest is cut."""
    long_texts: Literal["refuse", "truncate"] = "refuse"
    """Evidence and reference chunks that are longer than the embedder reads: fail the job, or cut and count them."""
    verdict_max_tokens: Annotated[int, Ge(1)] = 256
    """Maximum tokens of a verdict on a reference or a passage; one that is cut off is asked for again."""
    chunk_score_max_tokens: Annotated[int, Ge(1)] = 256
    """Maximum tokens of the scores of a chunk; a reply that is cut off is asked for again."""
    reply_retries: Annotated[int, Ge(0), Le(10)] = 2
    """Times the model is sent the error in evidence, verdicts, chunk scores or headings and asked again before the job
    fails."""
    deduplicate_references: bool = False
    """Keep only the better of two references that share most of their lines; the next one replaces the other."""
    prompt_format: Literal["xml", "sentinel", "notebook"] = "xml"
    """Block of references: closed by its tag and left out when empty (xml), closed and with a sentence when empty
    (sentinel), or as in the paper's notebook, whose closing line repeats the opening tag (notebook)."""
    score_input: Literal["transcript", "evidence"] = "transcript"
    """What the scoring prompt shows: the transcript, or only the passages around the extracted quotes. With passages,
    RAGQ_SCORE_SCHEMA allows N/A for items without a passage only, and the reply gives no reasons: for small models."""
    score_schema: bool = False
    """Have the server enforce a JSON schema for scores; the model then cannot reason before it answers."""
    score_text_chars: Annotated[int, Ge(0)] = 0
    """Maximum characters of each evidence and reason under RAGQ_SCORE_SCHEMA; 0 is no limit."""
    token_signals: bool = True
    """Request the log-probabilities of the tokens of scoring replies; a server that has none gives scores without."""
    coverage_grid: Annotated[str, Predicate(is_coverage_grid), Allowed(ALLOWED)] = GRID
    """Coverages at which the report of the run shows the risk."""
    reference_validator: Literal["model", "similarity"] = "model"
    """Who accepts references where EMBEDDING_ENABLE_REFERENCE_VALIDATION is on: a language model, or their similarity
    and tag."""
    reference_similarity: Annotated[float, Ge(0.0), Le(1.0)] = 0.72
    """Similarity from which RAGQ_REFERENCE_VALIDATOR=similarity accepts a reference that is about the item. Calibrated
    on paper-train of the demo data for the installed embedder, each participant left out in turn; other embedders have
    other similarities."""
    scorer: Literal["model", "neighbours"] = "model"
    """Who scores the items: a language model; or nobody: the score is the mean of those of the nearest evidence of the
    index, weighted by similarity, and the median of the index where there is no evidence."""
    neighbours: Annotated[int, Ge(1), Le(100)] = 5
    """Participants of the index whose evidence RAGQ_SCORER=neighbours takes for an item."""
    expander: Literal["model", "none"] = "model"
    """Who expands questions: a language model, where the preset has expansion.enabled; or nobody, so that the question
    alone is searched for."""
    answerer: Literal["model", "extractive"] = "model"
    """Who answers questions: a language model; or nobody: the best sentences of the sources are the answer."""
    relevance_floor: Annotated[float, Ge(0.0), Le(1.0)] = 0.0
    """A question fails when the probability that the corpus answers it is lower, estimated from the scores of the best
    passages; 0 disables the estimate."""
    query_model: str = ""
    """Language model that expands and answers questions; if empty, MODEL_QUANTITATIVE_MODEL."""
    query_light_model: str = ""
    """Language model for questions that request the light one; if empty, that of all other questions."""
    query_temperature: Annotated[float, Ge(0.0), Le(2.0)] = 0.2
    """Sampling temperature of expansions and answers."""
    corpus_batch_chunks: Annotated[int, Ge(1), Le(1024)] = 64
    """Chunks of a corpus that are embedded by one job."""
    hnsw_from_chunks: Annotated[int, Ge(1)] = 20_000
    """Searchable chunks from which a corpus gets an HNSW index; fewer are scanned exactly."""
    answer_template: Literal["rag_augmentation", "short_answer"] = "rag_augmentation"
    """Template of the prompt of an answer: with sections, or of two to four sentences, for small models."""
    context_tokens: Annotated[int, Ge(0)] = 0
    """Tokens of prompt and reply together, which prompts are made to fit; 0 takes what the server says of the model."""
    query_max_tokens: Annotated[int, Ge(0)] = 0
    """Maximum tokens of an expansion or answer unless the preset sets it; 0 uses the limit of the server."""
    repair_by: Literal["rules", "model"] = "rules"
    """Who repairs the headings of an imported document: rules, or a language model."""
    select_by: Literal["rules", "model"] = "rules"
    """Who selects the sections of an imported document that are embedded: rules, or a language model."""
    document_model: str = ""
    """Language model for the headings and sections of documents; if empty, MODEL_QUANTITATIVE_MODEL."""
    document_max_tokens: Annotated[int, Ge(0)] = 0
    """Maximum tokens of a reply about headings or sections; 0 uses the limit of the server."""
    document_chunk_tokens: Annotated[int, Ge(-1)] = -1
    """Most tokens of a chunk of an imported document; 0 sizes chunks by words, -1 as in the rest of its corpus."""
    search_tables: bool = True
    """Tables and figures of works that are imported can be found: rows with the names of their columns, descriptions of
    images, both with their captions."""
    retries: Annotated[int, Ge(0), Le(10)] = 0
    """Automatic retries of a stage after a transport error; other errors are not retried."""
