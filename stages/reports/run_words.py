"""The request of a run in words, and notices about its results, wherever it is shown."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stages.texts.listed import listed

if TYPE_CHECKING:
    from schemas.values.limit_states import RunLimitState

#: Shown with runs of the profile `demo`, by kind; other kinds do not use its language model.
DEMO_NOTICES = {
    "participant": "Profile demo: evidence is chosen by similarity, and a 135M model judges it and scores the items. "
    "Demo model: results are not meaningful.",
    "query": "Profile demo: a 135M model expands, judges and answers. Demo model: results are not meaningful.",
    "evaluation": "Profile demo: a 135M model judges the answers. Demo model: results are not meaningful.",
}

#: Shown with runs of other profiles whose items that language model scores.
DEMO_MODEL_NOTICE = "A 135M model scores the items. Demo model: results are not meaningful."

#: Shown with runs that no language model scores.
NEIGHBOURS_NOTICE = (
    "No language model scores: each score is the mean of those of the training participants with the nearest evidence, "
    "a baseline. Zero-shot mode needs a model, and is left out."
)

#: Shown with every answer that it writes.
DEMO_ANSWER_NOTICE = "A 135M model wrote this answer. Demo model: results are not meaningful."

#: Shown with every run whose references have scores that the assessing model itself assigned.
CIRCULAR_NOTICE = "MODEL_QUANTITATIVE_MODEL scored the chunks of the index too: it is shown its own labels as examples."

#: The fields of a request in a list of runs, in this order.
_ASKED = ("index", "corpus", "preset", "vocabulary", "limit")


def asked_for(request: Mapping[str, Any]) -> str:
    """The request of a run, in names and numbers; empty if it has none."""
    marks = {"overlap": "with overlap", "left_parity": "parity left"}
    return " ".join(
        [
            *([where] if (where := split_in_words(request)) else []),
            *(str(request[key]) for key in _ASKED if request.get(key)),
            *(mark for key, mark in marks.items() if request.get(key)),
            *([f"answers of r{request['evaluates']}"] if request.get("evaluates") else []),
            *([fork_in_words(request)] if request.get("fork") else []),
        ]
    )


def split_in_words(request: Mapping[str, Any]) -> str:
    """The split of a run with its data set, or the data set alone; empty for a run of other kinds.

    >>> split_in_words({"data_set": "clinic", "split": "paper-test"})
    'clinic/paper-test'
    """
    data_set, split = request.get("data_set"), request.get("split")
    if data_set and split:
        return f"{data_set}/{split}"
    return split or (f"data set {data_set}" if data_set else "")


def fork_in_words(request: Mapping[str, Any]) -> str:
    """What a run was forked from; empty for a run that is no fork.

    >>> fork_in_words({"fork": {"run": 12, "from": "rerank"}})
    'fork of r12 from rerank'
    """
    fork = request.get("fork")
    return f"fork of r{fork['run']} from {fork['from']}" if fork else ""


def variants_in_words(request: Mapping[str, Any]) -> str:
    """The transcript variants of a run, and the reference index that it searches; empty for runs of other kinds.

    >>> searched = {"index": "minilm_paper_train", "data_set": "clinic", "split": "paper-train"}
    >>> variants_in_words({"variants": {"transcripts": {"raw": 41}, "index": "raw"}, "searched": searched})
    'transcripts raw (41), index minilm_paper_train (clinic/paper-train) of raw transcripts'
    """
    variants = request.get("variants") or {}
    counted = [f"{variant} ({count})" for variant, count in (variants.get("transcripts") or {}).items()]
    index = [f"{index_in_words(request)} of {variants['index']} transcripts"] if variants.get("index") else []
    return ", ".join([*([f"transcripts {' '.join(counted)}"] if counted else []), *index])


def index_in_words(request: Mapping[str, Any]) -> str:
    """The reference index that a run searches, with the split that it was built of.

    >>> index_in_words({"searched": {"index": "minilm_paper_train", "data_set": "clinic", "split": "paper-train"}})
    'index minilm_paper_train (clinic/paper-train)'
    """
    searched = request.get("searched")
    return f"index {searched['index']} ({searched['data_set']}/{searched['split']})" if searched else "index"


def limits_in_words(limits: "RunLimitState") -> str:
    """The limits of a run, and what counts towards them.

    >>> from schemas.values.limit_states import RunLimitState
    >>> limits_in_words(RunLimitState(max_failures="10%", max_llm_calls=20, llm_calls=12))
    'stops at 10% failed jobs; 12 of 20 language model calls'
    """
    parts = [] if limits.max_failures is None else [f"stops at {limits.max_failures} failed jobs"]
    if limits.max_llm_calls is not None:
        parts.append(f"{limits.llm_calls} of {limits.max_llm_calls} language model calls")
    if limits.max_tokens is not None:
        parts.append(f"{limits.tokens} of {limits.max_tokens} tokens")
    return "; ".join(parts)


def notices(kind: str, profile: str, request: Mapping[str, Any]) -> Iterator[str]:
    """Notices about a run's results."""
    if profile == "demo" and (notice := DEMO_NOTICES.get(kind)):
        yield notice
    elif request.get("demo_model"):
        yield DEMO_MODEL_NOTICE
    elif request.get("scorer") == "neighbours":
        yield NEIGHBOURS_NOTICE
    if left := request.get("left_parity"):
        yield f"Parity with the paper's notebook is left by {', '.join(left)}: compare with none of its figures."
    yield from _notices_of_overlap(request)
    yield from _notices_of_variants(request)
    if unknown := request.get("unknown_documents"):
        yield f"{unknown} relevant documents of the judgements are in no corpus that is asked: no search finds them."
    if fork := request.get("fork"):
        yield f"Fork of r{fork['run']}: the stages before '{fork['from']}' are copied from that run, not computed."
    if draw := request.get("draw"):
        yield f"Draw {draw}: language models were asked anew; no answer of another draw was used."
    if left_out := request.get("left_out_references"):
        yield f"The reference index lacks participant {', '.join(map(str, left_out))}."
    if unlabelled := request.get("unlabelled_references"):
        yield (
            f"{len(unlabelled)} participants of the reference index have no item scores: {listed(unlabelled)}. Their "
            "chunks take places among the references and are not shown."
        )
    if cut := request.get("cut_chunks"):
        yield (
            f"{cut['cut']} of the {cut['chunks']} chunks of the reference index are longer than the embedder reads, "
            "and were cut for it; prompts show them whole."
        )
    chunk_scores = request.get("chunk_scores") or {}
    if chunk_scores.get("is_circular"):
        yield CIRCULAR_NOTICE
    if prompt := chunk_scores.get("other_prompt"):
        scorer = chunk_scores.get("scorer_model") or "a scorer without a name"
        yield f"Chunk scores of the references: by {scorer} with a prompt that is not ragq's ({prompt})."


def _notices_of_overlap(request: Mapping[str, Any]) -> Iterator[str]:
    if overlap := request.get("overlap"):
        people = overlap["participants"]
        yield (
            f"Overlap allowed: {len(people)} participants of reference index '{overlap['index']}' are assessed here or "
            f"in the same split: {listed(people)}. Their chunks were left out of every search."
        )


def _notices_of_variants(request: Mapping[str, Any]) -> Iterator[str]:
    variants = request.get("variants") or {}
    transcripts, index = variants.get("transcripts") or {}, variants.get("index")
    counted = ", ".join(f"{variant} ({count})" for variant, count in transcripts.items())
    if variants.get("mismatch_allowed"):
        yield f"Variant mismatch allowed: transcripts are {counted}, the reference index was built from {index}."
    elif len(transcripts) > 1:
        yield f"The transcripts are of several variants: {counted}."
    if "unknown" in (*transcripts, index):
        whose = {"transcripts": "unknown" in transcripts, "reference index": index == "unknown"}
        yield (
            f"Transcript variant of {' and '.join(name for name, is_so in whose.items() if is_so)} unknown: stored "
            "before variants were recorded, or from files that do not name theirs. `ragq import participants DIR` and "
            "`ragq index references` record them."
        )
