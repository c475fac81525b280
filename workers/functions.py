"""The function of each stage of each chain: `run_<stage>` of the file of the chain."""

from types import ModuleType
from typing import Final

from schemas.chains import CHAINS
from workers import (
    chunk_scores,
    corpora,
    documents,
    evaluations,
    participants,
    queries,
    references,
    tags,
    vocabularies,
)
from workers.work import StageFunction

#: Both modes of a participant have one file: a stage of theirs does the same work in both.
FILES: Final[dict[tuple[str, str], ModuleType]] = {
    ("participant", "few_shot"): participants,
    ("participant", "zero_shot"): participants,
    ("query", "answer"): queries,
    ("tags", "candidates"): tags,
    ("index", "references"): references,
    ("index", "chunk_scores"): chunk_scores,
    ("index", "corpus"): corpora,
    ("index", "tags"): vocabularies,
    ("work", "document"): documents,
    ("evaluation", "answers"): evaluations,
}


def functions_of_chains() -> dict[tuple[str, str, str], StageFunction]:
    """The functions of every listed stage, by kind, mode and stage."""
    return {
        (*chain, stage.name): getattr(FILES[chain], f"run_{stage.name}")
        for chain, stages in CHAINS.items()
        for stage in stages
    }


FUNCTIONS: Final = functions_of_chains()
"""What workers run. Modules that a worker includes may replace functions, and add those of other chains."""
