"""The group ``induce``: trees without a treebank, and how good they are."""

from __future__ import annotations

from eigentree.cli._commands import Command, new_group
from eigentree.cli.bracketing.evaluate import evaluate
from eigentree.cli.bracketing.parse import parse
from eigentree.cli.bracketing.train import train

induce = new_group("Induce bracketings from tagged text, without a treebank.")
induce.command(cls=Command)(train)
induce.command(cls=Command)(parse)
induce.command(cls=Command)(evaluate)
