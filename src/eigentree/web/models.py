"""The models that a service has: what they are called, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eigentree.data.catalogue import resolve_model
from eigentree.errors import ModelFileError, SettingsError

if TYPE_CHECKING:
    from eigentree.bracketing.parser import BracketingParser
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.parser import Parser
    from eigentree.dependency.parser import DependencyParser

    AnyParser = Parser | EnsembleParser | DependencyParser | BracketingParser

Kind = Literal["constituents", "dependencies", "brackets"]

# Parts of a description that are long, as there are as many as symbols or words.
_LONG = ("singular_values", "symbol_counts", "text")


class Served(NamedTuple):
    """A model: its name in requests, what it makes, and its file or folder."""

    name: str
    kind: Kind
    path: str


def name_models(paths: Iterable[tuple[Kind, str]]) -> list[Served]:
    """Models under the names of their files, without their endings, or of the package's own.

    Raises
    ------
    SettingsError
        When two have the same name.
    ModelFileError
        When there is no such file.
    """
    found: dict[str, Served] = {}
    for kind, given in paths:
        path = resolve_model(given)
        if not path.exists():
            raise ModelFileError(f"{given}: there is no such model")
        name = path.name if path.is_dir() else path.stem
        if name in found:
            raise SettingsError(
                f"{path} and {found[name].path} would both be called {name}; rename one of them"
            )
        found[name] = Served(name, kind, str(path))
    return list(found.values())


def open_served(served: Served, *, verify: bool) -> AnyParser:
    """The parser of a model.

    Raises
    ------
    ModelFileError
        When it is damaged, foreign or of another kind.
    """
    if served.kind == "dependencies":
        from eigentree.dependency.parser import DependencyParser

        return DependencyParser.load(served.path, verify=verify)
    if served.kind == "brackets":
        from eigentree.bracketing.parser import BracketingParser

        return BracketingParser.load(served.path, verify=verify)
    if Path(served.path).is_dir():
        from eigentree.constituency.ensemble.parser import EnsembleParser

        return EnsembleParser.load(served.path, verify=verify)
    from eigentree.constituency.parser import Parser

    return Parser.load(served.path, verify=verify)


def about(served: Served, parser: AnyParser) -> dict[str, Any]:
    """What is told of a model: name, kind, method, sizes, its card, its own description."""
    described = {key: value for key, value in parser.description.items() if key not in _LONG}
    card = described.pop("card", None)
    return {
        "name": served.name,
        "kind": served.kind,
        "method": "ensemble" if Path(served.path).is_dir() else described.get("method"),
        "bytes": _bytes_of(Path(served.path)),
        "has_tagger": getattr(parser, "tagger", None) is not None,
        "sizes": _sizes(served.kind, parser),
        "card": card,
        "description": described,
    }


def _bytes_of(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _sizes(kind: Kind, parser: Any) -> dict[str, int]:
    if kind == "brackets":
        return {}
    if kind == "dependencies":
        return {"tags": len(parser.automata.symbols)}
    members = parser.description.get("members")
    if members is None:
        backbone = parser.grammar.backbone
        own = {"latent_states": int(parser.grammar.n_states.sum())}
    else:
        backbone = parser.backbones[0].grammar.backbone
        own = {"members": len(members)}
    return own | {
        "nonterminals": len(backbone.symbols),
        "binary_rules": backbone.n_rules,
        "words": len(backbone.lexicon),
        "tags": len(backbone.symbols.tags),
    }
