"""The pictures of the guides: each page of docs/guides is run as it stands, and the last `figure` above a
picture is saved under its name, here or in the folder that is given:

    python examples/guides.py docs/images
"""

import io
import re
import sys
from doctest import DocTestParser
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
GUIDES = HERE.parent / "docs" / "guides"
PARTS = re.compile(r"^```pycon\n(.*?)^```|\]\(\.\./images/(\w+\.png)\)", re.MULTILINE | re.DOTALL)
WIDTH = 800  # pixels


def draw(page, folder):
    """Run the examples of a page in order, and save what it shows."""
    names = {}
    for code, picture in PARTS.findall(page.read_text(encoding="utf-8")):
        for example in DocTestParser().get_examples(code):
            exec(compile(example.source, page.name, "single"), names)
        if picture:
            save(names["figure"], folder / picture)
            print(f"picture: {folder / picture}")


def save(figure, path):
    """As a small file: of 64 colours."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=WIDTH / figure.get_figwidth())
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)


def main(folder=HERE):
    """All guides."""
    for page in sorted(GUIDES.glob("*.md")):
        draw(page, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
