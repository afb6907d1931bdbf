"""The group ``dependencies``: parsers of dependency trees."""

from __future__ import annotations

from eigentree.cli._commands import Command, new_group
from eigentree.cli.dependency.convert import convert
from eigentree.cli.dependency.evaluate import evaluate
from eigentree.cli.dependency.parse import parse
from eigentree.cli.dependency.states import states
from eigentree.cli.dependency.train import train

dependencies = new_group("Train, use and evaluate dependency parsers.")
dependencies.command(cls=Command)(train)
dependencies.command(cls=Command)(parse)
dependencies.command(cls=Command)(states)
dependencies.command(cls=Command)(evaluate)
dependencies.command(cls=Command)(convert)
