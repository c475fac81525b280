"""Replaces every text in a populated database."""

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Any, Final

from tests.acceptance.harness import Installation

#: Texts of outputs, inputs and error details, by their key; intents, decisions and other enumerations are left out.
TEXTS: Final = frozenset(
    {
        *("queries", "hyde_answer", "entities"),
        *("title", "content", "enriched_content", "heading_breadcrumbs", "heading_chain", "prompt", "unknown", "cited"),
        *("response_text", "unknown_citations"),
        *("quotes", "block", "messages", "reason", "evidence"),
        *("phrase", "lookup", "normalized", "oov_terms", "tag", "alias_token", "sources", "phrases"),
        *("model", "validator", "ranker", "extractor", "message", "server_reply", "frames", "raw_response"),
        *("corpus", "preset", "split", "vocabulary", "participants"),
    }
)
#: Values that ragq itself wrote under the same keys.
NEVER: Final = frozenset({"label", "role"})
#: The key `text` holds a text in these stages; elsewhere it names a text of the question.
TEXT_STAGES: Final = frozenset({"chunk"})

#: Columns that hold one line, and columns that hold many.
LINES: Final = {
    "queries": ("external_id",),
    "results": ("model", "preset"),
    "run": ("profile", "version"),
    "job": ("subject",),
    "corpus": ("name", "model"),
    "works": ("title", "authors", "source_path"),
    "chunks": ("heading_breadcrumbs",),
    "stage_attempt": ("worker_id",),
    "rag_config": ("preset_name",),
    "prompt_templates": ("title",),
    "llm_call": ("model",),
}
LONG: Final = {
    "queries": ("original_query",),
    "results": ("response_text",),
    "job": ("note",),
    "works": ("abstract",),
    "chunks": ("content",),
    "reference_chunk": ("text",),
    "rag_config": ("description",),
    "stage_attempt": ("error_message",),
    "llm_call": ("reply",),
}
OBJECTS: Final = {
    "results": ("sources", "unknown_citations"),
    "run": ("request",),
    "job": ("inputs",),
    "stage_attempt": ("output", "error_details"),
    "llm_call": ("request",),
}

#: Names by which rows are found: each is changed wherever it stands. A vocabulary's name is a plain id.
NAMES: Final = (
    (("participant", "data_set"), ("split", "data_set"), ("reference_index", "data_set")),
    (("split", "name"), ("reference_index", "split")),
    (("reference_index", "name"),),
    (("run", "name"), ("run", "note")),
    (("tag", "name"), ("tag_alias", "tag")),
    (("tag", "title"),),
    (("tag_alias", "alias"),),
    (("api_token", "name"),),
    (("worker", "id"),),
)


class Poison:
    """Words in turn, so that each is used as often as any other."""

    def __init__(self, words: Sequence[str], *, in_long: int, also_in_long: Sequence[str] = ()) -> None:
        self._words: Iterator[str] = cycle(words)
        self._others: Iterator[str] = cycle(also_in_long)
        self._in_long = in_long

    def line(self) -> str:
        return next(self._words)

    def long(self) -> str:
        """Several of them, as paragraphs."""
        words = [*islice(self._words, self._in_long), *islice(self._others, self._in_long)]
        return "\n\n".join(words)

    def into(self, value: Any, *, everywhere: bool = False, text_too: bool = False) -> Any:
        """A JSON value with the strings under the keys of TEXTS replaced, or every string."""
        if isinstance(value, dict):
            return {
                key: of
                if key in NEVER
                else self.into(
                    of, everywhere=everywhere or key in TEXTS or (text_too and key == "text"), text_too=text_too
                )
                for key, of in value.items()
            }
        if isinstance(value, list):
            return [self.into(one, everywhere=everywhere, text_too=text_too) for one in value]
        return self.long() if everywhere and isinstance(value, str) else value


def replace_texts(installation: Installation, poison: Poison) -> None:
    """Replace the texts of a populated database. The values are inconsistent afterwards."""
    installation.rows("UPDATE job SET note = ''")
    for table in sorted({*LINES, *LONG, *OBJECTS}):
        lines, long, objects = (columns.get(table, ()) for columns in (LINES, LONG, OBJECTS))
        columns = [*lines, *long, *objects]
        assignments = ", ".join(f"{column} = ${place}" for place, column in enumerate(columns, start=2))
        words = [
            [
                row["id"],
                *(row[column] if _stays(row, column) else poison.line() for column in lines),
                *(row[column] if _stays(row, column) else poison.long() for column in long),
                *(_poisoned(row, column, poison) for column in objects),
            ]
            for row in installation.rows(f"SELECT * FROM {table}")
        ]
        installation.change(f"UPDATE {table} SET {assignments} WHERE id = $1", words)


def replace_names(installation: Installation, poison: Poison) -> None:
    """Put a word before every name of a populated database, but for those that `replace_texts` replaces."""
    for places in NAMES:
        word = poison.line()
        for table, column in places:
            installation.rows(f"UPDATE {table} SET {column} = $1 || {column}", word)


def _poisoned(row: dict[str, Any], column: str, poison: Poison) -> Any:
    is_text_everywhere = column in ("unknown_citations", "error_details")
    return poison.into(row[column], everywhere=is_text_everywhere, text_too=row.get("stage") in TEXT_STAGES)


def _stays(row: dict[str, Any], column: str) -> bool:
    is_number = column == "subject" and row["kind"] == "participant"
    return row[column] is None or is_number
