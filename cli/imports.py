"""`ragq import`: data sets, works and vocabularies into the database."""

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import click

from cli.config import with_database
from cli.files import (
    NAMES,
    announce_folders,
    default_directory,
    default_transcripts,
    no_participants,
    read_directory,
    read_file,
    tell_unread,
)
from cli.import_works import works_command
from cli.options import Choice, group
from cli.output import draw, json_option, print_json, print_result, print_text
from demo.data_set import SEED, write_data_set, write_library, write_tag_vocabulary
from schemas.errors import Refused
from schemas.values.participants import DataSet, Split, TranscriptVariant
from services.participants import REMEDIES, ImportedParticipants, import_participants
from services.tags import keep_vocabulary, read_vocabulary
from stages.participants.embed import counted_variants
from stages.participants.splits import PUBLISHED_IDS, train_and_dev
from stages.participants.transcripts import CLEANED, refuse_wrong_variant, vary
from stages.reports.words import counted
from stages.tags.vocabulary_files import FILES, RATINGS, could_rate
from stages.texts.characters import SHOWN, listed
from store.database import Connection
from store.references import interviews
from store.references.interviews import NewParticipant


@click.command("tags")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", help="What the vocabulary is called; the name of its folder unless given.")
@click.option(
    "--ratings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of ratings with another name than ratings.csv or word_rating_probabilities.csv.",
)
@json_option
def tags_command(directory: Path, name: str | None, ratings: Path | None, as_json: bool) -> None:
    """Import a vocabulary of tags: tags.csv, and what there is of cooccurrence.tsv, tag_lists.txt and ratings.csv.

    Ratings are probabilities of not being safe for work; tags of 0.95 or more are found with --allow-nsfw alone. It
    takes the place of an older one of its name; jobs that were submitted with that one keep it. `ragq index tags`
    builds the models that phrases are found by.

    \b
    Example:
        ragq import tags topics/
        ragq import tags topics/ --ratings word_ratings.csv
        ragq index tags topics
    """
    called = directory.resolve().name if name is None else name
    files = {file: read_file(directory / file) for file in FILES if (directory / file).exists()}
    if ratings is not None:
        if there := [file for file in RATINGS if file in files and not ratings.samefile(directory / file)]:
            raise Refused(f"{directory / there[0]} rates tags too. Leave out --ratings, or move that file away.")
        files[RATINGS[0]] = read_file(ratings)
    given = {} if ratings is None else {ratings.name: ""}
    tell_unread(directory, FILES | given, hint=None if ratings or {*RATINGS} & {*files} else _could_rate)
    vocabulary = read_vocabulary(called, files)
    kept = with_database(keep_vocabulary, called, vocabulary)
    counts = kept.model_dump(exclude={"id"})
    shown = (f"{number} {what}" for what, number in counts.items() if what != "unknown_ratings")
    words = f"Imported vocabulary '{called}': {', '.join(shown)}."
    print_result({"vocabulary": called, "id": kept.id, **counts}, words, as_json=as_json)
    if kept.warning is not None:
        print_text(f"Warning: {kept.warning}", err=True)
    if not as_json:
        print_text(f"`ragq index tags {called}` builds its models.", err=True)


def _could_rate(path: Path) -> str | None:
    """What is said about a file that has the form of ratings."""
    if path.suffix != ".csv":
        return None
    with path.open("rb") as file:
        return f"ratings? `--ratings {quote(str(path))}` reads it" if could_rate(file.read(4096)) else None


#: What is imported -> the command that imports it.
@group("import")
def import_group() -> None:
    """Import data sets; bad files are refused with every problem named.

    \b
    Example:
        ragq import participants data
        ragq import works books/ --corpus library
        ragq import tags topics/
    """


import_group.add_command(works_command)
import_group.add_command(tags_command)


