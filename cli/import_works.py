"""`ragq import works`: documents into a corpus."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import click

from cli.completed_names import CORPUS
from cli.import_plan import confirm_removal, is_gone, print_plan
from cli.output import json_option, print_json, print_text
from cli.prices import chosen_prices, prices_option, refuse_prices
from cli.session import with_database, with_open_database
from cli.settings_options import effective_settings, settings_options
from cli.submit import report_submitted
from cli.user_files import read_file
from cli.watch import follow
from cli.work_files import find_files, left_out_in_words, read_documents, read_works
from cli.writing_progress import writing_progress
from schemas.settings.layers import ENV_FILE
from schemas.settings.process import effective_process
from services.chunk_sizes import DEFAULT_TOKENS
from services.corpora import DEFAULT_CORPUS, CorpusOptions
from services.documents import ImportedDocuments, require_readers
from services.import_estimates import estimate_import, open_documents, plan_files
from services.import_plans import PlannedFile
from services.import_plans import prune as prune_works
from services.imports import import_files
from services.work_files import ReadFiles
from services.work_imports import ImportedWorks
from stages.texts.listed import SHOWN, listed
from store.corpora.keeping import ImportOutcome

#: Some works were refused; the others are imported.
SOME_REFUSED = 1


@click.command("works")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--corpus", type=CORPUS, default=DEFAULT_CORPUS, show_default=True, help="Corpus to import into; made if not there."
)
@click.option("--title", help="Title of the work; with a single file only. Goes before its front matter.")
@click.option("--authors", help="Authors, before those of the front matter.")
@click.option("--year", type=int, help="Year, before that of the front matter.")
@click.option("--tags", help="Tags with commas between, before those of the front matter.")
@click.option(
    "--embed-headings/--no-embed-headings",
    default=None,
    help="Embed each chunk under the headings above it, or its text alone; a new corpus embeds them.",
)
@click.option(
    "--chunk-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="Most tokens of a chunk with its headings, as the embedder counts them; 0 sizes chunks by words, 200 to 300. "
    f"A new corpus has {DEFAULT_TOKENS} where its embedder reads as many, words where tokens cannot be counted.",
)
@click.option(
    "--language",
    metavar="LANGUAGE",
    help="Language of a new corpus, such as german, of its full text and its sentences; it cannot be changed later. "
    "`auto`, the default, finds it in the first works; `simple` has no dictionary.",
)
@click.option(
    "--stages",
    "by_stages",
    is_flag=True,
    help="Take markdown through the stages of a document too, so that its headings are repaired and its sections "
    "selected; a file that went through them before does so without this option.",
)
@click.option("--no-embed", is_flag=True, help="Import only; the next import without this option embeds what waits.")
@click.option(
    "--prune",
    is_flag=True,
    help="Remove works that were imported from files of these folders that are gone, after naming them and asking.",
)
@click.option("--yes", is_flag=True, help="With --prune: do not ask.")
@click.option(
    "--removes",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --prune: remove exactly N works, without asking; needed where a folder would lose all of its works.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="List what would be new, replaced, unchanged and removed, and the jobs, model calls, tokens, time and money "
    "of embedding and of documents, and what is missing; change nothing.",
)
@prices_option
@settings_options
@click.option("--wait", is_flag=True, help="Follow the embedding until it finishes.")
@json_option
def works_command(
    paths: tuple[Path, ...],
    corpus: str,
    title: str | None,
    authors: str | None,
    year: int | None,
    tags: str | None,
    embed_headings: bool | None,
    chunk_tokens: int | None,
    language: str | None,
    by_stages: bool,
    no_embed: bool,
    prune: bool,
    yes: bool,
    removes: int | None,
    dry_run: bool,
    price_file: Path | None,
    profile: str | None,
    assignments: tuple[tuple[str, str], ...],
    wait: bool,
    as_json: bool,
) -> None:
    """Import works, files or folders of them, cut them into chunks and embed those.

    Markdown is stored at once, and embedded by a run of one job per batch of chunks. PDF, EPUB, HTML, DOCX, ODT,
    reStructuredText and plain text are converted first, by a run of one job per document: its stages are convert,
    outline, repair, sanitise, select, cut, embed and publish. `ragq show`, `ragq retry` and the rest work on both runs.
    Rules repair headings and select sections; with RAGQ_REPAIR_BY=model and RAGQ_SELECT_BY=model a language model does,
    of markdown too. `ragq work` shows what became of them, and changes it.

    A file that ends in .jsonl is a corpus with a work in each line, {"_id", "title", "text"}, like BEIR's test
    collections; relevance judgements name its works by their ids. It has to be named itself.

    Importing a file again replaces its work if it has changed, and does nothing if it has not. A text that another
    work of the corpus has is refused, by itself, and so is a file that cannot be read. Text that is not UTF-8 is read
    as Latin-1. Files of a folder with another ending are left out and counted. With --prune works go whose files are
    gone from the folders named; a file that was renamed keeps its work. Works from elsewhere are never removed. With
    --dry-run documents are converted too, so that those that cannot be are listed.

    Exit codes: 0 done, 1 refused, or some works were, 2 wrong usage, 3 some jobs failed (with --wait).

    \b
    Example:
        ragq import works books/ --corpus library --wait
        ragq import works buecher/ --corpus bibliothek --language german
        ragq import works books/ --corpus library --prune --dry-run
        ragq import works handbook.pdf manual.epub --wait
        ragq import works scifact/corpus.jsonl --corpus scifact --wait
        ragq import works tea.md --title "Tea" --authors "A. Leaf" --year 2019
        ragq import works scanned.pdf --set RAGQ_REPAIR_BY=model --wait
    """
    if (yes or removes is not None) and not prune:
        raise click.UsageError("--yes and --removes go with --prune.")
    if not dry_run:
        refuse_prices(price_file)
    folders = [str(path.resolve()) for path in paths if path.is_dir()]
    files = find_files(paths, may_be_empty=prune)
    if files.left_out:
        print_text(left_out_in_words(files.left_out), err=True)
    if prune and not folders:
        raise click.UsageError("--prune is for folders: it removes works whose files are gone from them.")
    count = len(files.markdown) + len(files.documents)
    if title is not None and files.corpora:
        raise click.UsageError("--title is for one work, and a corpus has a title in each line.")
    if title is not None and count != 1:
        raise click.UsageError(f"--title is for one file, and there are {count}; use front matter for their titles.")
    if files.documents and no_embed:
        raise click.UsageError("--no-embed is for markdown; leave it out, or convert the other files first.")
    named = {"title": title, "authors": authors, "year": year, "tags": tags}
    given = {name: value for name, value in named.items() if value is not None}
    if files.documents:
        require_readers()
    read = read_works(files, given=given)
    new = read.works
    settings = effective_settings(profile, assignments)
    options = CorpusOptions(embed_headings, chunk_tokens, language)
    plan = None
    if prune or dry_run:
        seen = replace(read, refused=dict(read.refused), latin1=list(read.latin1))
        planned = with_open_database(
            lambda database: plan_files(
                database,
                corpus,
                new,
                read_documents(files.documents, seen, given=given),
                settings,
                by_stages=by_stages,
                folders=folders if prune else [],
                is_gone=is_gone,
            )
        )
        plan = planned.plan
        plan.files.extend(PlannedFile(error.name, None, reason=error.reason) for error in seen.refused.values())
        if dry_run:
            prices = chosen_prices(price_file)
            process = effective_process(os.environ, ENV_FILE).settings
            with writing_progress("documents", shows=not as_json) as report:
                asyncio.run(open_documents(plan, lambda name: read_file(Path(name)), process, report=report))
            _tell_latin1(seen)
            estimates = with_open_database(
                lambda database: estimate_import(
                    database, corpus, planned, settings, options=options, embeds=not no_embed, prices=prices
                )
            )
            print_plan(plan, estimates, corpus, as_json=as_json)
            return
    removed = 0
    if plan is not None:
        confirm_removal(plan, yes=yes, removes=removes)
        removed = with_database(lambda connection: prune_works(connection, plan))
        print_text(f"Works without a file: {removed} removed, {len(plan.moved)} renamed.", err=True)
    others = read_documents(files.documents, read, given=given) if files.documents or read.documents else None
    with writing_progress("works", shows=not as_json) as report:
        done = with_open_database(
            lambda database: import_files(
                database,
                corpus,
                new,
                others,
                settings,
                options=options,
                embeds=not no_embed,
                by_stages=by_stages,
                report=report,
            )
        )
    imported, converted = done.works, done.documents
    refused = [*(f"{refusal}." for refusal in imported.refused), *map(str, read.refused.values())]
    if new:
        _tell(imported, corpus)
    _tell_latin1(read)
    for refusal in refused[:SHOWN]:
        print_text(f"Refused: {refusal}", err=True)
    if (more := len(refused) - SHOWN) > 0:
        print_text(f"Refused: {more} more; --json has all of them.", err=True)
    if converted is not None:
        _tell_documents(converted, corpus)
    if imported.submitted is not None:
        report_submitted([imported.submitted], settings, kind="index", briefly=wait and not as_json)
    if converted is not None and converted.submitted is not None:
        report_submitted([converted.submitted], settings, kind="work", briefly=wait and not as_json)
    runs = [one.submitted.run_id for one in (imported, converted) if one is not None and one.submitted is not None]
    if wait:
        for run_id in runs:
            follow(run_id, as_json=as_json)
    elif as_json:
        printed = _as_json(imported, converted, corpus) | {
            "refused": refused,
            "latin1": read.latin1,
            "left_out": files.left_out,
        }
        print_json(printed | ({} if plan is None else {"removed": removed}))
    else:
        for run_id in runs:
            print_text(f"r{run_id}")
    if refused:
        raise SystemExit(SOME_REFUSED)


def _tell(imported: ImportedWorks, corpus: str) -> None:
    counts = {
        "new": imported.outcomes[ImportOutcome.NEW],
        "replaced": imported.outcomes[ImportOutcome.REPLACED],
        "unchanged": imported.outcomes[ImportOutcome.UNCHANGED],
    }
    counted = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"
    print_text(f"Works of corpus '{corpus}': {counted}; {imported.waiting} chunks wait for their vectors.", err=True)


def _tell_latin1(read: ReadFiles) -> None:
    if read.latin1:
        print_text(f"Not UTF-8, and read as Latin-1 (look at their accents): {listed(read.latin1)}.", err=True)


def _tell_documents(converted: ImportedDocuments, corpus: str) -> None:
    new = 0 if converted.submitted is None else converted.submitted.jobs
    print_text(f"Documents for corpus '{corpus}': {new} to convert, {converted.unchanged} unchanged.", err=True)


def _as_json(imported: ImportedWorks, converted: ImportedDocuments | None, corpus: str) -> dict[str, object]:
    submitted = imported.submitted
    documents = None if converted is None else converted.submitted
    return {
        "corpus": corpus,
        "language": imported.corpus.language,
        **{outcome.name.lower(): imported.outcomes[outcome] for outcome in ImportOutcome},
        "waiting": imported.waiting,
        "run": None if submitted is None else f"r{submitted.run_id}",
        "run_id": None if submitted is None else submitted.run_id,
        "jobs": 0 if submitted is None else submitted.jobs,
        "documents": {
            "run": None if documents is None else f"r{documents.run_id}",
            "jobs": 0 if documents is None else documents.jobs,
            "unchanged": 0 if converted is None else converted.unchanged,
        },
    }
