"""A Sphinx extension: colours of ``console`` blocks, whose output may begin with a bracket.

Pygments' own lexer takes text in round brackets for the name of a virtual environment.
"""

from __future__ import annotations

import re

from pygments.lexers.shell import BashLexer, ShellSessionBaseLexer
from sphinx.application import Sphinx


class ConsoleLexer(ShellSessionBaseLexer):
    """Lines ``$ command``, continued by ``> ``, and output."""

    name = "Console"
    aliases = ("console",)
    _innerLexerCls = BashLexer  # noqa: N815 - Pygments' name
    _venv = re.compile(r"(?!)")
    _ps1rgx = re.compile(r"^(\$ )(.*\n?)")
    _ps2 = "> "


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_lexer("console", ConsoleLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
