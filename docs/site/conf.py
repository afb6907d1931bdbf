"""The docs as a site: `make docs` builds it, and any warning ends the build.

The source folder is the repository itself, so that relative links work both on the site and in the
repository.  The order of pages is in ``docs/index.rst``.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "eigentree"
extensions = ["myst_parser", "sphinx_copybutton", "citations", "console", "keywords", "typeset"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "docs/*.rst", "validation/**.md", "CHANGELOG.md"]
# The start page is included by index.rst, which has the order of all others.
exclude_patterns = ["docs/README.md", "docs/_build", ".*", "src", "tests", "demo-output"]

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "amsmath"]
html_math_renderer = "mathml"
nitpicky = True
# Pygments cannot colour commands that contain another language, such as awk.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "eigentree"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_copy_source = False
html_use_index = False
html_show_copyright = False
# Styles whose colours all have a contrast of at least 4.5; a test checks it.
pygments_style = "default"
pygments_dark_style = "github-dark"

# Of a block with prompts, the commands are copied, without the prompts and the output.
copybutton_prompt_text = r"\$ |>>>(?: |$)|>(?: |$)|\.\.\.(?: |$)"
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
