"""The models of a service: their names, and their descriptions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eigentree.data.catalogue import resolve_model
from eigentree.errors import ModelFileError, SettingsError

if TYPE_CHECKING:
    from eigentree.bracketing.parser import BracketingParser
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.parser import ConstituencyParser
    from eigentree.dependency.parser import DependencyParser

    AnyParser = ConstituencyParser | EnsembleParser | DependencyParser | BracketingParser

Kind = Literal["constituents", "dependencies", "brackets"]

# Parts of a description that grow with the numbers of symbols or words.
_LONG = ("singular_values", "symbol_counts", "text")


class ServedModel(NamedTuple):
    """A model: its name in requests, its kind, and its file or folder."""

    name: str
    kind: Kind
    path: str


def name_models(paths: Iterable[tuple[Kind, str]]) -> list[ServedModel]:
    """Models named after their files, without extensions, or after bundled models.

    Raises
    ------
    SettingsError
        When two models have the same name.
    ModelFileError
        When a file does not exist.
    """
    models: dict[str, ServedModel] = {}
    for kind, model in paths:
        path = resolve_model(model)
        if not path.exists():
            raise ModelFileError(f"{model}: no such model")
        # In UTF-8 whatever the locale, as requests are.
        name = os.fsencode(path.name if path.is_dir() else path.stem).decode("utf-8", "replace")
        if name in models:
            raise SettingsError(
                f"{path} and {models[name].path} would both be named {name}; rename one of them"
            )
        models[name] = ServedModel(name, kind, str(path))
    return list(models.values())


def open_model(served: ServedModel, *, verify: bool) -> AnyParser:
    """Open the parser of a model.

    Raises
    ------
    ModelFileError
        When the file is damaged, is not a model, or is a model of another kind.
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
    from eigentree.constituency.parser import ConstituencyParser

    return ConstituencyParser.load(served.path, verify=verify)


def describe_model(served: ServedModel, parser: AnyParser) -> dict[str, Any]:
    """Name, kind, method, sizes, model card and description of a model."""
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
        sizes = {"latent_states": int(parser.grammar.n_states.sum())}
    else:
        backbone = parser.backbones[0].grammar.backbone
        sizes = {"members": len(members)}
    return sizes | {
        "nonterminals": len(backbone.symbols),
        "binary_rules": backbone.n_rules,
        "words": len(backbone.lexicon),
        "tags": len(backbone.symbols.tags),
    }