@import_group.command()
@click.argument("directory", required=True, default=default_directory, type=click.Path(path_type=Path))
@click.option(
    "--transcripts",
    default=default_transcripts,
    show_default="DATA_TRANSCRIPTS_DIR, else transcripts",
    help="Folder of the interviews, in DIRECTORY or elsewhere.",
)
@click.option(
    "--variant",
    type=Choice([variant.value for variant in CLEANED]),
    help="Clean the transcripts and keep these speakers; without it they are kept as they are.",
)
@click.option(
    "--transcripts-variant",
    type=Choice([variant.value for variant in TranscriptVariant if variant is not TranscriptVariant.UNKNOWN]),
    help="Variant of the files; without it that of their preprocess_manifest.json or of their folder: `transcripts` is "
    "raw, `transcripts_participant_only` is that variant, any other is unknown.",
)
@click.option(
    "--patch-missing-items",
    is_flag=True,
    help="Rebuild a single missing item score as the total minus the seven known ones.",
)
@click.option(
    "--paper-splits/--no-paper-splits",
    default=True,
    show_default=True,
    help="Without files of them: make the paper's splits when all of their participants are stored.",
)
@click.option("--no-splits", is_flag=True, help="Leave the splits as they are: import participants and labels alone.")
@click.option("--name", help="The data set that they belong to; without it the name of the folder.")
@click.option("--replace", is_flag=True, help="Replace what the data set has stored otherwise.")
@click.option("--dry-run", is_flag=True, help="Show what is new, unchanged, changed and conflicting; store nothing.")
@json_option
def participants(
    directory: Path,
    transcripts: str,
    variant: str | None,
    transcripts_variant: str | None,
    patch_missing_items: bool,
    paper_splits: bool,
    no_splits: bool,
    name: str | None,
    replace: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import interviews, labels and splits in the DAIC-WOZ layout.

    DIRECTORY is DATA_BASE_DIR, if that is set and none is named.

    A folder without paper_splits/ gets the paper's splits all the same when every published participant is stored
    with item labels; `ragq splits make --paper` names those that are missing.

    What the data set has stays, labels of others included; another data set may have the same numbers and names of
    splits. An import that would change a stored transcript, label or split is refused, with each named, unless
    --replace is given; runs that were submitted on another transcript then refuse to continue with the new one. The
    variant of each transcript is stored: a run and its reference index have to have the same one.

    \b
    Example:
        ragq import participants data
        ragq import participants data --transcripts transcripts_participant_only
        ragq import participants data --variant participant_only --name data-participant-only
        ragq import participants clinic/second-visit --name clinic --dry-run
    """
    announce_folders()
    data_set = read_directory(
        directory,
        transcripts=transcripts,
        variant=None if transcripts_variant is None else TranscriptVariant(transcripts_variant),
        patch_missing_items=patch_missing_items,
    )
    tell_unread(directory, NAMES)
    if others := no_participants(directory / transcripts):
        draw(f"No participant's folder (600_P is one) in {transcripts}: {listed(others)}.", err=True)
    refuse_wrong_variant(data_set.transcripts.values())
    if variant is not None:
        data_set = in_variant(data_set, TranscriptVariant(variant))
    people = new_participants(data_set)
    splits = [] if no_splits else new_splits(data_set)
    own_name = directory.resolve().name if name is None else name

    async def keep(connection: Connection) -> tuple[ImportedParticipants, dict[TranscriptVariant, int]]:
        imported = await import_participants(
            connection,
            own_name,
            people,
            splits,
            labels=[label for number, label in data_set.labels.items() if number not in data_set.transcripts],
            paper_splits=paper_splits and not no_splits,
            replace_stored=replace,
            dry_run=dry_run,
        )
        return imported, await interviews.variants(connection, own_name)

    imported, stored = with_database(keep)
    changes = imported.changes
    patched = {str(label.participant_id): label.patched for label in data_set.labels.values() if label.patched}
    sizes = {split.name: len(split.participant_ids) for split in (*splits, *imported.made)}
    variants = Counter(person.variant for person in people)
    labelled = sum(person.items is not None for person in people)
    irregular = {str(person.id): dict(person.irregular_rows) for person in people if person.irregular_rows}
    if as_json:
        print_json(
            {
                "data_set": imported.data_set,
                "dry_run": dry_run,
                "participants": len(people),
                "labelled": labelled,
                "variants": variants,
                "splits": sizes,
                **changes._asdict(),
                "same_transcripts": imported.elsewhere,
                "made_splits": [split.name for split in imported.made],
                "patched_items": patched,
                "irregular_rows": irregular,
                "stored_variants": stored,
            }
        )
        return
    done = "Would import" if dry_run else "Imported"
    print_text(f"{done} {counted(len(people), 'participant')}, {labelled} of them with item labels.")
    for line in change_lines(imported):
        draw(f"  {line}")
    print_text(f"  transcript variant {counted_variants(variants) or 'none'}")
    for split, size in sizes.items():
        is_made = split in {made.name for made in imported.made}
        print_text(f"  split {split}: {size}" + (" (published ids)" if is_made else ""))
    for participant_id, item in patched.items():
        print_text(f"  participant {participant_id}: {item} was rebuilt from the total")
    for participant_id, rows in list(irregular.items())[:SHOWN]:
        kept = ", ".join(f"{count} with {kind.replace('_', ' ')}" for kind, count in rows.items())
        print_text(f"  participant {participant_id}: rows kept as they are: {kept}")
    if len(irregular) > SHOWN:
        print_text(f"  {len(irregular) - SHOWN} more participants have such rows; --json has all of them")
    if len(stored) > 1:
        print_text(f"Transcripts of several variants are stored: {counted_variants(stored)}.", err=True)
    for notice in notices(imported, dry_run=dry_run, replace=replace):
        draw(notice, err=True)


def change_lines(imported: ImportedParticipants) -> Iterator[str]:
    """How much is new, unchanged, changed and conflicting, and what of each participant and split."""
    changes = imported.changes
    counts = {
        "new": len(changes.new),
        "unchanged": len(changes.unchanged),
        "changed": len(changes.changed),
        "conflicting": len(changes.conflicting),
    }
    yield f"data set {imported.data_set}: {', '.join(f'{count} {state}' for state, count in counts.items())}"
    lines = [f"participant {number} adds {', '.join(names)}" for number, names in changes.changed.items()]
    lines += [f"participant {number} has another {', '.join(names)}" for number, names in changes.conflicting.items()]
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"and {len(lines) - SHOWN} more; --json has all of them"


def notices(imported: ImportedParticipants, *, dry_run: bool, replace: bool) -> Iterator[str]:
    """What an import replaced or left out, who is in another data set too, and why the paper's splits were not made."""
    changes = imported.changes
    if dry_run and changes.has_conflicts and not replace:
        yield f"This import would be refused. {REMEDIES}"
    if changes.conflicting_splits:
        yield (
            f"{'To be replaced' if dry_run else 'Replaced'}: {', '.join(changes.conflicting_splits.values())}. "
            "An index that was built on other participants is to be built again (`ragq index references`)."
        )
    if changes.unknown:
        yield f"Labels of participants whose transcripts are not stored were left out: {listed(changes.unknown)}."
    for data_set, people in imported.elsewhere.items():
        yield (
            f"{counted(people, 'transcript')} of this import {'is' if people == 1 else 'are'} in data set '{data_set}' "
            f"too. `ragq import participants DIR --name {shlex.quote(data_set)}` adds to that one instead."
        )
    if imported.others:
        yield (
            f"Stored with other participants and left as they are: {', '.join(imported.others)}. "
            f"`ragq splits make --paper --replace --data-set {shlex.quote(imported.data_set)}` makes them of the "
            "published participants."
        )
    if 0 < len(imported.missing) < len(PUBLISHED_IDS):
        yield (
            f"The paper's splits were not made: {len(imported.missing)} of their {len(PUBLISHED_IDS)} participants "
            "are not stored with item labels. `ragq splits make --paper` names those that are not stored."
        )


def in_variant(data_set: DataSet, variant: TranscriptVariant) -> DataSet:
    """The data set with every transcript in a variant. Raises EmptyTranscriptError when nothing is left of one."""
    varied = {number: vary(transcript, variant) for number, transcript in data_set.transcripts.items()}
    return data_set.model_copy(update={"transcripts": varied})


def new_participants(data_set: DataSet) -> list[NewParticipant]:
    """The participants of a data set that have a transcript, with the labels they have."""
    people = []
    for participant_id, transcript in data_set.transcripts.items():
        labels = data_set.labels.get(participant_id)
        people.append(
            NewParticipant(
                id=participant_id,
                transcript=transcript.text,
                transcript_hash=transcript.sha256,
                utterances=[utterance.model_dump(mode="json") for utterance in transcript.utterances],
                gender=labels.gender if labels else None,
                phq8_binary=int(labels.phq8_binary) if labels and labels.phq8_binary is not None else None,
                phq8_score=labels.phq8_score if labels else None,
                items=labels.items if labels else None,
                variant=transcript.variant,
                irregular_rows=transcript.irregular_rows,
            )
        )
    return people


def new_splits(data_set: DataSet) -> list[Split]:
    """The splits of a data set, and train and dev together where it has both."""
    splits = list(data_set.splits.values())
    if {"train", "dev"} <= data_set.splits.keys():
        splits.append(train_and_dev([data_set.splits["train"], data_set.splits["dev"]]))
    return splits


@click.command("demo-data", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--works", is_flag=True, help="Three short works of markdown for a corpus, instead of interviews.")
@click.option("--tags", is_flag=True, help="A vocabulary of forty tags for pictures, instead of interviews.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the folder and what it holds.")
@click.option("--seed", type=int, default=SEED, show_default=True, help="The same seed writes the same bytes.")
def demo_data(directory: Path, works: bool, tags: bool, as_json: bool, seed: int) -> None:
    """Write 142 synthetic interviews with PHQ-8 labels and splits, in the DAIC-WOZ layout; or works, or a vocabulary.

    No text in them is from a real person. A folder that holds anything else is left alone.

    \b
    Example:
        ragq demo-data demo-data
        ragq import participants demo-data
        ragq demo-data --works demo-works
        ragq import works demo-works --wait
        ragq demo-data --tags demo-tags
        ragq import tags demo-tags
    """
    if works and tags:
        raise click.UsageError("--works and --tags exclude each other: each writes a separate folder.")
    if works:
        files = write_library(directory)
        words = ", ".join(files)
    elif tags:
        files = write_tag_vocabulary(directory)
        words = ", ".join(files)
    else:
        files = write_data_set(directory, seed)
        words = "142 synthetic interviews"
    written = {"directory": str(directory), "files": files}
    print_result(written, f"Wrote {words} to {directory}.", as_json=as_json)
