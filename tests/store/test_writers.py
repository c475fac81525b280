"""No table is written by the store of two subjects."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Final

from schemas.tables import METADATA

STORE: Final = Path(__file__).parents[2] / "store"
WRITES: Final = re.compile(
    r'(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)|insert\(\s*connection,\s*"(\w+)"|copy_records_to_table\(\s*"(\w+)"'
)

#: Whose files write a table of another subject, and why.
SHARED: Final = {
    "job": {"runs", "questions", "references"},  # What a question is asked with; a publication that continues.
    "run": {"runs", "references"},  # An index that may be partial.
    "stage_run": {"runs", "references"},  # A publication that continues.
    "reference_index": {"references", "runs"},  # Published indexes outlive their run.
    "results": {"questions", "runs"},  # Answers to a question that continued outlive their run.
    "prompt_templates": {"questions", "migrate"},  # The first version of each.
}


def test_no_table_is_written_by_two_subjects() -> None:
    writers: dict[str, set[str]] = defaultdict(set)
    for path in STORE.rglob("*.py"):
        subject = path.relative_to(STORE).with_suffix("").parts[0]
        for found in WRITES.finditer(path.read_text("utf-8")):
            writers[next(filter(None, found.groups()))].add(subject)

    assert {table: by for table in METADATA.tables if len(by := writers[table]) > 1} == SHARED
