"""What the stages of a tags job read beside the outputs of earlier stages. All of it is noted as input."""

from store.runs.chain import content_hash
from workers.tag_models import LoadedModels
from workers.work import Work


def phrases(work: Work) -> list[str]:
    """The phrases that the job was submitted with."""
    given: list[str] = work.claim.inputs["phrases"]
    work.read["phrases"] = content_hash(given)
    return given


def context_tags(work: Work) -> list[str]:
    """The context tags that the job was submitted with."""
    given: list[str] = work.claim.inputs["context_tags"]
    work.read["context_tags"] = content_hash(given)
    return given


def vocabulary_id(work: Work) -> int:
    """The vocabulary that was current at submission."""
    found: int = work.claim.inputs["vocabulary_id"]
    work.read["vocabulary"] = found
    return found


async def models(work: Work) -> LoadedModels:
    """The models of that vocabulary."""
    inputs = work.claim.inputs
    return await work.tag_models.of(
        vocabulary_id(work), tokens_digest=inputs["tokens_digest"], context_digest=inputs["context_digest"]
    )
