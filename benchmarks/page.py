"""Latency of the web interface from the last key to the tree, in headless Chromium.

    python benchmarks/page.py [MODEL] [--repeats 5]

MODEL is a model file or the name of a bundled model (default ``english``).  A service with one
worker is started and warmed up.  Each text is typed key by key; the time is from the last key to
the first frame with its tree.  It includes the quarter of a second for which the page waits for
another key.  The second column is the time of the service alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from eigentree.data.catalogue import CONSTITUENTS
from tests.web.browser import chromium
from tests.web.running import Running

CLAUSES = [
    "the old man saw a cat in the house with the dog",
    "nobody has opened the letter that my sister wrote",
    "the road to the farm was under water",
]
TEXTS = {
    "one of 4 words": "The cat slept.",
    "one of 12 words": "The old man saw a cat in the house with dogs.",
    "one of some 40 words": f"It rained, and {', and '.join(CLAUSES)}.",
    "one of some 110 words": f"It rained, and {', and '.join(CLAUSES * 3)}.",
    "ten of some 10 words": " ".join(f"{each.capitalize()}." for each in (CLAUSES * 4)[:10]),
}

# The clock runs from a key to the first frame in which there is another tree.
WATCH = """() => {
  const frame = document.getElementById("frame");
  document.getElementById("text").addEventListener("input", () => {
    window.keyed = performance.now();
    window.shown = null;
  });
  new MutationObserver(() => {
    if (!frame.querySelector("svg.tree") || window.shown !== null) return;
    requestAnimationFrame(() => setTimeout(() => (window.shown = performance.now())));
  }).observe(frame, { childList: true });
}"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", default=CONSTITUENTS)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    with Running("--model", given.model, "--workers", "1") as service, chromium() as browser:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{service.port}/")
        page.wait_for_selector("#model-name:not(:text('…'))")
        page.evaluate(WATCH)
        print("| sentences | service, ms | last key to tree, ms: median | most |")
        print("| --- | --- | --- | --- |")
        for name, text in TEXTS.items():
            times, alone = [], []
            for _ in range(given.repeats):
                begun = time.perf_counter()
                service.post("/api/parse", {"text": text})
                alone.append(1000 * (time.perf_counter() - begun))
                page.fill("#text", "")
                page.wait_for_selector("#work", state="hidden")
                page.locator("#text").press_sequentially(text, delay=2)
                page.wait_for_function("() => window.shown !== null", timeout=120_000)
                times.append(page.evaluate("() => window.shown - window.keyed"))
            middle = statistics.median(times)
            print(f"| {name} | {statistics.median(alone):.0f} | {middle:.0f} | {max(times):.0f} |")


if __name__ == "__main__":
    main()
