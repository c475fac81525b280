"""`ragq index`: reference indexes built, scored and read from files, and the models of vocabularies."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from cli.config import with_database, with_open_database
from cli.files import data_directory, environment, read_file
from cli.main import REFUSED, SOME_FAILED
from cli.new_runs import conclude, print_estimates, run_options, wait_option
from cli.options import effective_settings, group, settings_options, with_settings
from cli.output import json_option, print_result, print_text
from cli.sheets import print_listing
from cli.submit import report_submitted
from cli.tags import index_command
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import EmbeddingSettings
from schemas.values.base import Listed
from services.corpora import reembed, switch
from services.indexes import import_artifact
from services.listings import INDEXES
from services.new_runs import submit_run
from services.references import build_references, plan_chunk_scores, plan_references
from stages.participants.artifacts import ArtifactFile, files_not_read
from stages.participants.index_names import index_name
from stages.participants.splits import first_index
from stages.reports.words import counted
from store.references import index_runs, references
from store.references.interviews import stored_splits

#: The exit code of an index without everybody; REFUSED is that of none.
PUBLISHED_IN_PART = 2


@group()
def index() -> None:
    """Build, import, score and list reference indexes; build the models of vocabularies.

    \b
    Example:
        ragq index references --split paper-train --wait
        ragq index tags topics --wait
    """


@index.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the indexes that can be searched.

    \b
    Example:
        ragq index list
    """
    indexes = Listed.whole(with_database(references.current))
    none = "" if indexes.items else f"No index is built yet. {first_index(with_database(stored_splits))}"
    print_listing(INDEXES, indexes, none=none, as_json=as_json)


@index.command("references")
@click.option("--split", metavar="SPLIT", default="paper-train", show_default=True, help="Whose chunks.")
@with_settings
@click.option(
    "--allow-partial",
    is_flag=True,
    help="Publish without the participants whose jobs fail, and record it in the index; exit code 2 then.",
)
@click.option("--new", "always_new", is_flag=True, help="Build again even if the same index was built before.")
@run_options
def references_command(
    split: str, settings: EffectiveSettings, always_new: bool, dry_run: bool, wait: bool, as_json: bool, **asked: bool
) -> None:
    """Chunk and embed the transcripts of a training split, as a run of one job per participant.

    The split is paper-train, avec-train or one of your own; whoever is scored may not be in it. The name is
    EMBEDDING_EMBEDDINGS_FILE with the split (such as paper_train) and, unless the transcripts are raw, with their
    variant; an index of another split, model or chunking stays beside it. It becomes visible in one
    step when every job has succeeded; until then, and when one fails, an older index of the same name and identity
    stays. `ragq retry` finishes a run that failed. With --allow-partial the index lacks the participants that failed,
    until a retry publishes a fuller one.

    Exit codes with --wait: 0 published whole, 1 refused or not published, 2 published in part (and wrong usage, after
    which nothing is stored).

    \b
    Example:
        ragq index references --split paper-train --wait
        ragq index references --split paper-train --dry-run
        ragq index references --set EMBEDDING_CHUNK_SIZE=6 --set EMBEDDING_EMBEDDINGS_FILE=short_windows --wait
    """
    if dry_run:
        plan = partial(plan_references, split=split, settings=settings, **asked)
        print_estimates([plan], as_json=as_json)
        return
    submitted = with_open_database(build_references, split, settings, always_new=always_new, **asked)
    report_submitted([submitted], settings, kind="index", briefly=wait and not as_json)
    try:
        conclude([submitted], wait=wait, as_json=as_json, changed_settings=settings.changed)
    except SystemExit as done:
        if done.code != SOME_FAILED:
            raise
    if wait:
        _exit_by_what_was_published(submitted.run_id)


def _exit_by_what_was_published(run_id: int) -> None:
    index = with_database(index_runs.by_run, run_id)
    if index is None or index.published_at is None:
        print_text(
            f"Nothing was published: every participant has to succeed. `ragq retry r{run_id}` continues; "
            "--allow-partial publishes without those that fail.",
            err=True,
        )
        raise SystemExit(REFUSED)
    if index.partial is not None:
        left_out = ", ".join(map(str, index.partial.skipped_participants))
        print_text(
            f"Index '{index.name}' was published without participant {left_out}; `ragq retry r{run_id}` continues "
            "what failed and publishes a fuller one.",
            err=True,
        )
        raise SystemExit(PUBLISHED_IN_PART)


