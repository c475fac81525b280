"""Queries of a corpus, and the answers to them."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Index, UniqueConstraint, func, text
from sqlmodel import Field

from schemas.tables import columns


class QueryTable(columns.Row, table=True):
    """The question of a query job. What was computed for it lies in the job's stages."""

    __tablename__ = "queries"
    __table_args__ = (Index("ux_queries_job_id", "job_id", unique=True),)

    id: int = columns.serial()
    job_id: int = columns.reference("job.id")
    corpus_id: int = columns.reference("corpus.id")
    other_corpus_ids: list[int] = columns.array(BigInteger, "{}")
    """Corpora that are searched together with it."""
    external_id: str | None
    """The id that the submitted file gave it."""
    original_query: str = columns.text()
    reference_answer: str | None = columns.text()
    """What answers are compared with, where the submitted file has it."""
    judgements: dict[str, Any] = columns.json("{}")
    """How relevant works and chunks are to it: by document, as the submitted judgements name it."""
    created_at: datetime = columns.now()
    updated_at: datetime = columns.now()


class QueryResultTable(columns.Row, table=True):
    """An answer. A query may have several."""

    __tablename__ = "results"

    id: int = columns.serial()
    query_id: int = columns.reference("queries.id", index=True)
    attempt_id: int | None = columns.reference("stage_attempt.id", deleted="SET NULL", index=True)
    """The attempt of `generate` that stored it; null when that was deleted and the question goes on in another run."""
    response_text: str = columns.text()
    origin: str
    model: str | None
    prompt_hash: str
    preset: str | None
    sources: list[Any] = columns.json()
    """What each label of its prompt stood for."""
    cited: list[Any] = columns.json()
    """Labels of its prompt that it cites."""
    unknown_citations: list[Any] = columns.json()
    """Labels that it cites and its prompt did not have."""
    is_cut: bool = columns.flag()
    """The token limit ended it."""
    basis: dict[str, Any] = columns.json()
    """What its prompt was based on, and what was lost before."""
    created_at: datetime = columns.now()
    updated_at: datetime = columns.now()


class AnswerPieceTable(columns.Row, table=True):
    """A piece of the answer that a running attempt of `generate` is writing; a trigger deletes it with the attempt's
    end."""

    __table_args__ = ({"prefixes": ["UNLOGGED"]},)

    attempt_id: int = columns.reference("stage_attempt.id", primary_key=True)
    ordinal: int = Field(primary_key=True)
    """From 1, without a gap."""
    text: str = columns.text()


class RagConfigTable(columns.Row, table=True):
    """A named preset. At most one is the default."""

    __table_args__ = (
        Index("ux_rag_config_name", func.lower(text("preset_name")), unique=True),
        Index("ux_rag_config_default", "is_default", unique=True, postgresql_where=text("is_default")),
    )

    id: int = columns.serial()
    preset_name: str
    is_default: bool
    description: str | None = columns.text()
    config: dict[str, Any] = columns.json()
    """Every value of the preset, by group and key."""
    created_at: datetime = columns.now()
    updated_at: datetime = columns.now()


class PromptTemplateTable(columns.Row, table=True):
    """One version of a template. Versions are added and never changed; one of each function is active."""

    __tablename__ = "prompt_templates"
    __table_args__ = (
        UniqueConstraint("function_tag", "version"),
        Index("ux_prompt_templates_active", "function_tag", unique=True, postgresql_where=text("is_active")),
        CheckConstraint("version > 0", name="ck_prompt_templates_version"),
    )

    id: int = columns.serial()
    function_tag: str
    version: int
    title: str
    template_content: str = columns.text()
    is_active: bool
    created_at: datetime = columns.now()
    updated_at: datetime = columns.now()


class PromptMetaTable(columns.Row, table=True):
    """Which placeholders the templates of a function may use, and what they mean."""

    id: int = columns.serial()
    function_tag: str = Field(unique=True)
    variables: list[Any] = columns.json()
    """Objects with `variable_name` and `variable_description`."""
    created_at: datetime = columns.now()
    updated_at: datetime = columns.now()


class ChosenSettingTable(columns.Row, table=True):
    """A setting of new runs that was chosen over REST. The environment and .env files override it."""

    name: str = columns.text(primary_key=True)
    value: str = columns.text()
    updated_at: datetime = columns.now()
