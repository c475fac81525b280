"""The function of each stage of each chain: `run` of `workers/bindings/<folder of the chain>/<stage>.py`."""

from importlib import import_module
from typing import Final

from schemas.chains import CHAINS
from workers.work import StageFunction

#: Both modes of a participant have one folder: a stage of theirs does the same work in both.
FOLDERS: Final = {
    ("participant", "few_shot"): "participants",
    ("participant", "zero_shot"): "participants",
    ("query", "answer"): "queries",
    ("tags", "candidates"): "tags",
    ("index", "references"): "references",
    ("index", "chunk_scores"): "chunk_scores",
    ("index", "corpus"): "corpora",
    ("index", "tags"): "vocabularies",
    ("work", "document"): "documents",
    ("evaluation", "answers"): "evaluations",
}


def functions_of_chains() -> dict[tuple[str, str, str], StageFunction]:
    """The functions of every listed stage, by kind, mode and stage."""
    return {
        (*chain, stage.name): import_module(f"workers.bindings.{FOLDERS[chain]}.{stage.name}").run
        for chain, stages in CHAINS.items()
        for stage in stages
    }


FUNCTIONS: Final = functions_of_chains()
"""What workers run. Modules that a worker includes may replace functions, and add those of other chains."""
