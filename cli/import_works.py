"""`ragq import works`: markdown into a corpus."""

from pathlib import Path

import click

from cli.completed_names import CORPUS
from cli.output import print_json
from cli.session import with_servers
from cli.settings_options import effective_settings, settings_options
from cli.submit import report_submitted
from cli.watch import follow
from cli.work_files import find_files, read_works
from services.chunk_sizes import DEFAULT_TOKENS
from services.corpora import DEFAULT_CORPUS
from services.work_imports import ImportedWorks, import_works
from store.corpora.works import ImportOutcome

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
@click.option(
    "--embed-headings/--no-embed-headings",
    default=None,
    help="Embed each chunk under the headings above it, or its text alone; a new corpus embeds them.",
)
@click.option(
    "--keep-token-vectors/--no-keep-token-vectors",
    default=None,
    help="Keep a vector per token of each chunk, up to 200 KB a chunk, for ranker late-interaction; a new corpus "
    "keeps none.",
)
@click.option(
    "--chunk-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="Most tokens of a chunk with its headings, as the embedder counts them; 0 sizes chunks by words, 200 to 300. "
    f"A new corpus has {DEFAULT_TOKENS} where its embedder reads as many, words where tokens cannot be counted.",
)
@click.option("--no-embed", is_flag=True, help="Import only; the next import without this option embeds what waits.")
@settings_options
@click.option("--wait", is_flag=True, help="Follow the embedding until it finishes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def works_command(
    paths: tuple[Path, ...],
    corpus: str,
    title: str | None,
    authors: str | None,
    year: int | None,
    embed_headings: bool | None,
    keep_token_vectors: bool | None,
    chunk_tokens: int | None,
    no_embed: bool,
    profile: str | None,
    assignments: tuple[tuple[str, str], ...],
    wait: bool,
    as_json: bool,
) -> None:
    """Import works of markdown, files or folders of them, cut them into chunks and embed those.

    Importing a file again replaces its work if it has changed, and does nothing if it has not. A text that another
    work of the corpus has is refused, by itself. The embedding is a run of one job per batch of chunks: `ragq show`,
    `ragq retry` and the rest work on it.

    Exit codes: 0 done, 1 refused, or some works were, 2 wrong usage, 3 some jobs failed (with --wait).

    \b
    Example:
        ragq import works books/ --corpus library --wait
        ragq import works tea.md --title "Tea" --authors "A. Leaf" --year 2019
    """
    files = find_files(paths)
    if title is not None and len(files) != 1:
        raise click.UsageError(
            f"--title is for one file, and there are {len(files)}; use front matter for their titles."
        )
    given = {"title": title, "authors": authors, "year": year}
    new = read_works(files, given={name: value for name, value in given.items() if value is not None})
    settings = effective_settings(profile, assignments)
    imported = with_servers(
        lambda app, database: import_works(
            app,
            database,
            corpus,
            new,
            settings,
            embeds_headings=embed_headings,
            keeps_token_vectors=keep_token_vectors,
            chunk_tokens=chunk_tokens,
            embeds=not no_embed,
        )
    )
    _tell(imported, corpus)
    if imported.submitted is not None:
        report_submitted([imported.submitted], settings, kind="index", briefly=wait and not as_json)
    if wait and imported.submitted is not None:
        follow(imported.submitted.run_id, as_json=as_json)
    elif as_json:
        print_json(_as_json(imported, corpus))
    elif imported.submitted is not None:
        click.echo(f"r{imported.submitted.run_id}")
    if imported.refused:
        raise SystemExit(SOME_REFUSED)


def _tell(imported: ImportedWorks, corpus: str) -> None:
    counts = {
        "new": imported.outcomes[ImportOutcome.NEW],
        "replaced": imported.outcomes[ImportOutcome.REPLACED],
        "unchanged": imported.outcomes[ImportOutcome.UNCHANGED],
    }
    counted = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"
    click.echo(f"Works of corpus '{corpus}': {counted}; {imported.waiting} chunks wait for their vectors.", err=True)
    for refusal in imported.refused:
        click.echo(f"Refused: {refusal}.", err=True)


def _as_json(imported: ImportedWorks, corpus: str) -> dict[str, object]:
    submitted = imported.submitted
    return {
        "corpus": corpus,
        **{outcome.name.lower(): imported.outcomes[outcome] for outcome in ImportOutcome},
        "refused": imported.refused,
        "waiting": imported.waiting,
        "run": None if submitted is None else f"r{submitted.run_id}",
        "run_id": None if submitted is None else submitted.run_id,
        "jobs": 0 if submitted is None else submitted.jobs,
    }
