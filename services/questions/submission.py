"""Query runs: which queries are asked of which corpus, by which preset and which prompt templates."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from schemas.chains import stages_of
from schemas.errors import Refused
from schemas.settings.base import BELOW_CHOSEN
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RunSettings, thaw
from schemas.statuses import Priority
from schemas.values.documents import StoredCorpus, WorkFilter
from schemas.values.requests import QueryRequest, SubmittedQuery
from stages.models import first_unlike
from stages.queries.expand import pasted_expansion
from stages.queries.relevance import fitted_weights
from stages.queries.templates import OF_QUESTIONS
from stages.texts.characters import is_plain_id
from store.corpora.corpora import DEFAULT_CORPUS, all_corpora, corpus_of_name
from store.corpora.works import documents_of, matching_works
from store.database import Connection
from store.questions import presets, queries
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


def refuse_unlike(corpora: Sequence[StoredCorpus]) -> None:
    """Raise Refused, naming every difference, unless one search can have all of these corpora. Their vectors have to be
    of one model and comparable, and their texts read by one dictionary."""
    first, *others = corpora
    for other in others:
        if differences := list(_differences(first, other)):
            raise Refused(
                f"Corpora '{first.name}' and '{other.name}' cannot be searched together:\n"
                + "\n".join(f"  {name}: {one} and {another}" for name, one, another in differences)
                + f"\nAsk each by itself, or import the works of '{other.name}' into a new corpus with the values of "
                f"'{first.name}'."
            )


def _differences(first: StoredCorpus, other: StoredCorpus) -> Iterator[tuple[str, object, object]]:
    values = {
        "EMBEDDING_BACKEND": (first.backend, other.backend),
        "MODEL_EMBEDDING_MODEL": (first.model, other.model),
        "EMBEDDING_DIMENSION": (first.dimension, other.dimension),
        "weights": tuple((one.model_digest or "unknown")[:12] for one in (first, other)),
        "headings in vectors": (first.embeds_headings, other.embeds_headings),
        "full text": (first.full_text, other.full_text),
    }
    yield from ((name, one, another) for name, (one, another) in values.items() if one != another)
    for dtype in first.model_dtypes:
        if unlike := first_unlike(dtype, other.model_dtypes):
            yield "number format of vectors", dtype, unlike


_FULL: Final = "RAGQ_QUERY_MODEL"
_LIGHT: Final = "RAGQ_QUERY_LIGHT_MODEL"


async def with_chosen_models(connection: Connection, settings: EffectiveSettings) -> EffectiveSettings:
    """The settings with the chosen models, where the environment, a .env file or the request names no others."""
    return settings.with_chosen(await presets.chosen(connection))


async def choose_models(
    connection: Connection, settings: EffectiveSettings, *, full: str | None, light: str | None
) -> EffectiveSettings:
    """Choose the models of new questions; None leaves one as it is, and an empty text removes the choice. Raises
    Refused, and stores nothing, when the environment or a .env file sets one of them to another."""
    known = await presets.chosen(connection)
    values = {}
    if full is not None and full != settings.with_chosen(known).run.query_model:
        values[_FULL] = full
    if light is not None and light != settings.with_chosen(known | values).run.query_light_model:
        values[_LIGHT] = light
    fixed = [f"{name} ({settings.sources[name]})" for name in values if settings.sources[name] not in BELOW_CHOSEN]
    if fixed:
        raise Refused(
            f"The settings of the server name other models: {', '.join(fixed)}. Change these variables, or remove them "
            "to choose models here."
        )
    await presets.choose(connection, values)
    return await with_chosen_models(connection, settings)


async def plan_queries(connection: Connection, request: QueryRequest, settings: EffectiveSettings) -> NewRun:
    """The run for a request: one job per query, in the order asked for, embedded as their corpora are. Raises Refused
    for whatever would end a job or search nothing; LLMResponseParseError for a pasted expansion that cannot be used."""
    settings = await with_chosen_models(connection, settings)
    if strange := sum(not is_plain_id(query.id) for query in request.queries):
        raise Refused(
            f"{strange} of {len(request.queries)} query ids cannot be used: an id is shown in logs and in "
            "Flower, so it has 1 to 64 letters, digits, dots, colons, hyphens and underscores. Give the queries such "
            "ids."
        )
    if request.expansion_reply is not None:
        pasted_expansion(request.expansion_reply)
    names = request.all_corpora or [await _corpus_to_ask(connection)]
    asked = [await _searchable(connection, name) for name in names]
    refuse_unlike(asked)
    corpus = asked[0]
    works = request.works or WorkFilter()
    if works.given:
        await _refuse_empty(connection, asked, works)
    unknown = await _unknown_documents(connection, asked, request.queries)
    stored = await presets.get(connection, request.config_preset)
    preset = stored.preset.changed(request.preset_values, origin="option --set")
    snapshot = _embedded_as(corpus, settings.snapshot()) | preset.snapshot(stored.name, options=request.preset_values)
    frozen = thaw(snapshot)
    _refuse_floor(frozen.run, corpus)
    expansion: dict[str, str] = {"origin": frozen.run.ragq.expander if request.expand else "none"}
    if request.expansion_reply is not None:
        expansion = {"origin": "pasted", "reply": request.expansion_reply}
    inputs: dict[str, Any] = {
        "corpus_ids": [one.id for one in asked],
        "model_digest": corpus.model_digest or "",
        "templates": {tag: (await presets.template(connection, tag)).version for tag in OF_QUESTIONS},
        "expansion": expansion,
    }
    if works.given:
        inputs["works"] = works.given
    if request.use_full_model is False:
        inputs["light_model"] = True
    if request.config_preset is None and not request.preset_values and len(request.queries) == 1:
        inputs["takes_default"] = True
    jobs = [
        NewJob(
            mode="answer",
            subject=query.id,
            inputs=inputs | {"query_hash": content_hash(query.text)} | _known(query),
            stages=stages_of("query", "answer", until=request.until),
        )
        for query in request.queries
    ]

    async def keep_queries(connection: Connection, run_id: int) -> None:
        await queries.keep(connection, run_id, inputs["corpus_ids"], request.queries)

    return NewRun(
        kind="query",
        profile=settings.profile,
        settings=snapshot,
        settings_hash=content_hash([frozen.run.values(), preset.values()]),
        request={
            "corpus": ", ".join(names),
            "preset": stored.name,
            "queries": len(jobs),
            "judgements": sum(len(query.judgements) for query in request.queries),
            "until": request.until,
            "expansion": expansion["origin"],
            "profile_source": settings.profile_source,
        }
        | ({"works": works.given} if works.given else {})
        | ({"unknown_documents": unknown} if unknown else {}),
        priority=Priority.INTERACTIVE if len(jobs) == 1 else Priority.NORMAL,
        jobs=jobs,
        effect=keep_queries,
    )


def _known(query: SubmittedQuery) -> dict[str, str]:
    """Hashes of what answers and rankings are compared with: the same question with others is other work."""
    known = {"reference_hash": query.reference_answer, "judgements_hash": query.judgements}
    return {name: content_hash(value) for name, value in known.items() if value}


async def _corpus_to_ask(connection: Connection) -> str:
    """The corpus of a question that names none: `default`, or the only one. Raises Refused without it."""
    known = [corpus.name for corpus in await all_corpora(connection)]
    if DEFAULT_CORPUS in known:
        return DEFAULT_CORPUS
    if len(known) != 1:
        why = (
            f"There are several corpora; name one of them: {', '.join(known)}."
            if known
            else "There is no corpus yet. `ragq import works PATH --wait` makes one of a file or a folder."
        )
        raise Refused(why, slug="corpus-missing")
    return known[0]


async def _searchable(connection: Connection, name: str) -> StoredCorpus:
    found = await corpus_of_name(connection, name)
    if not found.searchable_chunks:
        quoted = shlex.quote(name)
        raise Refused(
            f"Nothing in corpus '{name}' can be searched yet. `ragq import works PATH --corpus {quoted}` imports and "
            f"embeds works; `ragq corpus show {quoted}` shows what waits for a vector."
        )
    return found


async def _refuse_empty(connection: Connection, corpora: Sequence[StoredCorpus], works: WorkFilter) -> None:
    """Raise Refused for a filter that leaves nothing to find."""
    _, searchable = await matching_works(connection, [corpus.id for corpus in corpora], works)
    if not searchable:
        raise Refused(
            f"No work that can be searched fits the conditions; nothing was submitted "
            f"(`ragq corpus show {shlex.quote(corpora[0].name)}` lists the works, and what waits for its vector)."
        )


async def _unknown_documents(
    connection: Connection, corpora: Sequence[StoredCorpus], queries: Sequence[SubmittedQuery]
) -> int:
    """How many relevant documents are in none of the corpora. Raises Refused when none of them is."""
    relevant = {document for query in queries for document, degree in query.judgements.items() if degree > 0}
    if not relevant:
        return 0
    unknown = relevant - await documents_of(connection, [corpus.id for corpus in corpora])
    if unknown == relevant:
        of = " or ".join(f"corpus '{corpus.name}'" for corpus in corpora)
        raise Refused(
            f"None of the {len(relevant)} relevant documents of the judgements is in {of}. A document is named as its "
            "file is, without .md: tea for teas/tea.md, and tea.pdf for teas/tea.pdf. "
            f"`ragq corpus show {shlex.quote(corpora[0].name)}` lists the files."
        )
    return len(unknown)


def _refuse_floor(settings: RunSettings, corpus: StoredCorpus) -> None:
    """Raise Refused for a relevance floor that was not fitted for the embedder of the corpus."""
    fitted = fitted_weights()
    if settings.ragq.relevance_floor and settings.model.embedding_model not in fitted:
        raise Refused(
            f"RAGQ_RELEVANCE_FLOOR={settings.ragq.relevance_floor:g} cannot be used on corpus '{corpus.name}': "
            f"probabilities are fitted for {', '.join(fitted)}, and {settings.model.embedding_model} embedded it. "
            "Submit with `--set RAGQ_RELEVANCE_FLOOR=0`."
        )


def _embedded_as(corpus: StoredCorpus, snapshot: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The snapshot with the corpus's embedder in it."""
    of_corpus = corpus.embedder
    others = [
        f"{name}={snapshot[name]['value']}"
        for name, value in of_corpus.items()
        if snapshot[name]["source"] in ("config", "option") and snapshot[name]["value"] != value
    ]
    if others:
        raise Refused(
            f"Corpus '{corpus.name}' was embedded otherwise than with {', '.join(others)}: with "
            + ", ".join(f"{name}={value}" for name, value in of_corpus.items())
            + ". Leave these settings out, or import the works into another corpus."
        )
    return dict(snapshot) | {name: {"value": value, "source": "corpus"} for name, value in of_corpus.items()}
