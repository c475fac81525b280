"""`ragq import works` and `ragq corpus`: what is stored, refused and printed. Embedding has acceptance tests."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Ragq, json_of

MODEL = ("--profile", "demo")
IMPORT = ("import", "works", *MODEL)


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A folder of two works, one of them in a subfolder."""
    (tmp_path / "books/deep").mkdir(parents=True)
    (tmp_path / "books/tea.md").write_text("---\ntitle: Tea\nyear: 2019\n---\n# Leaves\n\nGreen leaves.\n")
    (tmp_path / "books/deep/pot.markdown").write_text("# The pot\n\nIt is hot.\n")
    (tmp_path / "books/cover.png").write_bytes(b"\x89PNG")
    return tmp_path / "books"


def test_a_folder_of_markdown_becomes_works_of_a_corpus(ragq: Ragq, books: Path) -> None:
    imported = json_of(ragq, *IMPORT, str(books), "--corpus", "library")
    assert imported == {
        "corpus_id": imported["corpus_id"],
        "corpus": "library",
        "language": "english",
        "new": 2,
        "replaced": 0,
        "unchanged": 0,
        "refused": [],
        "waiting": 2,
        "run_id": 1,
        "jobs": 1,
        "documents_run_id": None,
        "documents": 0,
        "unchanged_documents": 0,
        "left_out": {".png": 1},
    }
    shown = json.loads(ragq("corpus", "show", "library", "--json").stdout)
    assert [(work["title"], work["year"], work["chunks"]) for work in shown["works"]["items"]] == [
        ("Tea", 2019, 1),
        ("The pot", None, 1),
    ]


def test_bad_files_are_named_and_the_others_are_imported(ragq: Ragq, books: Path) -> None:
    small = {"RAGQ_MAX_FILE_MB": "1"}
    bad = {
        "empty.md": b"\n",
        "empty.pdf": b"",
        "greek.md": "# Τσάι".encode("iso-8859-7"),
        "latin.md": b"# Caf\xe9\n\nOpen.\n",
        "latin.txt": b"Gr\xfcner Tee.",
        "huge.md": b"x" * 1_000_001,
        "huge.pdf": b"%PDF-" + bytes(1_000_000),
        "matter.md": b"---\nyear: soon\n---\nText.\n",
        "picture.pdf": b"\x89PNG" + bytes(9),
        "words.docx": b"Text.",
    }
    good = {
        "café.md": "# Café\n\nOpen.\n".encode(),
        "tea.txt": "Grüner Tee.".encode(),
        "pdf as.md": b"%PDF-1.7",
        "pdf": b"%PDF-1.7",
    }
    for name, content in (bad | good).items():
        (books / name).write_bytes(content)

    done = ragq("import", "works", str(books), "--json", *MODEL, env=small)

    imported = json.loads(done.stdout)
    names = [Path(message.partition(": ")[0]).name for message in imported["refused"]]
    assert (done.exit_code, sorted(names)) == (1, sorted(bad))
    assert [imported["new"], imported["documents"]] == [3, 2]
    works = json.loads(ragq("corpus", "show", "default", "--json").stdout)["works"]["items"]
    assert "Café" in [work["title"] for work in works]
    assert "Documents for corpus 'default': 2 to convert, 0 unchanged." in done.stderr
    shown = json.loads(ragq("show", f"r{imported['documents_run_id']}", "--json").stdout)
    assert [(job["subject"], job["mode"]) for job in shown["jobs"]] == [("1", "document"), ("2", "document")]


def test_a_corpus_in_one_file_has_a_work_in_each_line(ragq: Ragq, tmp_path: Path) -> None:
    """As BEIR's test collections are."""
    lines = [
        {"_id": "4983", "title": "Tea", "text": "A drink of leaves.", "metadata": {"year": 2019}},
        {"_id": "AC/DC", "title": "", "text": "A band."},
        {"_id": "12", "title": "", "text": " "},
    ]
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "What is drunk?"}\n')

    done = ragq(*IMPORT, str(file), "--json")
    again = json_of(ragq, *IMPORT, str(file))

    assert (json.loads(done.stdout)["new"], again["unchanged"]) == (2, 2)
    assert done.stderr.splitlines() == [
        "Not read of corpus.jsonl: 1 document without title and text (12).",
        "Not read of corpus.jsonl: metadata.",
        "Works of corpus 'default': 2 new; 2 chunks wait for their vectors.",
        "r1: 1 job submitted, profile demo (option --profile).",
    ]
    works = json.loads(ragq("corpus", "show", "default", "--json").stdout)["works"]["items"]
    assert [(work["title"], work["source_path"]) for work in works] == [
        ("DC", f"{file}/AC/DC.md"),
        ("Tea", f"{file}/4983.md"),
    ]


def test_the_language_of_a_new_corpus_is_told_and_the_removal_of_a_work_confirmed(ragq: Ragq, tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text(
        "Liście zbiera się wiosną, a potem suszy się je na słońcu, zanim są sprzedawane.\n"
    )
    assert json_of(ragq, *IMPORT, str(tmp_path / "tea.md"))["language"] == "polish"

    corpus = json.loads(ragq("corpus", "show", "default", "--json").stdout)
    assert (corpus["language"], corpus["full_text"]) == ("polish", "simple")
    assert "has no dictionary here" in " ".join(ragq("corpus", "show", "default").stdout.split())
    (work,) = corpus["works"]["items"]
    assert ragq("corpus", "remove", "default", str(work["id"]), input="n\n").exit_code != 0
    removed = ragq("corpus", "remove", "default", str(work["id"]), "--yes", "--json")
    assert json.loads(removed.stdout) == {"removed": [work["id"]]}


def test_chunks_that_cannot_be_counted_are_refused(ragq: Ragq, books: Path) -> None:
    for options, problem in [
        (["--chunk-tokens", "300"], "from 32 to 256"),
        (["--chunk-tokens", "8"], "from 32 to 256"),
        (["--chunk-tokens", "64", "--set", "EMBEDDING_BACKEND=ollama"], "leave --chunk-tokens out"),
        (["--chunk-tokens", "64", "--set", "MODEL_EMBEDDING_MODEL=nobody/nothing"], "--chunk-tokens 0"),
    ]:
        refused = ragq("import", "works", str(books), *options)

        assert problem in str(refused.exception)
        assert json.loads(ragq("corpus", "list", "--json").stdout)["items"] == []


def test_what_a_corpus_was_not_made_with_is_refused_with_every_difference(ragq: Ragq, books: Path) -> None:
    json_of(ragq, *IMPORT, str(books), "--language", "en")
    other = ("--no-embed-headings", "--chunk-tokens", "0", "--language", "de", "--set", "EMBEDDING_DIMENSION=8")

    refused = str(ragq("import", "works", str(books), *MODEL, *other).exception)

    assert refused.splitlines()[1:-1] == [
        "  EMBEDDING_DIMENSION: made with 384, now 8",
        "  embed_headings: made with True, now False",
        "  chunk_tokens: made with 192, now 0",
        "  language: made with english, now german",
    ]
