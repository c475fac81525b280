"""`ragq import works`: documents into a corpus."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.config import with_open_database
from cli.files import FileRefused, read_file
from cli.main import carry_out
from cli.new_runs import wait_option
from cli.options import request_options, requested, with_settings
from cli.output import console, draw, json_option, print_json, print_text
from cli.submit import report_submitted
from schemas.errors import Refused, WorkFileError
from schemas.settings.resolve import EffectiveSettings
from schemas.values.requests import ImportRequest
from services.imports import Imported, WorkFile, import_files
from stages.corpora.works import SUFFIX, parse_corpus
from stages.documents.outline import SUFFIXES, is_markdown
from stages.records import accept
from stages.reports.words import counted
from stages.texts.characters import SHOWN, listed
from store.corpora.corpora import DEFAULT_CORPUS
from store.corpora.keeping import ImportOutcome


def read_corpora(files: Sequence[Path], *, given: Mapping[str, Any]) -> Iterator[WorkFile]:
    """A work for each line. What of a file is not used is printed on stderr. Each is known by the file and its id, as
    if the file were a folder of markdown files. Raises FileRefused, and ProblemsFound with every line that cannot be
    used."""
    for file in files:
        lines = accept(parse_corpus(read_file(file), file=str(file)))
        if empty := [line.id for line in lines if not line.markdown]:
            without = f"{counted(len(empty), 'document')} without title and text"
            draw(f"Not read of {file.name}: {without} ({listed(empty)}).", err=True)
        if left_out := sorted({key for line in lines for key in line.left_out_keys}):
            draw(f"Not read of {file.name}: {listed(left_out)}.", err=True)
        for line in lines:
            if markdown := line.markdown.encode():
                yield WorkFile(f"{file}/{line.id}.md", markdown, f"{file.resolve()}/{line.id}.md", given)


def find_files(paths: Sequence[Path]) -> tuple[list[Path], list[Path], list[Path], Counter[str]]:
    """The files that were named, and those of a known suffix in folders that were, each once, in order of their paths:
    of markdown, of other formats, and corpora with a work in each line; and how many of the folders have each other
    ending, without hidden ones.

    A corpus in one file has to be named itself: other files of its folder look like it. Raises Refused, naming each,
    for paths that are not there, and folders without a file of a known suffix.
    """
    problems: list[str] = []
    found: list[Path] = []
    others: set[Path] = set()
    for path in paths:
        if not path.exists():
            problems.append(f"{path}: there is no such file or folder")
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(file for file in path.rglob("*") if file.is_file())
        works = [file for file in inside if file.suffix.lower() in SUFFIXES]
        shown = (file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts))
        others.update(set(shown).difference(works))
        if not works:
            problems.append(f"{path}: holds no file that ends in {' or '.join(SUFFIXES)}{_corpus_in(inside)}")
        found += works
    if problems:
        raise Refused("Nothing was imported:\n" + "\n".join(f"  {problem}" for problem in problems))
    files = list(dict.fromkeys(found))
    markdown = [file for file in files if is_markdown(file.name)]
    corpora = [file for file in files if file.suffix.lower() == SUFFIX]
    documents = [file for file in files if not is_markdown(file.name) and file not in corpora]
    return markdown, documents, corpora, Counter(file.suffix.lower() for file in sorted(others))


def _contents(files: Sequence[Path], given: Mapping[str, Any]) -> Iterator[WorkFile | WorkFileError]:
    """Each file, read when it is its turn, or why it cannot be read."""
    for file in files:
        try:
            yield WorkFile(str(file), read_file(file), str(file.resolve()), given)
        except FileRefused as error:
            yield WorkFileError(str(file), f"{error.found}; {error.remedy}.")


def _corpus_in(files: Sequence[Path]) -> str:
    """What to do with a folder that has a corpus in one file."""
    found = next((file for file in files if file.name == f"corpus{SUFFIX}"), None)
    return "" if found is None else f"; `ragq import works {found}` imports that corpus"


#: Some works were refused; the others are imported.
SOME_REFUSED = 1


@click.command("works")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@request_options(ImportRequest, "corpus", corpus=DEFAULT_CORPUS)
@click.option("--title", help="Title of the work; with a single file only. Goes before its front matter.")
@click.option("--authors", help="Authors, before those of the front matter.")
@click.option("--year", type=int, help="Year, before that of the front matter.")
@click.option("--tags", help="Tags with commas between, before those of the front matter.")
@click.option(
    "--embed-headings/--no-embed-headings",
    default=None,
    help="Embed each chunk under the headings above it, or its text alone; a new corpus embeds them.",
)
@request_options(ImportRequest, "chunk_tokens", "language", "by_stages")
@with_settings
@wait_option
@json_option
def works_command(
    paths: tuple[Path, ...], settings: EffectiveSettings, wait: bool, as_json: bool, **asked: Any
) -> None:
    """Import works, files or folders of them, cut them into chunks and embed those.

    Markdown is stored at once, and embedded by a run of one job per batch of chunks. PDF, EPUB, HTML, DOCX, ODT,
    reStructuredText and plain text are converted first, by a run of one job per document: its stages are convert,
    outline, repair, sanitise, select, cut, embed and publish. `ragq show`, `ragq retry` and the rest work on both runs.
    Rules repair headings and select sections; with RAGQ_REPAIR_BY=model and RAGQ_SELECT_BY=model a language model does,
    of markdown too. `ragq work show` and the page of a document show what became of them.

    A file that ends in .jsonl is a corpus with a work in each line, {"_id", "title", "text"}, like BEIR's test
    collections; relevance judgements name its works by their ids. It has to be named itself.

    Importing a file again replaces its work if it has changed, and does nothing if it has not. A text that another
    work of the corpus has is refused, by itself, and so is a file that cannot be read or is text other than UTF-8.
    Files of a folder with another ending are left out and counted. `ragq corpus remove` removes works.

    Exit codes: 0 done, 1 refused, or some works were, 2 wrong usage, 3 some jobs failed (with --wait).

    \b
    Example:
        ragq import works books/ --corpus library --wait
        ragq import works buecher/ --corpus bibliothek --language german
        ragq import works handbook.pdf manual.epub --wait
        ragq import works scifact/corpus.jsonl --corpus scifact --wait
        ragq import works tea.md --title "Tea" --authors "A. Leaf" --year 2019
        ragq import works scanned.pdf --set RAGQ_REPAIR_BY=model --wait
    """
    markdown, documents, corpora, left_out = find_files(paths)
    if left_out:
        endings = ", ".join(f"{count} {suffix or 'without one'}" for suffix, count in left_out.items())
        print_text(f"Left out for their endings: {endings}.", err=True)
    named = {name: asked.pop(name) for name in ("title", "authors", "year", "tags")}
    front_matter = {name: value for name, value in named.items() if value is not None}
    if "title" in front_matter and (corpora or len(markdown) + len(documents) != 1):
        raise click.UsageError(
            "--title is for one work; front matter and the lines of a corpus have titles of their own."
        )
    request = requested(ImportRequest, **asked)
    now = [*_contents(markdown, front_matter), *read_corpora(corpora, given=front_matter)]
    later = _contents(documents, front_matter) if documents else ()
    with _progress(shows=not as_json) as report:
        imported = with_open_database(import_files, request, now, settings, later=later, report=report)
    _tell(imported)
    for one in imported.submitted:
        kind = "index" if one.run_id == imported.run_id else "work"
        report_submitted([one], settings, kind=kind, briefly=wait and not as_json)
    runs = [one.run_id for one in imported.submitted]
    if wait:
        if runs:
            carry_out("watch", run_ids=runs, as_json=as_json)
    elif as_json:
        counts = {str(outcome): imported.outcomes[outcome] for outcome in ImportOutcome}
        refused = {"refused": imported.refused, "left_out": left_out}
        print_json(imported.model_dump(mode="json", exclude={"files"}) | counts | refused)
    else:
        for run_id in runs:
            print_text(f"r{run_id}")
    if imported.refused:
        raise SystemExit(SOME_REFUSED)


def _tell(imported: Imported) -> None:
    if imported.files:
        counts = ", ".join(f"{count} {word}" for word in ImportOutcome if (count := imported.outcomes[word])) or "none"
        waiting = f"{imported.waiting} chunks wait for their vectors."
        print_text(f"Works of corpus '{imported.corpus}': {counts}; {waiting}", err=True)
        if imported.copied is not None:
            print_text(imported.copied, err=True)
    for refusal in imported.refused[:SHOWN]:
        print_text(f"Refused: {refusal}", err=True)
    if (more := len(imported.refused) - SHOWN) > 0:
        print_text(f"Refused: {more} more; --json has all of them.", err=True)
    if imported.documents or imported.unchanged_documents:
        counts = f"{imported.documents} to convert, {imported.unchanged_documents} unchanged"
        print_text(f"Documents for corpus '{imported.corpus}': {counts}.", err=True)


@contextmanager
def _progress(*, shows: bool) -> Iterator[Callable[[int, int], None]]:
    """A function that takes how many works are stored, of how many; a terminal shows them until the block ends."""
    screen = console(err=True)
    columns = (TextColumn("works written"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not (shows and screen.is_terminal)) as progress:
        task = progress.add_task("works", total=None)
        yield lambda written, total: progress.update(task, completed=written, total=total)
