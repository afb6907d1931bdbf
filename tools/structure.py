"""Measure the structure of the package: modules, rooms, imports, cycles and lines.

Usage: ``python tools/structure.py [SRC [TESTS]]``.  All imports count, also those inside functions
and those for type checkers only; lookups by name do not.  A room is a package or loose module
directly below `eigentree`; the floor of a module is the length of the longest chain of imports
below it, cycles taken as one module.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Graph = Mapping[str, set[str]]


def dotted(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(source: Path) -> dict[str, set[str]]:
    """Module -> modules of the package that it imports, itself left out."""
    modules = {dotted(path, source): path for path in sorted((source / "eigentree").rglob("*.py"))}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        targets = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= {name if name in modules else node.module for name in inner}
        graph[module] = (targets & modules.keys()) - {module}
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def cycles(graph: Graph) -> list[set[str]]:
    """Strongly connected components of more than one node."""
    below = {node: reachable(graph, node) for node in graph}
    components = {
        frozenset(other for other in below[node] if node in below[other])
        for node in graph
        if node in below[node]
    }
    return [set(component) for component in components]


def n_floors(graph: Graph) -> int:
    """Length of the longest chain of imports, each cycle taken as one node."""
    home = {node: node for node in graph}
    for component in cycles(graph):
        home |= dict.fromkeys(component, min(component))
    merged: dict[str, set[str]] = {home[node]: set() for node in graph}
    for node, targets in graph.items():
        merged[home[node]] |= {home[target] for target in targets} - {home[node]}

    @cache
    def floor(node: str) -> int:
        return 1 + max((floor(target) for target in merged[node]), default=0)

    return max(map(floor, merged))


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "eigentree"


def n_lines(paths: Iterator[Path]) -> int:
    return sum(path.read_text("utf-8").count("\n") for path in paths)


def main(source: Path, tests: Path) -> None:
    graph = import_graph(source)
    between: dict[str, set[str]] = {}
    for module, targets in graph.items():
        between.setdefault(room(module), set()).update(map(room, targets))
    loose = [
        path.stem
        for path in sorted((source / "eigentree").glob("*.py"))
        if not path.stem.startswith("__")
    ]
    print(f"modules: {len(graph)}")
    print(f"loose modules: {len(loose)}: {', '.join(loose)}")
    print(f"rooms: {len(between)}")
    print(f"floors: {n_floors(graph)}")
    print(f"cycles: {len(cycles(graph))}")
    for component in cycles(graph):
        print(f"    {', '.join(sorted(component))}")
    print(f"imports between modules: {sum(map(len, graph.values()))}")
    n_arrows = sum(len(targets - {name}) for name, targets in between.items())
    print(f"arrows between rooms: {n_arrows}")
    print(f"lines of source: {n_lines((source / 'eigentree').rglob('*.py'))}")
    print(f"lines of tests: {n_lines(tests.rglob('*.py'))}")


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    main(*[*given, ROOT / "src", ROOT / "tests"][: 2 if len(given) < 2 else len(given)])
