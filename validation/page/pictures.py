"""Pictures of the page for docs/how-to/page.md, as a headless Chromium shows it.

    python validation/page/pictures.py [MODEL DEPENDENCY_MODEL]

Fonts and their edges differ between machines, so these are looked at and not compared.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import quote

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from eigentree.data.catalogue import CONSTITUENTS, DEPENDENCIES
from tests.web.browser import chromium
from tests.web.running import Running

TEXT = "The old man saw a cat in the house with the dog. She said that the children were sleeping."
FORCED = '{"0":{"required":[[4,9]],"forbidden":[],"tags":[]}}'
PICTURES = {
    "page-tree": (f"#constraints={quote(FORCED)}&text={quote(TEXT)}", "light", ".node.forced", 800),
    "page-chart": (f"#view=chart&text={quote(TEXT)}", "dark", ".cell >> nth=3", 770),
    "page-dependencies": (f"#view=dependencies&text={quote(TEXT)}", "light", None, 600),
}


def main(model: str, dependencies: str) -> None:
    with (
        Running("--model", model, "--dependencies", dependencies) as service,
        chromium() as browser,
    ):
        for name, (hash_, scheme, under_pointer, height) in PICTURES.items():
            size = {"width": 1100, "height": height}
            page = browser.new_page(viewport=size, color_scheme=scheme)
            page.goto(f"http://127.0.0.1:{service.port}/{hash_}")
            page.wait_for_selector("#frame svg.drawing")
            page.evaluate("() => document.activeElement.blur()")
            if under_pointer:
                page.hover(under_pointer)
            page.wait_for_timeout(500)
            page.screenshot(path=ROOT / "docs" / "pictures" / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main(*(sys.argv[1:] or (CONSTITUENTS, DEPENDENCIES)))
