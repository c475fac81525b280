"""Documents of other formats: imported by their chain, found, and imported again."""

from pathlib import Path

from tests.acceptance.harness import Installation

HTML = """<!DOCTYPE html><html><head><title>About tea</title></head><body>
<h1>About tea</h1><p>{text}</p><h2>References</h2><p>A book about leaves and a book about pots.</p></body></html>"""
STATES = "SELECT string_agg(c.vector_status, ',' ORDER BY c.start_line, c.id) FROM chunks AS c"


def test_a_document_becomes_a_work_and_a_broken_one_fails_alone(fresh: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "tea.html").write_text(HTML.format(text="Green tea is brewed with cooler water than black tea."))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / "notes.md").write_text("# Notes\n\nA pendulum is protected from warmth.\n")

    imported = fresh.ragq("import", "works", str(folder), "--corpus", "library", "--json").json
    run = int(imported["documents"]["run"][1:])
    assert (imported["new"], imported["documents"]["jobs"]) == (1, 2)
    fresh.start_worker()
    assert fresh.wait_for(run) == {"failed": 1, "succeeded": 1}

    failed = next(job for job in fresh.ragq("show", f"r{run}", "--json").json["jobs"] if job["status"] == "failed")
    assert "PDF cannot be read" in str(failed)
    fresh.wait_for(imported["run_id"])
    assert {work["title"] for work in fresh.ragq("corpus", "show", "library", "--json").json["works"]} == {
        "About tea",
        "Notes",
    }
    # Sections of references are kept and not embedded.
    assert fresh.value(STATES + " JOIN works AS w ON w.id = c.work_id WHERE w.title = 'About tea'") == (
        "no_vec,vec,no_vec,no_vec"
    )

    again = fresh.ragq("import", "works", str(folder / "tea.html"), "--corpus", "library", "--json").json
    assert again["documents"] == {"run": None, "jobs": 0, "unchanged": 1}

    (folder / "tea.html").write_text(HTML.format(text="White tea is brewed for a minute."))
    changed = fresh.ragq("import", "works", str(folder / "tea.html"), "--corpus", "library", "--json").json
    assert fresh.wait_for(int(changed["documents"]["run"][1:])) == {"succeeded": 1}
    assert (
        fresh.value("SELECT count(*) FROM works WHERE corpus_id = (SELECT id FROM corpus WHERE name = 'library')") == 2
    )
    assert fresh.value("SELECT count(*) FROM chunks WHERE content LIKE 'White tea%'") == 1

    for one in (run, int(changed["documents"]["run"][1:])):
        assert fresh.ragq("purge", "--run", f"r{one}", "--yes").exit_code == 0
    assert fresh.value("SELECT count(*) FROM original") == 1
    assert fresh.ragq("corpus", "delete", "library", "--yes").exit_code == 0
    assert fresh.value("SELECT count(*) FROM original") == 0
