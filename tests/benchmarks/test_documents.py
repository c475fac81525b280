"""The benchmark of documents, without a stack."""

import json
from pathlib import Path

import pytest
from click import ClickException

from benchmarks.document_books import books_of, text_of
from benchmarks.document_search import judged, sections_of
from benchmarks.documents import Headings, compared_headings, compared_texts
from benchmarks.retrieval_sets import Document, RetrievalSet, query_set_of

BOOK = "# Tea\n\nAbout tea.\n\n## 1 Leaves\n\nGreen `leaves`.\n\n## Pots\n\n![A pot](pot.png)\n\nOf clay.\n"


def test_headings_agree_by_title_in_order_and_levels_whatever_the_title_of_the_book_is() -> None:
    known = [(1, "Leaves"), (2, "Green"), (2, "Black"), (1, "Pots")]
    found = [(1, "Tea"), (2, "1. Leaves"), (3, "Green"), (2, "Black"), (4, "Deeper")]

    # Black is one level too high, Pots are missing, Tea is not known, and Deeper is deeper than what is known.
    assert compared_headings(known, found) == Headings(known=4, found=4, agreed=3, levels=2)


def test_words_that_are_lost_added_and_kept_in_order_are_counted_in_characters() -> None:
    found = compared_texts("green tea is brewed cool", "Green tea is is brewed")

    assert (found.known, found.lost, found.added) == (20, 4, 2)
    assert (found.sequences, found.kept) == (3, 1)


def test_the_text_of_a_book_has_code_and_no_descriptions_of_pictures() -> None:
    assert text_of(BOOK).split() == ["Tea", "About", "tea.", "1", "Leaves", "Green", "leaves.", "Pots", "Of", "clay."]


def test_files_of_one_name_are_one_book_and_an_html_has_its_own_headings(tmp_path: Path) -> None:
    (tmp_path / "tea.html").write_text("<html><head><title>x</title></head><h1>Tea</h1><p>Green.<h2>Pots</h2>")
    (tmp_path / "tea.txt").write_text("not a format of books")

    (book,) = books_of(tmp_path, tmp_path / "written")

    assert (book.name, list(book.files)) == ("tea", ["html"])
    assert book.known.outline == [(1, "Tea"), (2, "Pots")]
    assert (book.known.text or "").split() == ["Tea", "Green.", "Pots"]


def test_a_folder_without_books_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClickException, match="holds no document"):
        books_of(tmp_path, tmp_path / "written")


def test_what_stands_under_an_unknown_heading_belongs_to_the_section_before_it() -> None:
    known = [Document("a", "Tea", ""), Document("b", "Tea > Leaves", ""), Document("c", "Tea > Cups", "")]

    found = sections_of(BOOK, known)

    assert [(one.name, one.title) for one in found] == [("a", "Tea"), ("b", "Tea > 1 Leaves")]
    assert found[1].text.startswith("Green `leaves`.\n\nPots\n\n![A pot]")


def test_only_queries_of_the_known_sections_are_asked(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text("".join(json.dumps({"_id": f"q{n}", "text": "Tea?"}) + "\n" for n in range(3)))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq0\ta\t1\nq1\ta\t1\nq1\tz\t1\nq2\tb\t2\n")
    files = RetrievalSet(tmp_path, tmp_path / "q.jsonl", tmp_path / "qrels.tsv")

    found = query_set_of(judged(files, {"a", "b"}, tmp_path / "kept"))

    assert [query.external_id for query in found.queries] == ["q0", "q2"]
    assert {(one.query_id, one.document) for one in found.judgements} == {("q0", "a"), ("q2", "b")}
