"""Files of reference indexes."""

import tracemalloc
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from schemas.errors import EmbeddingArtifactMismatchError, EmbeddingValidationError
from schemas.settings.run import RunSettings
from schemas.values.participants import ChunkScoresMeta, PartialBuild, PHQ8Item, Split
from stages.participants.chunking import PROMPT_HASH
from tests.stages.participants.artifacts.builders import (
    CHUNK_SCORES,
    CHUNK_SCORES_META,
    META,
    NO_SCORES,
    SPLIT,
    TAGS,
    VECTORS,
    as_json,
    load,
    npz,
    rules,
)


def mismatches(loaded_by: RunSettings | None = None, /, *splits: Split, **changes: bytes | None) -> list[str]:
    """The lines of the one error, without the sentence above them."""
    with pytest.raises(EmbeddingArtifactMismatchError) as refusal:
        load(loaded_by, *splits, **changes)
    return [line.strip() for line in str(refusal.value).splitlines()[1:]]


def found(loaded_by: RunSettings | None = None, /, *splits: Split, **changes: bytes | None) -> list[str]:
    """As mismatches, without what to do about them."""
    return [line.split(";")[0] for line in mismatches(loaded_by, *splits, **changes)]


def test_participants_are_read_by_id_with_texts_and_vectors_in_order() -> None:
    loaded = load()

    assert [(chunk.participant_id, chunk.ordinal, chunk.text) for chunk in loaded.chunks] == [
        (303, 0, "up at three"),
        (303, 1, "no “appetite”\nat all"),
        (304, 0, "one line"),
    ]
    assert loaded.vectors.tolist() == [*VECTORS[303].tolist(), *VECTORS[304].tolist()]
    assert (loaded.partial, loaded.warnings) == (None, ())


def test_vectors_of_length_one_are_unchanged_to_the_last_bit() -> None:
    rows = np.random.default_rng(7).normal(size=(3, 384)).astype(np.float32)
    first = load(rules(dimension=384), VECTORS=npz({303: rows[:2], 304: rows[2:]}), META=None)
    again = load(rules(dimension=384), VECTORS=npz({303: first.vectors[:2], 304: first.vectors[2:]}), META=None)

    assert again.vectors.tobytes() == first.vectors.tobytes()


