"""The name of a work in relevance judgements."""

from pathlib import PurePath

from stages.corpora.corpus_file import SUFFIX

_MARKDOWN = (".md", ".markdown")


def document_name(source_path: str | None, title: str) -> str:
    """The name of the file that a work was imported from, without a markdown suffix; its title if there is no file.

    A work from a line of a corpus has its id, which may hold slashes.

    >>> document_name("/data/dbpedia/corpus.jsonl/<dbpedia:AC/DC>.md", "AC/DC")
    '<dbpedia:AC/DC>'
    >>> document_name("/data/scifact/31715818.md", "Biomaterials"), document_name(None, "Biomaterials")
    ('31715818', 'Biomaterials')
    """
    if source_path is None:
        return title
    _, is_line, name_in_corpus = source_path.partition(f"{SUFFIX}/")
    if is_line:
        return name_in_corpus.removesuffix(_MARKDOWN[0])
    name = PurePath(source_path)
    return name.stem if name.suffix.lower() in _MARKDOWN else name.name
