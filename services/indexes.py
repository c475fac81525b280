"""The reference index that a request names, and the one that a run searches."""

import shlex
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from schemas.errors import EmbeddingArtifactMismatchError, Refused
from schemas.settings.layers import SettingSource
from schemas.settings.resolve import EffectiveSettings
from schemas.suggestions import did_you_mean
from schemas.values.transcript_variants import TranscriptVariant
from services.index_sidecars import unfit_sidecars
from stages.participants.artifacts.names import answers_to, built_name, index_name, named_parts
from stages.participants.index_identity import settings_differences, split_difference, variant_difference
from stages.participants.split_names import MAKE_SPLITS, TRAINING_SPLITS, sources, training_name
from stages.participants.variants import CLEANED
from store.database import Connection
from store.references import interviews, references
from store.references.references import StoredIndex

#: What an index is built with.
_BUILT_WITH = (
    *("EMBEDDING_EMBEDDINGS_FILE", "EMBEDDING_BACKEND", "EMBEDDING_DIMENSION", "MODEL_EMBEDDING_MODEL"),
    *("EMBEDDING_CHUNK_SIZE", "EMBEDDING_CHUNK_STEP", "EMBEDDING_MIN_EVIDENCE_CHARS"),
    *("RAGQ_SCORER", "QUANTITATIVE_SIMILARITY_THRESHOLD", "QUANTITATIVE_SIMILARITY_MAX_QUOTES"),
)


class Comparison(NamedTuple):
    """How an index differs from what a run needs."""

    candidate: StoredIndex
    differences: list[str]
    lacks: list[str]
    """Tags and chunk scores, each with what makes them."""
    variant: str | None
    """The difference of the transcript variants; None if they are equal or unknown."""


async def current_index(connection: Connection, name: str) -> StoredIndex:
    """The index of a name that can be searched; NAME@IDENTITY is one of several of a name.

    Raises Refused when there is none, with those that there are, and when there are several.
    """
    stored = await references.current(connection)
    found = [index for index in stored if name in (index.name, f"{index.name}@{index.identity}")]
    if not found:
        suggestion = did_you_mean(name, [index.name for index in stored])
        raise Refused(f"There is no reference index '{name}'.{suggestion} There are: {_names(stored)}.")
    if len(found) > 1:
        choices = ", ".join(f"{index.name}@{index.identity}" for index in found)
        raise Refused(
            f"There are {len(found)} reference indexes '{name}': {choices}. `ragq index list` shows how they differ."
        )
    return found[0]


async def fitting_index(
    connection: Connection,
    settings: EffectiveSettings,
    *,
    transcripts: Mapping[TranscriptVariant, int],
    allow_variant_mismatch: bool = False,
    with_sidecars: bool = True,
) -> StoredIndex:
    """The index that EMBEDDING_EMBEDDINGS_FILE names and that fits the settings, the stored split and the transcripts.

    The name may leave out the split and the variant. `transcripts` counts those that are assessed by variant. Of
    several that fit, those of the same variant and of the whole name come first. With `with_sidecars` an index fits
    only if it has the tags and the chunk scores that the settings ask for.

    Raises Refused when no index has the name or indexes of several names fit, and EmbeddingArtifactMismatchError, with
    every difference, when none fits.
    """
    name = index_name(settings.run.embedding.embeddings_file)
    stored = await references.current(connection)
    named = [index for index in stored if answers_to(index.name, name, training_name(index.split))]
    if not named:
        fitting = {index.name for index in stored if not any(settings_differences(index, settings.run))}
        remedy = await _missing_remedy(connection, settings, name, transcripts, fitting)
        raise Refused(
            f"There is no reference index '{name}' (EMBEDDING_EMBEDDINGS_FILE). Built: {_names(stored)}.{remedy}"
        )
    compared = [await _compared(connection, index, settings, transcripts) for index in named]
    if with_sidecars:
        for one in compared:
            index = one.candidate
            build = build_command(settings, training_name(index.split))
            named_as = _address(index, stored)
            one.lacks.extend(await unfit_sidecars(connection, index, settings.run, name=named_as, build=build))
    fit = [
        one for one in compared if not (one.differences or one.lacks) and (allow_variant_mismatch or not one.variant)
    ]
    fit = [one for one in fit if not one.variant] or fit
    fit = [one for one in fit if one.candidate.name == name] or fit
    if not fit:
        raise _mismatch(compared, settings)
    if len({one.candidate.name for one in fit}) > 1:
        raise Refused(
            f"{_names(one.candidate for one in fit)} answer to the name '{name}'; name one of them with "
            "`--set EMBEDDING_EMBEDDINGS_FILE=NAME`."
        )
    # Several of one name that fit differ in what cannot be compared, such as an unknown variant: the newest.
    return max((one.candidate for one in fit), key=lambda index: (index.variant in transcripts, index.id))


