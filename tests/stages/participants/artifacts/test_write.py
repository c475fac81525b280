import json
from datetime import UTC, datetime

from schemas.values.participants import TranscriptVariant
from schemas.values.references import ArtifactMeta, PartialBuild
from stages.participants.artifacts.files import describe
from stages.participants.artifacts.load import write_artifact
from stages.participants.artifacts.names import ArtifactFile
from tests.stages.participants.artifacts.builders import META, artifact_files, load, rules


def described(imported: ArtifactMeta | None, split: str = "paper-train") -> dict[str, object]:
    return describe(
        imported,
        backend="huggingface",
        model="qwen3-embedding:8b",
        model_digest=None,
        dimension=4,
        chunk_size=8,
        chunk_step=2,
        min_evidence_chars=8,
        split=split,
        split_csv_hash="c" * 12,
        split_ids_hash="1" * 12,
        variant=TranscriptVariant.UNKNOWN,
        participant_count=2,
        built_at=datetime(2026, 1, 9, tzinfo=UTC),
        built_by="ragq 1",
    ).document()


def test_what_is_written_is_read_again_the_same() -> None:
    everything = rules(with_tags=True, with_chunk_scores=True)
    once = load(everything)
    assert once.meta is not None

    files = write_artifact(
        once.participants, name="small", meta=once.meta, chunk_scores_meta=once.chunk_scores_meta, partial=None
    )
    names = ("TEXTS", "META", "TAGS", "CHUNK_SCORES", "CHUNK_SCORES_META")

    assert files[ArtifactFile.VECTORS] == artifact_files()[ArtifactFile.VECTORS]
    assert [json.loads(files[ArtifactFile[name]]) for name in names] == [
        json.loads(artifact_files()[ArtifactFile[name]]) for name in names
    ]


def test_what_was_left_out_is_written_under_the_name_of_the_new_file() -> None:
    partial = PartialBuild(output_npz="old.npz", skipped_chunks=2)
    files = write_artifact(
        load().participants, name="small", meta=ArtifactMeta(), chunk_scores_meta=None, partial=partial
    )
    assert json.loads(files[ArtifactFile.PARTIAL]) == {"output_npz": "small.npz", "skipped_chunks": 2}


def test_an_index_that_was_built_here_is_described_with_the_fields_of_the_original() -> None:
    assert described(None, split="train") == META | {
        "split": "avec-train",
        "generated_at": "2026-01-09T00:00:00+00:00",
        "generator_script": "ragq 1",
    }
