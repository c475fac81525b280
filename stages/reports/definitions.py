"""What a total and depression are in a report, in words."""

from schemas.values.measures import Measures
from stages.reports.numbers_in_words import percent


def definitions(measures: Measures) -> str:
    """What a total and depression are, and which predictions come first, with the source of what is no default."""
    words = {
        "prediction_mode": f"prediction mode {measures.prediction_mode}",
        "total_min_coverage": f"a total from {percent(measures.total_min_coverage)} % of the items",
        "binary_threshold": f"depressed from a total of {measures.binary_threshold}",
    }
    sources = {field: measures.sources.get(field, "default") for field in words}
    return ", ".join(
        text + (f" ({sources[field]})" if sources[field] != "default" else "") for field, text in words.items()
    )