@index.command("chunk-scores")
@click.argument("name")
@click.option("--scorer-model", required=True, metavar="MODEL", help="Language model that scores, at temperature 0.")
@click.option(
    "--allow-same-model",
    is_flag=True,
    help="Let MODEL_QUANTITATIVE_MODEL score: it is shown its own labels as examples then, and every run records it.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), help="Only the first N chunks, as a trial: their scores stay invisible."
)
@with_settings
@click.option("--new", "always_new", is_flag=True, help="Store a new run even if the same chunks were scored before.")
@run_options
def chunk_scores_command(
    name: str, settings: EffectiveSettings, always_new: bool, dry_run: bool, wait: bool, as_json: bool, **asked: Any
) -> None:
    """Score every chunk of an index by itself with a language model, as a run of one job per chunk.

    NAME@IDENTITY is one of several indexes of a name. EMBEDDING_REFERENCE_SCORE_SOURCE=chunk shows these scores with
    the references. They become visible in one step when every chunk has been scored; a reply that cannot be used
    fails the job of its chunk. The same command again, or `ragq retry`, continues with the missing chunks, and
    no answer is paid for twice.

    \b
    Example:
        ragq index chunk-scores huggingface_qwen3_8b_paper_train --scorer-model gemma3:12b --wait
        ragq index chunk-scores huggingface_qwen3_8b_paper_train --scorer-model gemma3:12b --limit 20 --wait
    """
    plan = partial(plan_chunk_scores, name=name, settings=settings, **asked)
    if dry_run:
        print_estimates([plan], as_json=as_json)
        return
    submitted = with_open_database(submit_run, with_database(plan), always_new=always_new)
    if asked["limit"] is not None:
        print_text("A trial: unless these are all chunks of the index, no run will use their scores.", err=True)
    report_submitted([submitted], settings, kind="index", briefly=wait and not as_json)
    conclude([submitted], wait=wait, as_json=as_json, changed_settings=settings.changed)


@index.command("reembed")
@click.option("--corpus", "name", metavar="NAME", required=True, help="The corpus.")
@click.option("--model", metavar="MODEL", help="The model that embeds the copy.")
@click.option("--switch", "is_switch", is_flag=True, help="Search by the vectors of the copy from now on.")
@click.option("--back", "is_back", is_flag=True, help="Search by the old vectors again.")
@settings_options
@wait_option
@json_option
def reembed_command(
    name: str,
    model: str | None,
    is_switch: bool,
    is_back: bool,
    profile: str | None,
    values: dict[str, str],
    wait: bool,
    as_json: bool,
) -> None:
    """Embed a corpus by another model, beside its own vectors, and search by them after a switch.

    The works, chunks and their cutting stay. The copy is a corpus with `-copy` behind the name: ask both the same
    questions, and compare the runs with `ragq diff`. New imports go into both. --switch exchanges the vectors of the
    two in one transaction, --back exchanges them again; `ragq corpus delete NAME-copy` ends that. Repeated, it embeds
    what the copy lacks.

    \b
    Example:
        ragq index reembed --corpus shelf --model sentence-transformers/all-mpnet-base-v2 --set EMBEDDING_DIMENSION=768
        ragq submit --queries set.jsonl --qrels set.tsv --corpus shelf-copy --until rerank --wait
        ragq diff r5 r6
        ragq index reembed --corpus shelf --switch
    """
    if sum((model is not None, is_switch, is_back)) != 1:
        raise click.UsageError("Give one of --model, --switch and --back.")
    if model is None:
        if values or profile or wait:
            raise click.UsageError("--set, --profile and --wait go with --model.")
        corpus = with_open_database(switch, name, back=is_back)
        model = f"{corpus.model} ({corpus.backend})"
        print_result(corpus, f"Corpus '{corpus.name}' is searched by the vectors of {model}.", as_json=as_json)
        return
    settings = effective_settings(profile, {"MODEL_EMBEDDING_MODEL": model} | values)
    copy, works, submitted = with_open_database(reembed, name, settings)
    print_text(f"{counted(works, 'work')} of '{name}' copied to '{copy.name}'.", err=True)
    if submitted is None:
        nothing = f"Every chunk of '{copy.name}' has its vector."
        print_result({"corpus": copy.name, "run": None}, nothing, as_json=as_json)
        return
    report_submitted([submitted], settings, kind="index")
    conclude([submitted], wait=wait, as_json=as_json, changed_settings=settings.changed)


