"""Queries of a corpus, how relevant documents are to them, and the answers."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    false,
    func,
    text,
)
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, json_column, now_column, reference_column, text_column


class QueryTable(SQLModel, table=True):
    """The question of a query job. What was computed for it lies in the job's stages."""

    __tablename__ = "queries"
    __table_args__ = (Index("ux_queries_job_id", "job_id", unique=True),)

    id: int | None = Field(default=None, sa_column=id_column())
    job_id: int = Field(sa_column=reference_column("job.id"))
    corpus_id: int = Field(sa_column=reference_column("corpus.id"))
    other_corpus_ids: list[int] = Field(
        default_factory=list, sa_column=Column(ARRAY(BigInteger), nullable=False, server_default="{}")
    )
    """Corpora that are searched together with it."""
    external_id: str | None = None
    """The id that the submitted file gave it."""
    original_query: str = Field(sa_column=text_column())
    reference_answer: str | None = Field(default=None, sa_column=Column(Text, nullable=True))
    """What answers are compared with, where the submitted file has it."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class JudgementTable(SQLModel, table=True):
    """How relevant a work or a chunk is to a query, as the submitted judgements say."""

    __tablename__ = "query_judgement"

    query_id: int = Field(sa_column=reference_column("queries.id", primary_key=True))
    document: str = Field(sa_column=Column(Text, primary_key=True))
    """The judged document, as the judgements name it: the source name of a work."""
    relevance: int


class QueryResultTable(SQLModel, table=True):
    """An answer. A query may have several."""

    __tablename__ = "results"

    id: int | None = Field(default=None, sa_column=id_column())
    query_id: int = Field(
        sa_column=Column(BigInteger, ForeignKey("queries.id", ondelete="CASCADE"), nullable=False, index=True)
    )
    attempt_id: int | None = Field(
        default=None,
        sa_column=Column(BigInteger, ForeignKey("stage_attempt.id", ondelete="CASCADE"), nullable=True, index=True),
    )
    """The attempt of `generate` that stored it."""
    response_text: str = Field(sa_column=text_column())
    origin: str
    model: str | None = None
    prompt_hash: str
    preset: str | None = None
    sources: list[Any] = Field(sa_column=json_column())
    """What each label of its prompt stood for."""
    unknown_citations: list[Any] = Field(sa_column=json_column())
    """Labels that it cites and its prompt did not have."""
    is_cut: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """The token limit ended it."""
    basis: dict[str, Any] | None = Field(default=None, sa_column=json_column(nullable=True))
    """What its prompt was based on, and what was lost before."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class AnswerPieceTable(SQLModel, table=True):
    """A piece of the answer that a running attempt of `generate` is writing; a trigger deletes it with the attempt's
    end."""

    __tablename__ = "answer_piece"
    __table_args__ = {"prefixes": ["UNLOGGED"]}

    attempt_id: int = Field(sa_column=reference_column("stage_attempt.id", primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True))
    """From 1, without a gap."""
    text: str = Field(sa_column=text_column())


class RagConfigTable(SQLModel, table=True):
    """A named preset. At most one is the default."""

    __tablename__ = "rag_config"
    __table_args__ = (
        Index("ux_rag_config_name", func.lower(text("preset_name")), unique=True),
        Index("ux_rag_config_default", "is_default", unique=True, postgresql_where=text("is_default")),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    preset_name: str
    is_default: bool = False
    description: str | None = Field(default=None, sa_column=text_column(nullable=True))
    config: dict[str, Any] = Field(sa_column=json_column())
    """Every value of the preset, by group and key."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class PromptTemplateTable(SQLModel, table=True):
    """One version of a template. Versions are added and never changed; one of each function is active."""

    __tablename__ = "prompt_templates"
    __table_args__ = (
        UniqueConstraint("function_tag", "version"),
        Index("ux_prompt_templates_active", "function_tag", unique=True, postgresql_where=text("is_active")),
        CheckConstraint("version > 0", name="ck_prompt_templates_version"),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    function_tag: str
    version: int
    title: str
    template_content: str = Field(sa_column=text_column())
    is_active: bool = False
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class PromptMetaTable(SQLModel, table=True):
    """Which placeholders the templates of a function may use, and what they mean."""

    __tablename__ = "prompt_meta"

    id: int | None = Field(default=None, sa_column=id_column())
    function_tag: str = Field(unique=True)
    variables: list[Any] = Field(sa_column=json_column())
    """Objects with `variable_name` and `variable_description`."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class ChosenSettingTable(SQLModel, table=True):
    """A setting of new runs that was chosen over REST. The environment and .env files override it."""

    __tablename__ = "chosen_setting"

    name: str = Field(sa_column=Column(Text, primary_key=True))
    value: str = Field(sa_column=text_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())
