"""What people are told about a run wherever it is shown: what was asked for, and what to mind."""

from collections.abc import Iterator, Mapping
from typing import Any

#: Said in the head of runs of the profile `demo`, by kind; those of other kinds ask no language model of the profile.
DEMO_NOTICES = {
    "participant": "Profile demo: evidence is chosen by similarity and a 135M model judges it. "
    "The verdicts show the machinery, not quality.",
    "query": "Profile demo: a 135M model expands, judges and answers. Its words show the machinery, not quality.",
}

#: Said in the head of every run whose references show scores that the assessing model itself has given.
CIRCULAR_NOTICE = "MODEL_QUANTITATIVE_MODEL scored the chunks of the index too: it is shown its own labels as examples."

#: What of a request stands in a list of runs, in this order.
_ASKED = ("split", "index", "corpus", "preset", "vocabulary", "limit")


def asked_for(request: Mapping[str, Any]) -> str:
    """What a run was asked for, in names and numbers; nothing where the request names none."""
    return " ".join(str(request[key]) for key in _ASKED if request.get(key))


def notices(kind: str, profile: str, request: Mapping[str, Any]) -> Iterator[str]:
    """What to mind about a run's results."""
    if profile == "demo" and (notice := DEMO_NOTICES.get(kind)):
        yield notice
    if left_out := request.get("left_out_references"):
        yield f"The reference index lacks participant {', '.join(map(str, left_out))}."
    if (request.get("chunk_scores") or {}).get("is_circular"):
        yield CIRCULAR_NOTICE


def is_chosen(source: str) -> bool:
    """Whether a setting of that source is neither a default nor a value of the preset, which is named anyway."""
    return source != "default" and not source.startswith("preset ")
