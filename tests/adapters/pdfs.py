"""PDFs, written by hand."""

from collections.abc import Mapping

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def pdf(objects: Mapping[int, bytes], *, trailer: str = "") -> bytes:
    """A PDF of these objects, of which the first is its root."""
    made, places = b"%PDF-1.4\n", []
    for number, one in sorted(objects.items()):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"{table}trailer\n<< /Size {size} /Root 1 0 R{trailer} >>\nstartxref\n{len(made)}\n%%EOF\n"
    return made + f"xref\n0 {size}\n0000000000 65535 f \n{end}".encode()


def pages_of(*texts: str) -> bytes:
    pages = [4 + 2 * place for place in range(len(texts))]
    kids = " ".join(f"{page} 0 R" for page in pages)
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        3: FONT,
    }
    for page, text in zip(pages, texts, strict=True):
        line = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        inside = f"/MediaBox [0 0 612 792] /Contents {page + 1} 0 R /Resources << /Font << /F1 3 0 R >> >>"
        objects[page] = f"<< /Type /Page /Parent 2 0 R {inside} >>".encode()
        objects[page + 1] = f"<< /Length {len(line)} >>\nstream\n{line}\nendstream".encode()
    return pdf(objects)
