"""`ragq index`: the reference indexes, and the models of vocabularies."""

import click

from cli.drawing import plain_table
from cli.lazy_group import LazyGroup
from cli.output import print_list
from cli.session import with_database
from schemas.values.stored_splits import StoredSplit
from stages.participants.split_names import first_index
from store.database import Connection
from store.references import references
from store.references.references import StoredIndex
from store.references.splits import stored_splits

_COMMANDS = {
    "references": "cli.index_references:references_command",
    "chunk-scores": "cli.index_chunk_scores:chunk_scores_command",
    "tags": "cli.index_tags:tags_command",
}

#: What is indexed -> the command that does it.
_OTHER_WORDS = {
    **dict.fromkeys(("vocabulary", "vocabularies", "vocab"), "tags"),
    **dict.fromkeys(("participants", "interviews", "transcripts"), "references"),
}


@click.group(
    cls=LazyGroup,
    elsewhere=_COMMANDS,
    other_words=_OTHER_WORDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def index() -> None:
    """Build, score and list reference indexes; build the models of vocabularies.

    \b
    Example:
        ragq index references --split paper-train
        ragq index tags topics
    """


@index.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List the indexes that can be searched.

    \b
    Example:
        ragq index list
    """

    async def read(connection: Connection) -> tuple[list[StoredIndex], list[StoredSplit]]:
        indexes = await references.current(connection)
        return indexes, [] if indexes else await stored_splits(connection)

    indexes, splits = with_database(read)
    print_indexes(indexes, as_json, none=f"No index is built yet. {first_index(splits)}")


def print_indexes(indexes: list[StoredIndex], as_json: bool, *, none: str = "") -> None:
    """The indexes as a table, or as a JSON array; without any, `none` as a notice."""
    table = plain_table(
        *("name", "split", "transcripts", "identity", "participants", "chunks"),
        *("model", "dimension", "chunking", "chunk scores", "evidence", "published"),
    )
    for one in indexes:
        table.add_row(
            one.name,
            one.source,
            one.variant,
            one.identity,
            f"{one.participants} (partial)" if one.partial else str(one.participants),
            str(one.chunks),
            one.model,
            str(one.dimension),
            f"{one.chunk_size} lines every {one.chunk_step}",
            _scorer(one),
            one.evidence or "",
            f"{one.published_at:%Y-%m-%d %H:%M}",
        )
    print_list(indexes, table, none=none, as_json=as_json)


def _scorer(one: StoredIndex) -> str:
    if one.chunk_scores_meta is None:
        return ""
    meta = one.chunk_scores_meta
    remarks = ["the assessing model"] if meta.get("allow_same_model") else []
    remarks += [f"prompt {meta['prompt_hash']}"] if meta.get("other_prompt") else []
    scorer = meta.get("scorer_model") or "unknown scorer"
    return f"{scorer} ({', '.join(remarks)})" if remarks else scorer
