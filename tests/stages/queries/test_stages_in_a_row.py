"""The stages of a query job, from markdown to an answer with sources, each with the stored output of the one before."""

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from schemas.values.base import Value
from schemas.values.chat import ChatCall
from schemas.values.documents import CorpusChunk
from schemas.values.participants import Decision
from schemas.values.queries import Answer, AugmentedPrompt, ContextSource, ValidatedChunks
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import cut_work
from stages.corpora.lines import lines_of
from stages.queries.expand import expand_query
from stages.queries.ranking import ScoreFusion
from stages.queries.retrieve import embed_query
from stages.queries.templates import TemplateTag, default_template, generate_answer
from stages.queries.validate import validate_chunks
from stages.queries.works import WorkName, WorkText
from tests.fakes.chat import ScriptedChat
from tests.fakes.chunk_search import InMemoryChunkSearch
from tests.fakes.embedder import FakeEmbedder
from tests.stages.at_defaults import (
    RUN,
    augment_prompt,
    augmentation,
    consolidate_chunks,
    rerank_chunks,
    retrieve_chunks,
    settings,
    validation,
)
from tests.stages.at_defaults import expansion as asked_expansion
from tests.store.small_corpora import SearchableChunk

StoredValue = TypeVar("StoredValue", bound=Value)

QUESTION = "Why is black tea dark?"
COLOUR = "Black tea is dark because enzymes oxidise the leaf.\n" * 25
WATER = "Soft water is best, and it should be hot.\n" * 25
MARKDOWN = f"# Tea\n\n## Colour\n\n{COLOUR}\n## Water\n\n{WATER}"
EXPANSION = {
    "queries": ["oxidation of tea leaves"],
    "hyde_answer": "Enzymes.",
    "intent": "MECHANISM",
    "entities": ["tea"],
}


class Outputs(NamedTuple):
    """What three of the stages stored."""

    validated: ValidatedChunks
    augmented: AugmentedPrompt
    answer: Answer


def stored(value: StoredValue) -> StoredValue:
    """The value as it comes back from JSON."""
    return type(value).model_validate_json(value.model_dump_json())


def direction(text: str) -> Sequence[float]:
    """East for texts about enzymes and oxidation, and for the question; north for others."""
    return [1, 0] if any(word in text for word in ("nzyme", "oxid", "dark")) else [0, 1]


def reply(call: ChatCall) -> str:
    """The replies of a model to the three calls."""
    user = call.messages[1].content
    if call.purpose == "expand query":
        return json.dumps(EXPANSION)
    if call.purpose.startswith("validate"):
        return json.dumps({"decision": "accept" if "enzymes" in user else "reject"})
    return "Enzymes oxidise the leaf [S1], as everybody knows [S7]."


def chunks() -> dict[int, CorpusChunk]:
    cut = cut_work(read_markdown(MARKDOWN), title="Tea")
    return {
        id_: CorpusChunk(
            id=id_,
            work_id=1,
            parent_id=None if piece.parent is None else piece.parent + 1,
            level=piece.level,
            content=piece.content,
            heading_breadcrumbs=piece.heading_breadcrumbs,
            start_line=piece.start_line,
            end_line=piece.end_line,
        )
        for id_, piece in enumerate(cut, start=1)
    }


async def run(chat: ScriptedChat) -> Outputs:
    all_chunks = chunks()
    searchable = {id_: chunk for id_, chunk in all_chunks.items() if chunk.level.endswith("-chunk")}
    vectors = {id_: np.array(direction(chunk.content), dtype=np.float32) for id_, chunk in searchable.items()}
    search = InMemoryChunkSearch(
        {5: [SearchableChunk(id_, chunk.content, vectors[id_]) for id_, chunk in searchable.items()]}
    )
    works = {1: WorkText("On Tea", hashlib.sha256(MARKDOWN.encode()).hexdigest(), lines_of(MARKDOWN))}
    templates = {tag: default_template(tag) for tag in TemplateTag}

    expansion = stored(
        await expand_query(
            QUESTION,
            template=templates[TemplateTag.QUERY_EXPANSION],
            chat=chat,
            model="m",
            settings=RUN,
            preset=asked_expansion(n=1),
        )
    )
    embedding = settings(embedding={"dimension": 2}).embedding
    embedded, rows = await embed_query(
        QUESTION, expansion, embedder=FakeEmbedder(direction), digest="", embedding=embedding
    )
    retrieved = stored(await retrieve_chunks(QUESTION, expansion, stored(embedded), rows, search=search, corpora=[5]))
    lexical_scores = await search.lexical_scores([5], QUESTION, sorted(searchable), scorer="bm25")
    reranked = stored(
        await rerank_chunks(
            QUESTION,
            expansion,
            retrieved,
            chunks=all_chunks,
            works=works,
            vectors=vectors,
            ranker=ScoreFusion(rows[0], vectors, lexical_scores),
        )
    )
    validated = stored(
        await validate_chunks(
            QUESTION,
            reranked.chunks,
            template=templates[TemplateTag.CHUNK_VALIDATION],
            chat=chat,
            settings=RUN,
            preset=validation(),
        )
    )
    consolidated = stored(
        consolidate_chunks(validated.chunks, parents=all_chunks, works=works, work_hashes=reranked.work_hashes)
    )
    augmented = stored(
        augment_prompt(
            QUESTION,
            expansion,
            consolidated,
            validated.chunks,
            names={1: WorkName("On Tea", "library")},
            parents=all_chunks,
            template=templates[TemplateTag.RAG_AUGMENTATION],
            template_tag="rag_augmentation",
            template_version=1,
        )
    )
    answer = stored(await generate_answer(augmented, chat=chat, model="m", settings=RUN, preset=augmentation()))
    return Outputs(validated, augmented, answer)


async def test_a_question_runs_all_stages() -> None:
    chat = ScriptedChat(reply)

    validated, augmented, answer = await run(chat)

    decisions = {verdict.decision for verdict in validated.verdicts}
    (source,) = augmented.sources
    assert decisions == {Decision.ACCEPT, Decision.REJECT}
    assert (augmented.context_source, source.title) == (ContextSource.CONSOLIDATED, "On Tea")
    assert MARKDOWN.splitlines()[source.start_line - 1] == "## Colour"
    assert "[S1] Source: On Tea > Tea | (work_id=1, start-line=3, end-line=30)\nText:\n## Colour" in augmented.prompt
    assert "Soft water" not in augmented.prompt
    assert (answer.cited, answer.unknown) == (("S1",), ("S7",))
