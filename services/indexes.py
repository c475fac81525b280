"""The reference index that a request names, and the one that a run searches."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence

from schemas.errors import EmbeddingArtifactMismatchError, Refused
from schemas.settings.base import SettingSource
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RunSettings
from schemas.suggestions import did_you_mean
from schemas.values.participants import Split, TranscriptVariant
from services.data_sets import find_data_set
from stages.participants.artifacts import PROMPT_REMEDY, ArtifactFile, load_artifact, other_prompt
from stages.participants.embed import settings_differences, split_difference, variant_difference
from stages.participants.index_names import answers_to, built_name, index_name, named_parts
from stages.participants.splits import (
    MAKE_SPLITS,
    TEST_SPLITS,
    TRAINING_SPLITS,
    named_split,
    named_splits,
    sources,
    training_name,
)
from stages.participants.transcripts import import_command
from store.database import Connection
from store.references import references
from store.references.interviews import splits_of, stored_splits
from store.references.references import StoredIndex


def evidence_rule(settings: RunSettings) -> str | None:
    """How the evidence of participants of an index is found, in words; None where no scorer compares it."""
    if settings.ragq.scorer != "neighbours":
        return None
    quantitative = settings.quantitative
    return f"of similarity {quantitative.similarity_threshold:g} and more, at most {quantitative.similarity_max_quotes}"


#: What an index is built with.
_BUILT_WITH = (
    *("EMBEDDING_EMBEDDINGS_FILE", "EMBEDDING_BACKEND", "EMBEDDING_DIMENSION", "MODEL_EMBEDDING_MODEL"),
    *("EMBEDDING_CHUNK_SIZE", "EMBEDDING_CHUNK_STEP", "EMBEDDING_MIN_EVIDENCE_CHARS"),
    *("RAGQ_SCORER", "QUANTITATIVE_SIMILARITY_THRESHOLD", "QUANTITATIVE_SIMILARITY_MAX_QUOTES"),
)


async def current_index(connection: Connection, name: str) -> StoredIndex:
    """The index that NAME or NAME@IDENTITY names and that can be searched. Raises Refused for none and for several."""
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
    data_set: str,
    transcripts: Mapping[TranscriptVariant, int],
    named: str | None = None,
) -> StoredIndex:
    """The index that fits the settings, the stored split and the transcripts: of a data set the one that
    EMBEDDING_EMBEDDINGS_FILE names, or the `named` one, by its name or its split, whatever its data set.

    EMBEDDING_EMBEDDINGS_FILE may leave out the split and the variant, and a published split in it that the data set has
    not is not looked for. `transcripts` counts those that are assessed by variant. Of several that fit, those of the
    same variant and of the whole name come first. Raises Refused when no index has the name or indexes of several names
    or splits fit, and EmbeddingArtifactMismatchError, with every difference, when none fits.
    """
    stored = await references.current(connection)
    splits = await stored_splits(connection)
    own = [split for split in splits if split.data_set == data_set]
    of_set = [index for index in stored if index.data_set == data_set]
    asked = _asked(settings, {training_name(split) for split in (*(s.name for s in own), *(i.split for i in of_set))})
    if named is None:
        candidates = [one for one in of_set if answers_to(one.name, asked, training_name(one.split))]
        if not candidates:
            raise Refused(_missing(settings, data_set, of_set, sources(own)))
    else:
        candidates = _named(settings, stored, splits, named, data_set)
    fit: list[StoredIndex] = []
    refusals: list[str] = []
    for index in candidates:
        name = address(index, stored)
        if unfit := await _unfit(connection, index, settings, transcripts, splits, name=name):
            refusals.append(f"Reference index '{index.name}' does not fit the settings of this run:")
            refusals += [f"  {line}" for line in unfit]
        else:
            fit.append(index)
    fit = [index for index in fit if index.name == asked] or fit
    if not fit:
        raise EmbeddingArtifactMismatchError("\n".join(refusals))
    if len({(index.data_set, index.name, index.split) for index in fit}) > 1:
        choices = ", ".join(dict.fromkeys(address(index, stored) for index in fit))
        raise Refused(f"Several indexes answer to '{named or asked}'; name one with `--references NAME`: {choices}.")
    # Several of one name that fit differ in what cannot be compared, such as an unknown variant: the newest.
    return max(fit, key=lambda index: (index.variant in transcripts, index.id))


async def _unfit(
    connection: Connection,
    index: StoredIndex,
    settings: EffectiveSettings,
    transcripts: Mapping[TranscriptVariant, int],
    splits: Iterable[Split],
    *,
    name: str,
) -> list[str]:
    """How an index, which commands call by `name`, differs from what a run needs or lacks it, with what to do."""
    embedding, build = settings.run.embedding, f"`{build_command(settings, index.source)}`"
    unfit = list(settings_differences(index, settings.run))
    now = {(split.data_set, split.name): split.ids_hash for split in splits}.get((index.data_set, index.split))
    if now is not None and (other := split_difference(index.split, built=index.split_ids_hash, now=now)):
        unfit.append(other)
    if unfit:
        unfit.append(f"Build one that fits: {build}; or set the values that it was built with.")
    if variant := variant_difference(index.variant, transcripts):
        _, named, _ = named_parts(index_name(embedding.embeddings_file))
        command = import_command(index.data_set, index.variant)
        imports = f"`{command}` imports the transcripts in the variant of the index"
        unfit += [variant, imports if named else f"{imports}; {build} builds an index from those that are stored"]
    # What is switched off is not looked at (Spec 38).
    needs_tags, needs_scores = embedding.enable_item_tag_filter, embedding.reference_score_source == "chunk"
    rule = evidence_rule(settings.run)
    if rule is not None and index.evidence != rule:
        has = f"has evidence {index.evidence}" if index.evidence else "has no evidence"
        unfit.append(f"RAGQ_SCORER=neighbours: the run needs evidence {rule}, the index {has}; {build} makes it")
    if not (needs_tags or needs_scores):
        return unfit
    has_tags, has_scores = await references.sidecars(connection, index.id)
    if needs_tags and not has_tags:
        unfit.append(f"EMBEDDING_ENABLE_ITEM_TAG_FILTER: not every chunk has tags; {build} writes them")
    if needs_scores and not has_scores:
        unfit.append(
            "EMBEDDING_REFERENCE_SCORE_SOURCE=chunk: not every chunk has its own scores; "
            f"`ragq index chunk-scores {name} --scorer-model MODEL` makes them, "
            "`ragq index import NAME.npz --set EMBEDDING_REFERENCE_SCORE_SOURCE=chunk` brings them"
        )
    elif needs_scores and not embedding.allow_chunk_scores_prompt_hash_mismatch:
        meta = index.chunk_scores_meta
        unknown = "prompt_hash: nothing records by which prompt the chunks were scored"
        other = unknown if meta is None else other_prompt(meta)
        unfit += [f"{other}; {PROMPT_REMEDY}"] if other else []
    return unfit


def build_command(settings: EffectiveSettings, split: str) -> str:
    """The command that builds the index which these settings search, from a training split."""
    values = {name: str(value) for name, value in settings.run.values().items()}
    chosen = {name: values[name] for name in _BUILT_WITH if settings.sources[name] is SettingSource.OPTION}
    profile = f" --profile {settings.profile}" if settings.profile_source == "option --profile" else ""
    options = "".join(f" --set {shlex.quote(f'{name}={value}')}" for name, value in chosen.items())
    return f"ragq index references --split {shlex.quote(split)}{profile}{options} --wait"


def _asked(settings: EffectiveSettings, own: Collection[str]) -> str:
    """The name that the settings ask for, without a published split that is none of a data set's."""
    name = index_name(settings.run.embedding.embeddings_file)
    split, variant, rest = named_parts(name)
    return name if split is None or split in own else "_".join(filter(None, (rest, variant)))