class Exploding:
    """Unpickling one of these ends the test."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("It was unpickled.",)


def saved(save: Callable[..., None], *arrays: NDArray[Any], **named: NDArray[Any]) -> bytes:
    file = BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def test_arrays_of_other_names_are_skipped() -> None:
    data = saved(np.savez, emb_304=VECTORS[304], emb_303=VECTORS[303], created=np.zeros(3), emb_x=np.zeros(3))
    assert [chunk.participant_id for chunk in load(VECTORS=data).chunks] == [303, 303, 304]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (npz({303: np.array([Exploding()], dtype=object)}), "ValueError"),
        (npz(VECTORS)[:200], "BadZipFile"),
        (npz(VECTORS).replace(np.float32(0.8).tobytes(), np.float32(0.9).tobytes()), "BadZipFile"),
        (b"", "BadZipFile"),
        (b"no zip", "BadZipFile"),
        (saved(np.save, VECTORS[303]), "BadZipFile"),
        (saved(np.savez_compressed, emb_303=np.zeros((50_000, 1_000), dtype=np.float32)), "ValueError"),
    ],
    ids=["pickled", "truncated", "changed", "empty", "text", "npy", "fills the memory"],
)
def test_a_broken_file_is_refused_and_never_unpacked_into_memory(data: bytes, kind: str) -> None:
    tracemalloc.start()
    lines = mismatches(VECTORS=data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert lines == [
        f"small.npz: is not an .npz file that can be read without unpickling ({kind}); write one float32 array of "
        "shape (chunks, dimension) per participant with numpy.savez"
    ]
    assert peak < 10_000_000


@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinite numbers"), (-np.inf, "infinite numbers"), (0, "only zeros")]
)
def test_vectors_without_a_direction_are_refused(value: float, word: str) -> None:
    rows = np.array([[1, 0, 0, 0], [value, 0, 0, 0]], dtype=np.float32)
    with pytest.raises(EmbeddingValidationError, match=f"participant 303, chunk 1: {word}"):
        load(VECTORS=npz(VECTORS | {303: rows}))


def test_shorter_vectors_may_be_left_out() -> None:
    short = npz(VECTORS | {303: VECTORS[303][:, :3]})

    loaded = load(rules(allow_insufficient_dimension_embeddings=True), VECTORS=short)

    assert [chunk.participant_id for chunk in loaded.chunks] == [304]
    assert loaded.warnings == ("small.npz: participant 303 has 2 vectors of less than 4 dimensions; skipped",)
    reasons = {"dimension_mismatch": 2}
    assert loaded.partial == PartialBuild(skipped_participants=(303,), chunk_skip_reason_counts=reasons)


def test_all_mismatches_come_in_one_error() -> None:
    wanted = rules(backend="ollama", dimension=8, chunk_size=6, chunk_step=3, min_evidence_chars=9)
    other = as_json(META | {"model": "nomic-embed-text", "split_ids_hash": "2" * 12})

    assert found(wanted, SPLIT, META=other) == [
        "small.meta.json: MODEL_EMBEDDING_MODEL: built with nomic-embed-text, now qwen3-embedding:8b",
        "small.meta.json: EMBEDDING_BACKEND: built with huggingface, now ollama",
        "small.meta.json: EMBEDDING_DIMENSION: built with 4, now 8",
        "small.meta.json: EMBEDDING_CHUNK_SIZE: built with 8, now 6",
        "small.meta.json: EMBEDDING_CHUNK_STEP: built with 2, now 3",
        "small.meta.json: EMBEDDING_MIN_EVIDENCE_CHARS: built with 8, now 9",
        "small.meta.json: split paper-train: built on participants 222222222222, now 111111111111",
    ]


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff", b'{"dimension": "4"}', b'{"dimension": true}'])
def test_a_description_that_cannot_be_read_is_a_mismatch_and_no_missing_one(data: bytes) -> None:
    (line,) = found(META=data)
    assert line.startswith("small.meta.json: ")


def test_what_the_description_lacks_is_not_compared_and_its_split_is() -> None:
    for name in ("backend", "model", "dimension", "chunk_size", "chunk_step", "min_evidence_chars"):
        assert load(META=as_json({key: value for key, value in META.items() if key != name})).warnings == ()
    other_file = SPLIT.model_copy(update={"csv_hash": "d" * 12})
    assert load(rules(), other_file).warnings == (
        "small.meta.json: split paper-train has the same participants, but its file has changed",
    )
    assert found(META=as_json(META | {"split": "paper-test"})) == [
        "small.meta.json: split: it was not built from a training split"
    ]


def test_tags_that_are_not_asked_for_are_not_read() -> None:
    assert [chunk.tags for chunk in load(TAGS=b"\xff{ broken").chunks] == [None, None, None]
    assert [chunk.tags for chunk in load(rules(with_tags=True)).chunks] == [
        *((PHQ8Item.SLEEP,), ()),
        (PHQ8Item.SLEEP, PHQ8Item.TIRED),
    ]


def test_chunk_scores_belong_to_their_chunks() -> None:
    loaded = load(rules(with_chunk_scores=True))

    of_sleep = [chunk.scores[PHQ8Item.SLEEP] for chunk in loaded.chunks if chunk.scores]
    assert (of_sleep, loaded.chunk_scores_meta) == (
        [3, None, None],
        ChunkScoresMeta(**{name: CHUNK_SCORES_META.get(name) for name in ChunkScoresMeta.model_fields}),
    )


OTHER_PROMPT = as_json(CHUNK_SCORES_META | {"prompt_hash": "0" * 12})


@pytest.mark.parametrize(
    ("meta", "what"),
    [
        (None, "was requested and is missing"),
        (OTHER_PROMPT, f"prompt_hash: the scores were made with the prompt 000000000000, now it is {PROMPT_HASH}"),
    ],
)
def test_scores_by_another_prompt_are_refused_unless_they_are_accepted(meta: bytes | None, what: str) -> None:
    assert found(rules(with_chunk_scores=True), CHUNK_SCORES_META=meta) == [f"small.chunk_scores.meta.json: {what}"]

    accepted = load(rules(with_chunk_scores=True, allow_chunk_scores_prompt_hash_mismatch=True), CHUNK_SCORES_META=meta)
    assert accepted.warnings == (f"small.chunk_scores.meta.json: {what}; the scores are used anyway",)


def test_a_partial_index_reports_what_was_left_out() -> None:
    reasons = {"embedding_nan": 2}
    before = {"output_npz": "small.npz", "skipped_participants": [297, 305], "chunk_skip_reason_counts": reasons}

    loaded = load(VECTORS=npz({303: VECTORS[303]}), PARTIAL=as_json(before))

    assert loaded.partial == PartialBuild(skipped_participants=(297, 304, 305), chunk_skip_reason_counts=reasons)


LISTS = {
    "TEXTS": (rules(), "json", "write an object: participant id -> list of texts, in the order of the vectors"),
    "TAGS": (
        rules(with_tags=True),
        "tags.json",
        "write the tags again for these chunks, or import without them (--set EMBEDDING_ENABLE_ITEM_TAG_FILTER=false)",
    ),
    "CHUNK_SCORES": (
        rules(with_chunk_scores=True),
        "chunk_scores.json",
        "score these chunks again, or import without them (--set EMBEDDING_REFERENCE_SCORE_SOURCE=participant)",
    ),
}


@pytest.mark.parametrize(
    ("file", "data", "what"),
    [
        ("TEXTS", b"[]", "cannot be read: expected a JSON object, found array"),
        ("TEXTS", b'{"303": [], "303": []}', "cannot be read: a name occurs twice in one object"),
        ("TEXTS", b'{"303": [NaN]}', "cannot be read: NaN is not JSON"),
        ("TEXTS", b'{"303": ["secret \\u0000"]}', "contains a NUL character or half of a surrogate pair"),
        ("TEXTS", b'{"303": ["secret \\ud83d"]}', "contains a NUL character or half of a surrogate pair"),
        ("TEXTS", b'{"secret": []}', "a name is not a participant id"),
        ("TEXTS", b'{"303": {"secret": 1}}', "participant 303 has object where an array is expected"),
        ("TEXTS", b'{"303": [["secret"]]}', "participant 303, chunk 0: expected a string, found array"),
        ("TEXTS", b"secret \xff", "is not UTF-8"),
        ("TAGS", None, "was requested and is missing"),
        ("TAGS", {"303": TAGS["303"]}, "participant 304 has chunks and no entries"),
        ("TAGS", TAGS | {"305": []}, "participant 305 has entries and no chunks"),
        ("TAGS", TAGS | {"304": [[], []]}, "participant 304 does not have as many entries (2) as chunks (1)"),
        ("TAGS", TAGS | {"304": ["Sleep"]}, "participant 304, chunk 0: expected an array of tags, found string"),
        ("TAGS", TAGS | {"304": [[1]]}, "participant 304, chunk 0: a tag is unknown, tags look like PHQ8_Sleep"),
        ("TAGS", TAGS | {"304": [["Sleep"]]}, "participant 304, chunk 0: a tag is unknown, tags look like PHQ8_Sleep"),
        ("CHUNK_SCORES", None, "was requested and is missing"),
        (
            "CHUNK_SCORES",
            CHUNK_SCORES | {"304": [None]},
            "participant 304, chunk 0: expected an object of scores, found null",
        ),
        (
            "CHUNK_SCORES",
            CHUNK_SCORES | {"304": [NO_SCORES | {"PHQ8_Sleep": True}]},
            "participant 304, chunk 0: PHQ8_Sleep: expected 0, 1, 2, 3 or null, found another boolean",
        ),
    ],
)
def test_texts_tags_and_chunk_scores_have_to_be_there_and_right_and_are_not_quoted(
    file: str, data: Any, what: str
) -> None:
    loaded_by, suffix, remedy = LISTS[file]

    lines = mismatches(loaded_by, **{file: as_json(data) if isinstance(data, dict) else data})

    assert lines[0] == f"small.{suffix}: {what}; {remedy}"
    assert "secret" not in str(lines)
