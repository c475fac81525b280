"""The metadata file of the paper splits, compared with them."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ValidationError

from schemas.values.participants import FileProblem, Split
from stages.files.records import validation_problems
from stages.participants.split_names import PAPER_FILES

METADATA_FILE = "paper_splits/paper_split_metadata.json"


class PaperMetadata(BaseModel):
    """The fields of the file that are read; it may have others."""

    participant_ids: dict[str, list[int]]
    """Part of the split (`train`) -> ids."""
    actual_sizes: dict[str, int] = {}


def check_paper_metadata(data: bytes, *, splits: Mapping[str, Split]) -> Iterator[FileProblem]:
    """A problem for each paper split whose ids or size in the metadata differ from its CSV."""
    try:
        metadata = PaperMetadata.model_validate_json(data)
    except ValidationError as error:
        yield from validation_problems(
            error, file=METADATA_FILE, line=None, what_to_do="correct it, or remove the file"
        )
        return
    for name in PAPER_FILES:
        part = name.removeprefix("paper-")
        in_csv = set(splits[name].participant_ids) if name in splits else set[int]()
        different = sorted(in_csv ^ set(metadata.participant_ids.get(part, ())))
        if different:
            found = f"{part} and its CSV differ in {', '.join(map(str, different))}"
            yield FileProblem(METADATA_FILE, None, found, "make the two agree")
        size = metadata.actual_sizes.get(part, len(in_csv))
        if size != len(in_csv):
            found = f"{part} has the size {size} and its CSV {len(in_csv)} ids"
            yield FileProblem(METADATA_FILE, None, found, "make the two agree")