def _named(
    settings: EffectiveSettings, stored: Sequence[StoredIndex], splits: Sequence[Split], named: str, data_set: str
) -> list[StoredIndex]:
    """The indexes of a name or a split, the data set's own where it has any. Raises Refused when there is none."""
    if found := [one for one in stored if named in (one.name, f"{one.name}@{one.identity}")]:
        return [one for one in found if one.data_set == data_set] or found
    own = [split for split in splits if split.data_set == data_set]
    if not named_splits(splits, named):
        suggestion = did_you_mean(named, [*(one.name for one in stored), *(one.called for one in sources(splits))])
        raise Refused(f"'{named}' is neither a reference index nor a split.{suggestion} Built: {_names(stored)}.")
    split = named_split(own if named_splits(own, named) else splits, named)
    if found := [one for one in stored if (one.data_set, one.split) == (split.data_set, split.name)]:
        return found
    build = [f"`{build_command(settings, source.called)}` builds it." for source in sources([split])]
    raise Refused(f"No reference index is built of split '{split.called}'. {next(iter(build), 'It is for testing.')}")


def _missing(settings: EffectiveSettings, data_set: str, built: Sequence[StoredIndex], own: Sequence[Split]) -> str:
    """That a data set has no index of a name, and what builds one of its splits, or searches another."""
    name = index_name(settings.run.embedding.embeddings_file)
    known = did_you_mean(name, [index.name for index in built])
    none = f"Data set '{data_set}' has no reference index '{name}' (EMBEDDING_EMBEDDINGS_FILE)."
    said = f"{none} Built: {_names(built)}.{known}"
    if not own:
        return f"{said} No split is stored that one can be built of. {MAKE_SPLITS}"
    named = (one for one in own if training_name(one.name) in named_parts(name, training_name(one.name)))
    build = build_command(settings, next(named, own[0]).called)
    return f"{said} `{build}` builds it; `--references NAME` searches another (`ragq index list`)."


