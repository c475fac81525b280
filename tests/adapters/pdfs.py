"""PDFs, written by hand."""


def pdf(*, text: str) -> bytes:
    """A PDF of one page with a line of text; without any, an empty page."""
    return pages_of(line(text))


def line(text: str) -> str:
    """The content of a page with a line of text."""
    return f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"


def pages_of(*contents: str) -> bytes:
    """A PDF of pages with these contents."""
    kids = [f"{4 + 2 * number} 0 R" for number in range(len(contents))]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for content in contents:
        objects += [
            (
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects) + 2} 0 R "
                "/Resources << /Font << /F1 3 0 R >> >> >>"
            ).encode(),
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream".encode(),
        ]
    made, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(made))
        made += f"{number} 0 obj\n".encode() + one + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    return made + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


GREEN = line("Green tea is brewed cool in the morning.")