def read_artifact_files(vectors: Path, embedding: EmbeddingSettings) -> dict[ArtifactFile, bytes]:
    """The files beside an `.npz`, and itself. Vectors and texts have to be there; others may be missing. Tags and chunk
    scores are not opened unless the settings need them. Raises Refused where one that has to be there is not, and for a
    file that cannot be read."""
    if vectors.suffix != ArtifactFile.VECTORS:
        raise Refused(
            f"{vectors} is not the name of an .npz file; name that one, the others are found in the same folder."
        )
    paths = {file: vectors.with_name(vectors.name.removesuffix(ArtifactFile.VECTORS) + file) for file in ArtifactFile}
    for file in (ArtifactFile.VECTORS, ArtifactFile.TEXTS):
        if not paths[file].exists():
            raise Refused(
                f"There is no {paths[file]}. An index is at least NAME.npz with the vectors and NAME.json with the "
                "texts."
            )
    unread = files_not_read(embedding)
    return {file: read_file(path) for file, path in paths.items() if file not in unread and path.exists()}


@index.command("import")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--name",
    help="Name of the index; without it the name of the file. It names the variant of the transcripts, and the split "
    "where the files do not.",
)
@click.option("--data-set", help="Whose participants they are; needed where several data sets are stored.")
@with_settings
@json_option
def import_command(
    file: Path | None, name: str | None, data_set: str | None, settings: EffectiveSettings, as_json: bool
) -> None:
    """Import a reference index from NAME.npz and the files beside it.

    The metadata in the files must match the settings; every difference is named, and nothing is imported then. Tags
    and chunk scores are read where the settings need them. The index replaces an older one of its name and identity in
    one step.

    Without FILE it is DATA_EMBEDDINGS_PATH, or EMBEDDING_EMBEDDINGS_FILE in DATA_BASE_DIR/embeddings, and takes the
    name that runs look for.

    \b
    Example:
        ragq index import data/embeddings/huggingface_qwen3_8b_paper_train.npz --profile paper
        ragq index import small.npz --set EMBEDDING_DIMENSION=384 --set EMBEDDING_ENABLE_ITEM_TAG_FILTER=true
        ragq index import data/embeddings/scored.npz --set EMBEDDING_REFERENCE_SCORE_SOURCE=chunk
    """
    embeddings_file = settings.run.embedding.embeddings_file
    path = file or _settings_path(embeddings_file)
    stored_name = index_name(name or (path.name if file else embeddings_file))
    stored, warnings = with_database(
        import_artifact,
        read_artifact_files(path, settings.run.embedding),
        settings.run,
        file_name=path.stem,
        name=stored_name,
        data_set=data_set,
    )
    for warning in warnings:
        print_text(f"Warning: {warning}", err=True)
    source = f"{stored.source}, transcripts {stored.variant}"
    words = f"Imported index '{stored.name}' ({source}): {stored.participants} participants, {stored.chunks} chunks."
    print_result(stored, words, as_json=as_json)


def _settings_path(embeddings_file: str) -> Path:
    """DATA_EMBEDDINGS_PATH has precedence and is used unchanged. Otherwise an absolute `embeddings_file` is used, one
    with a folder is relative to DATA_BASE_DIR, and a bare name to its sub-folder `embeddings`; a missing `.npz` is
    added."""
    if embeddings_path := environment().get("DATA_EMBEDDINGS_PATH"):
        return Path(embeddings_path)
    named = Path(embeddings_file.removesuffix(ArtifactFile.VECTORS) + ArtifactFile.VECTORS)
    return data_directory() / ("embeddings" if named.parent == Path() else "") / named


index.add_command(index_command)
