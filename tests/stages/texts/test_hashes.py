"""Short hashes of content."""

from stages.texts.characters import short_hash


def test_a_hash_is_the_first_12_hex_digits_of_the_sha256_of_the_utf8() -> None:
    assert [short_hash("1,2,3"), short_hash(""), short_hash("ü")] == ["8a6ae1512200", "e3b0c44298fc", "607474ca475a"]