def build_command(settings: EffectiveSettings, split: str | None, **replaced: str) -> str:
    """The command that builds the index which these settings search, from a training split."""
    values = {name: str(value) for name, value in settings.run.values().items()}
    given = [name for name in _BUILT_WITH if settings.sources[name] is SettingSource.OPTION]
    chosen = {name: values[name] for name in given} | replaced
    profile = f" --profile {settings.profile}" if settings.profile_source == "option --profile" else ""
    options = "".join(f" --set {shlex.quote(f'{name}={value}')}" for name, value in chosen.items())
    return f"ragq index references --split {split or next(iter(TRAINING_SPLITS))}{profile}{options}"


def import_command(variant: TranscriptVariant) -> str:
    """The command that imports transcripts in a variant."""
    return "ragq import participants DIR" + (f" --variant {variant}" if variant in CLEANED else "")


async def _missing_remedy(
    connection: Connection,
    settings: EffectiveSettings,
    name: str,
    transcripts: Mapping[TranscriptVariant, int],
    fitting: Collection[str],
) -> str:
    """What builds the index of a name; where its split is not stored, what searches another, or builds one."""
    named, known = named_parts(name), transcripts.keys() - {TranscriptVariant.UNKNOWN}
    splits = sources(await interviews.split_names(connection))
    split = next((split for split in splits if named_parts(name, split).split == split), None)
    if split is None and named.split is not None and len(fitting) == 1:
        return f" `--set EMBEDDING_EMBEDDINGS_FILE={min(fitting)}` searches that one."
    if not splits:
        return f" No split is stored that one can be built of. {MAKE_SPLITS}"
    split = split or splits[0]
    built = built_name(name, split, named.variant or TranscriptVariant.RAW)
    build = f"`{build_command(settings, split)}` builds "
    if answers_to(built, name, split):
        build += "it."
    else:
        build += f"one of split {split}, which `--set EMBEDDING_EMBEDDINGS_FILE={built}` searches."
    if named.variant is not None and known and named.variant not in known:
        build = f"`{import_command(named.variant)}` imports the transcripts that it names; then {build}"
    return f"{did_you_mean(name, fitting)} {build}"


def _address(index: StoredIndex, stored: Iterable[StoredIndex]) -> str:
    """How commands name an index: by its identity too where others have its name."""
    is_alone = sum(other.name == index.name for other in stored) == 1
    return index.name if is_alone else f"{index.name}@{index.identity}"


async def _compared(
    connection: Connection,
    index: StoredIndex,
    settings: EffectiveSettings,
    transcripts: Mapping[TranscriptVariant, int],
) -> Comparison:
    differences = list(settings_differences(index, settings.run))
    current = await interviews.split_hashes(connection, index.split)
    if current is not None:
        other = split_difference(index.split, built=index.split_ids_hash, now=current.ids_hash)
        differences += [other] if other else []
    return Comparison(index, differences, [], variant_difference(index.variant, transcripts))


def _mismatch(compared: list[Comparison], settings: EffectiveSettings) -> EmbeddingArtifactMismatchError:
    lines = []
    for one in compared:
        lines.append(f"Reference index '{one.candidate.name}' does not fit the settings of this run:")
        lines += [f"  {difference}" for difference in (*one.differences, *one.lacks, *filter(None, [one.variant]))]
    nearest = min(compared, key=lambda one: (len(one.differences), bool(one.variant)))
    if nearest.differences:
        command = build_command(settings, training_name(nearest.candidate.split))
        lines.append(f"Build one that fits: `{command}`; or set the values that it was built with.")
    elif nearest.variant:
        lines.append(_variant_remedy(nearest.candidate, settings))
    return EmbeddingArtifactMismatchError("\n".join(lines))


def _variant_remedy(index: StoredIndex, settings: EffectiveSettings) -> str:
    import_it = f"`{import_command(index.variant)}` imports the transcripts in the variant of the index"
    if named_parts(index_name(settings.run.embedding.embeddings_file)).variant is None:
        command = build_command(settings, training_name(index.split))
        import_it += f"; `{command}` builds an index from those that are stored"
    return f"{import_it}; --allow-variant-mismatch runs on both, and every report of the run shows it."


def _names(indexes: Iterable[StoredIndex]) -> str:
    return ", ".join(dict.fromkeys(index.name for index in indexes)) or "none yet"
