"""The pictures of pages in docs/images, from those that the tests of every page leave.

.venv/bin/python -m pytest tests/browser/test_every_page.py --basetemp=/tmp/every_page
.venv/bin/python -m tests.browser.pictures /tmp/every_page/pictures
"""

import sys
from pathlib import Path
from typing import Final

from PIL import Image

IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"

#: Each picture of the docs: what it is cut from, and how many pixels from the top.
CHOSEN: Final = {
    "questions.png": ("questions-light.png", 960),
    "question.png": ("question-light.png", 1180),
    "answer.png": ("answer-light.png", 1180),
    "run.png": ("run-dark.png", 1180),
    "job.png": ("job-participant-light.png", 1500),
    "corpus.png": ("corpus-light.png", 720),
    "preset.png": ("preset-light.png", 900),
    "phone.png": ("questions-narrow.png", 1200),
}
#: The pictures that the tests of every page leave.
SOURCES: Final = frozenset(source for source, _ in CHOSEN.values())


def main(folder: Path) -> None:
    for name, (source, height) in CHOSEN.items():
        with Image.open(folder / source) as whole:
            cut = whole.convert("RGB").crop((0, 0, whole.width, min(height, whole.height)))
            cut.save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