def address(index: StoredIndex, stored: Iterable[StoredIndex]) -> str:
    """How commands name an index: by its identity too where others have its name."""
    is_alone = sum(other.name == index.name for other in stored) == 1
    return index.name if is_alone else f"{index.name}@{index.identity}"


def _names(indexes: Iterable[StoredIndex]) -> str:
    return ", ".join(dict.fromkeys(index.name for index in indexes)) or "none yet"


async def import_artifact(
    connection: Connection,
    files: Mapping[ArtifactFile, bytes],
    settings: RunSettings,
    *,
    file_name: str,
    name: str,
    data_set: str | None = None,
) -> tuple[StoredIndex, list[str]]:
    """Check the files of an index against the stored splits, and store it as the current one of its name and identity.
    With it is what is worth saying about it. The variant of the transcripts is the one in its name, and so is the split
    of files that do not name theirs. Raises what `load_artifact` and `find_data_set` raise, and Refused for a name that
    names another split than the files."""
    data_set, (named, variant, rest) = await find_data_set(connection, data_set), named_parts(name)
    stored = await splits_of(connection, data_set)
    artifact = load_artifact(
        files,
        settings,
        name=file_name,
        splits={other: stored[other] for other in stored.keys() - TEST_SPLITS},
        default_split=named or next(iter(TRAINING_SPLITS)),
        variant=variant or TranscriptVariant.UNKNOWN,
    )
    split = training_name(artifact.source.split)
    if named not in (None, split):
        bare = built_name(rest or "index", split, artifact.source.variant)
        raise Refused(
            f"The name '{name}' names {named}, and the files were built from {split}; nothing was imported. "
            f"Import them with `--name {bare}`."
        )
    plan = artifact.source.model_copy(update={"name": name, "data_set": data_set})
    index_id = await references.keep_imported(connection, artifact._replace(source=plan))
    warnings = [*artifact.warnings, "The files do not name the weights of the model: runs compare its name alone."]
    labels = await references.labels(connection, index_id)
    if unlabelled := [number for number, items in labels.items() if items is None]:
        warnings.append(
            f"No item scores are stored for {len(unlabelled)} of {len(artifact.participants)} participants: their "
            f"chunks take places among the references and are not shown. `{import_command(plan.data_set)}` first, then "
            "import the index again."
        )
    return await current_index(connection, f"{plan.name}@{references.identity(plan)}"), warnings
