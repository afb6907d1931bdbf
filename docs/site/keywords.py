"""A Sphinx extension: words that the search finds although a page does not contain them.

Front matter would have the same effect, but repositories display it as a table above the page.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

KEYWORDS = {
    "docs/how-to/install": (
        "setup requirements conda container Kubernetes CUDA accelerator multicore HPC license "
        "BibTeX cite reference air-gapped proxy"
    ),
    "docs/how-to/parse": "batch bulk throughput n-best parallel multiprocessing pipeline predict",
    "docs/how-to/train": "fit hyperparameters learn",
    "docs/how-to/score": "evaluation accuracy metrics EVALB F1 UAS LAS",
    "docs/how-to/serve": "REST API endpoint deployment production nginx timeout container",
    "docs/how-to/trust-a-parse": "uncertainty probability reliability",
    "docs/how-to/draw": "visualise visualize plot render figure diagram",
    "docs/how-to/induce": "unsupervised grammar induction",
    "docs/how-to/train-on-partial-trees": "fine-tune active learning semi-supervised",
    "docs/methods/tokenisation": "tokenization tokenizer segmentation sentence splitting",
    "docs/models": "pretrained download license",
    "docs/bibliography": "citation references papers BibTeX",
}


class Keywords(SphinxTransform):
    """Adds a page's keywords as metadata, which Sphinx indexes."""

    default_priority = 400

    def apply(self) -> None:
        words = KEYWORDS.get(self.env.docname)
        if words:
            self.document.append(nodes.meta("", name="keywords", content=",".join(words.split())))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_transform(Keywords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
