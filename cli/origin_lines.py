"""Where a run was submitted and computed, as lines in the terminal."""

from cli.drawing import Text
from schemas.values.environments import RunOrigin
from stages.reports.origin_words import origin_words


def origin_lines(origin: RunOrigin) -> list[Text]:
    """A line for each environment, model and server."""
    return [Text(words, style="dim") for words in origin_words(origin)]
