"""The request of a run in words, and notices about its results, wherever it is shown."""

from collections.abc import Iterator, Mapping
from typing import Any

#: Shown with runs of the profile `demo`, by kind; other kinds do not use its language model.
DEMO_NOTICES = {
    "participant": "Profile demo: evidence is chosen by similarity and a 135M model judges it. "
    "Demo model: results are not meaningful.",
    "query": "Profile demo: a 135M model expands, judges and answers. Demo model: results are not meaningful.",
}

#: Shown with every run whose references have scores that the assessing model itself assigned.
CIRCULAR_NOTICE = "MODEL_QUANTITATIVE_MODEL scored the chunks of the index too: it is shown its own labels as examples."

#: The fields of a request in a list of runs, in this order.
_ASKED = ("split", "index", "corpus", "preset", "vocabulary", "limit")


def asked_for(request: Mapping[str, Any]) -> str:
    """The request of a run, in names and numbers; empty if it has none."""
    return " ".join(str(request[key]) for key in _ASKED if request.get(key))


def notices(kind: str, profile: str, request: Mapping[str, Any]) -> Iterator[str]:
    """Notices about a run's results."""
    if profile == "demo" and (notice := DEMO_NOTICES.get(kind)):
        yield notice
    if left_out := request.get("left_out_references"):
        yield f"The reference index lacks participant {', '.join(map(str, left_out))}."
    chunk_scores = request.get("chunk_scores") or {}
    if chunk_scores.get("is_circular"):
        yield CIRCULAR_NOTICE
    if prompt := chunk_scores.get("other_prompt"):
        scorer = chunk_scores.get("scorer_model") or "a scorer without a name"
        yield f"Chunk scores of the references: by {scorer} with a prompt that is not ragq's ({prompt})."


def is_chosen(source: str) -> bool:
    """Whether a setting of that source is neither a default nor a value of the preset, which is shown separately."""
    return source != "default" and not source.startswith("preset ")
