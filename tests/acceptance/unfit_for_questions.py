"""An `embed` that fails on questions and quotes them in its error."""

from typing import NoReturn

from workers.process import FUNCTIONS
from workers.queries import question
from workers.work import Work


async def explode(work: Work) -> NoReturn:
    """Raise an exception as a careless library might."""
    raise RuntimeError(f"cannot embed: {(await question(work)).original_query}")


FUNCTIONS["query", "answer", "embed"] = explode
