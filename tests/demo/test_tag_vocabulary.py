"""The vocabulary that comes with ragq is valid and has examples of every rule."""

from pathlib import Path

from demo.tag_vocabulary import write_tag_vocabulary
from stages.files.problems import accept
from stages.tags.minimum_count import USUAL
from stages.tags.policy import is_nsfw
from stages.tags.vocabulary_files import parse_vocabulary


def test_every_tag_is_used_often_enough_and_occurs_with_another_and_one_is_not_safe(tmp_path: Path) -> None:
    names = write_tag_vocabulary(tmp_path / "tags")
    vocabulary = accept(parse_vocabulary({name: (tmp_path / "tags" / name).read_bytes() for name in names}))

    assert len(vocabulary.tags) == 40
    assert min(tag.count or 0 for tag in vocabulary.tags) >= USUAL
    assert {tag.name for tag in vocabulary.tags} == {tag for document in vocabulary.documents for tag in document.tags}
    assert [tag.name for tag in vocabulary.tags if is_nsfw(tag)] == ["blood"]
    assert vocabulary.aliases["winter_wear"] == ("coat", "gloves", "scarf")
