"""Which index an artifact is: held against the settings and the splits of today."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.values.artifacts import ArtifactMeta
from stages.participants.artifacts.findings import Findings
from stages.participants.artifacts.rules import LoadRules
from stages.participants.index_identity import settings_differences, split_difference
from stages.participants.splits import TRAINING_SPLITS, ids_hash

_SETTINGS = "set the value it was built with, or build the index again"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What an artifact was built from and by. Dimension, backend and chunks are those of the settings."""

    model: str
    model_digest: str | None
    """None where the artifact does not name the weights."""
    split: str
    split_csv_hash: str | None
    """None where the artifact does not name the file."""
    split_ids_hash: str


def identify(
    meta: ArtifactMeta | None, listed: Iterable[int], *, file: str, rules: LoadRules, findings: Findings
) -> Identity:
    """The identity of an artifact; every difference goes to `findings`.

    What the description does not say is not compared and taken from the settings. Participants are compared by the
    hash over their ids. Where an older artifact has none, the hash of the split's file speaks for it, and where that
    is another one, the ids in `listed` do. Another file with the same participants is only worth a warning.
    """
    said = meta or ArtifactMeta()
    for difference in settings_differences(said, rules.settings):
        findings.refuse(file, difference, _SETTINGS)
    source = said.split or rules.default_split
    if source not in TRAINING_SPLITS:
        findings.refuse(
            file,
            "split: it was not built from a training split",
            f"take an artifact of {' or '.join(TRAINING_SPLITS)}, so that nobody is tested on themselves",
        )
    split = TRAINING_SPLITS.get(source, source)
    now = rules.splits.get(split)
    same_file = now is not None and said.split_csv_hash == now.csv_hash
    hash_of_ids = said.split_ids_hash or (now.ids_hash if now is not None and same_file else ids_hash(listed))
    if now is not None:
        if others := split_difference(split, built=hash_of_ids, now=now.ids_hash):
            findings.refuse(file, others, "import the participants it was built on, or name its split with --split")
        elif said.split_csv_hash is not None and not same_file:
            findings.warn(file, f"split {split} has the same participants in another file than at the time")
    return Identity(
        model=said.model or rules.settings.model.embedding_model,
        model_digest=said.model_digest,
        split=split,
        split_csv_hash=said.split_csv_hash,
        split_ids_hash=hash_of_ids,
    )
