"""The docs as a site: `make docs` builds it, and any warning ends the build.

The source folder is the repository itself, so that a relative link leads to the same file here and
on a page of the repository.  The order of pages is in ``docs/index.rst``.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "eigentree"
extensions = ["myst_parser", "citations", "console"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "docs/*.rst", "validation/**.md", "CHANGELOG.md"]
# The start page stands in index.rst, where the order of all others is.
exclude_patterns = ["docs/README.md", "docs/_build", ".*", "src", "tests", "demo-output"]

myst_heading_anchors = 4
nitpicky = True
# A command in which another language stands, such as awk's, is only coloured less.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "eigentree"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_copy_source = False
html_use_index = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
