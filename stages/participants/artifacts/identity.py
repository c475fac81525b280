"""The identity of an artifact, compared with the current settings and splits."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.values.artifacts import ArtifactMeta
from schemas.values.transcript_variants import TranscriptVariant
from stages.participants.artifacts.findings import Findings
from stages.participants.artifacts.rules import LoadRules
from stages.participants.index_identity import settings_differences, split_difference
from stages.participants.split_names import TEST_SPLITS, TRAINING_SPLITS, stored_name
from stages.participants.splits import ids_hash

_SETTINGS = "set the value it was built with, or build the index again"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The model and the split of an artifact. Its dimension, backend and chunking are those of the settings."""

    model: str
    model_digest: str | None
    """None if the artifact does not name the weights."""
    split: str
    split_csv_hash: str | None
    """None if the artifact does not name the file."""
    split_ids_hash: str
    variant: TranscriptVariant
    """Unknown if neither the artifact nor the rules name it."""


def identify(
    meta: ArtifactMeta | None, listed: Iterable[int], *, file: str, rules: LoadRules, findings: Findings
) -> Identity:
    """The identity of an artifact; every difference is added to `findings`.

    Fields that the description lacks are taken from the settings without a comparison. Participants are compared by the
    hash over their ids. For an older artifact without it, the hash of the split's file is compared, and if that
    differs, the ids in `listed`. Another file with the same participants is only a warning.
    """
    described = meta or ArtifactMeta()
    for difference in settings_differences(described, rules.settings):
        findings.refuse(file, difference, _SETTINGS)
    source = described.split or rules.default_split
    if source in TEST_SPLITS:
        findings.refuse(
            file,
            "split: it was not built from a training split",
            f"use one of {', '.join(TRAINING_SPLITS)} or a split of your own, so that nobody is tested on themselves",
        )
    split = stored_name(source)
    now = rules.splits.get(split)
    same_file = now is not None and described.split_csv_hash == now.csv_hash
    hash_of_ids = described.split_ids_hash or (now.ids_hash if now is not None and same_file else ids_hash(listed))
    if now is not None:
        if others := split_difference(split, built=hash_of_ids, now=now.ids_hash):
            findings.refuse(file, others, "import the participants it was built on, or name its split with --split")
        elif described.split_csv_hash is not None and not same_file:
            findings.warn(file, f"split {split} has the same participants, but its file has changed")
    return Identity(
        model=described.model or rules.settings.model.embedding_model,
        model_digest=described.model_digest,
        split=split,
        split_csv_hash=described.split_csv_hash,
        split_ids_hash=hash_of_ids,
        variant=described.transcript_variant or rules.default_variant,
    )
