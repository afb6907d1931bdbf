"""The shape of the package: which room may import which, and what start-up loads."""

from __future__ import annotations

import ast
import dataclasses
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

import eigentree
from eigentree.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "eigentree"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The rooms in layers. A room may import the rooms of earlier rows, never those of its own row.
LAYERS = (
    {"types", "errors"},
    {"_core"},
    {"linalg", "treebank", "data"},
    {"tokenisation", "model_file"},
    {"words", "learning"},
    {"automata", "sentence_input"},
    {"evaluation"},
    {"drawing", "base"},
    {"constituency", "dependency", "bracketing"},
    {"simulation", "studies", "integrations", "web"},
    {"cli"},
    {"__main__"},
)
MAX_LOOSE_MODULES = 6  # beside __init__ and __main__

# What a room may import from outside the standard library.
OUTSIDE: dict[str, set[str]] = {
    "treebank": set(),
    "errors": set(),
    "cli": {"numpy", "rich", "typer"},
}
ONLY_IN = {
    "numba": {"_core"},
    "fastapi": {"web"},
    "jinja2": {"studies", "web"},
    "markupsafe": {"drawing", "evaluation", "studies"},
    "matplotlib": {"drawing", "evaluation", "studies"},
    "nltk": {"integrations"},
    "pandas": {"integrations"},
    "pycrfsuite": {"words"},
    "regex": {"tokenisation"},
    "resvg_py": {"drawing"},
    "sklearn": {"automata", "constituency", "dependency"},
    "spacy": {"integrations", "tokenisation"},
    "typer": {"cli"},
    "uvicorn": {"web"},
}
IMPORT_NAMES = {
    "python-crfsuite": "pycrfsuite",
    "resvg-py": "resvg_py",
    "scikit-learn": "sklearn",
}


class Import(NamedTuple):
    module: str  # the importing module
    target: str
    at_load: bool  # neither inside a function nor for type checkers alone

    @property
    def room(self) -> str:
        return room(self.module)


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def room(module: str) -> str:
    """The first part below the package; empty for the table of public names itself."""
    return module.split(".")[1] if "." in module else ""


def below(module: str, folder: str) -> bool:
    """Whether a module is in a folder of one of the products or shared rooms, such as learn."""
    return folder in module.split(".")[1:]


def imports_of(path: Path) -> Iterator[Import]:
    stack: list[tuple[ast.AST, bool]] = [(tree_of(path), True)]
    while stack:
        node, at_load = stack.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(dotted(path), alias.name, at_load)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                inner = SOURCE.joinpath(*whole.split("."))
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield Import(dotted(path), whole if is_module else str(node.module), at_load)
        inside = isinstance(node, ast.FunctionDef | ast.Lambda) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        stack.extend((child, at_load and not inside) for child in ast.iter_child_nodes(node))


IMPORTS = [each for path in MODULES for each in imports_of(path)]
INNER = [each for each in IMPORTS if each.target.split(".")[0] == "eigentree"]
OUTER = [
    each._replace(target=each.target.split(".")[0])
    for each in IMPORTS
    if each.target.split(".")[0] not in sys.stdlib_module_names | {"eigentree", "__future__"}
]


def first_cycle(graph: dict[str, set[str]]) -> list[str]:
    """The nodes of a cycle of a graph, empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_one_another():
    # Imports for type checkers and inside functions included; a look-up by name is no import.
    graph: dict[str, set[str]] = {}
    for each in INNER:
        graph.setdefault(each.module, set()).add(each.target)
    assert first_cycle(graph) == []


def test_rooms_import_those_below():
    number = {name: row for row, rooms in enumerate(LAYERS) for name in rooms}
    wrong = {
        f"{each.module} imports {each.target}"
        for each in INNER
        if each.target != "eigentree"  # its version
        and room(each.target) != each.room != ""
        and number.get(room(each.target), len(LAYERS)) >= number.get(each.room, -1)
    }
    assert wrong == set()


def test_every_room_has_its_row():
    rooms = {room(dotted(path)) for path in MODULES} - {""}
    assert rooms ^ set(chain(*LAYERS)) == set()


def test_few_modules_are_outside_the_rooms():
    loose = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert len(loose) <= MAX_LOOSE_MODULES


def test_cycles_are_found():
    assert first_cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(first_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == {"b", "c"}


def defined_classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                yield dotted(path), node


def test_no_class_name_has_two_meanings():
    count = Counter(node.name for _, node in defined_classes())
    assert {name for name, times in count.items() if times > 1} == set()


def test_array_aliases_are_defined_once():
    assigned = {
        (dotted(path), ast.unparse(node.targets[0]), ast.unparse(node.value))
        for path in MODULES
        for node in tree_of(path).body
        if isinstance(node, ast.Assign)
    }
    aliases = {
        (module, name)
        for module, name, value in assigned
        if value.startswith("NDArray[") or name == "Progress"
    }
    assert {f"{module}.{name}" for module, name in aliases if module != "eigentree.types"} == set()


def annotations_of(node: ast.ClassDef) -> Iterator[str]:
    """Names in annotations of a class's public fields and of arguments of its public methods."""
    for part in node.body:
        if isinstance(part, ast.AnnAssign):
            if not ast.unparse(part.target).startswith("_"):
                yield from re.findall(r"\w+", ast.unparse(part.annotation))
        elif isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
            for arg in ast.walk(part.args):
                if isinstance(arg, ast.arg) and arg.annotation is not None:
                    yield from re.findall(r"\w+", ast.unparse(arg.annotation))


def test_options_of_public_classes_are_public():
    # Options are dataclasses with a default for every field.
    classes = {node.name: module for module, node in defined_classes()}
    wrong = {
        f"{node.name} uses {name}"
        for _, node in defined_classes()
        if node.name in eigentree.__all__
        for name in annotations_of(node)
        if name in classes and name not in eigentree.__all__ and is_options(classes[name], name)
    }
    assert wrong == set()


def is_options(module: str, name: str) -> bool:
    value = getattr(import_module(module), name)
    return dataclasses.is_dataclass(value) and all(
        field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        for field in dataclasses.fields(value)
    )


def test_only_em_runs_the_chart_while_learning():
    wrong = {
        f"{each.module} imports {each.target}"
        for each in INNER
        if below(each.module, "learn")
        and below(each.target, "chart")
        and each.module.rsplit(".", 1)[1]
        not in {"em", "constrained_em", "_kernels_em", "ccm", "ccm_from_metric"}
        and each.target != "eigentree.constituency.chart.tree_value"
    }
    assert wrong == set()


# Folders and modules that only training, studies and commands that learn load.
LEARNING = (
    "learn", "learning", "training", "estimators", "training_options", "preparation", "tuning",
    "retraining", "validation", "studies", "ensemble", "train", "settings", "em",
)  # fmt: skip
REGISTRY = "eigentree.constituency.estimators"  # names methods without loading them


def test_parsing_does_not_load_the_learners():
    def learns(module: str) -> bool:
        folders = ("learn", "learning", "training", "estimators")
        return module != REGISTRY and any(below(module, folder) for folder in folders)

    wrong = {
        f"{each.module} imports {each.target}"
        for each in INNER
        if each.at_load and learns(each.target) and not set(LEARNING) & set(each.module.split("."))
    }
    assert wrong == set()


def holds_arrays(module: str) -> bool:
    return module.endswith("arrays") or module == "eigentree.constituency.chart.forest"


def test_kernels_and_records_of_arrays_import_little():
    allowed = {"math", "typing", "numpy", "__future__", "eigentree._core.jit", "eigentree.types"}
    wrong = {
        f"{each.module} imports {each.target}"
        for each in IMPORTS
        if "._kernels" in each.module and each.at_load
        if each.target not in allowed and not each.target.startswith("numpy.")
        if "._kernels" not in each.target and not holds_arrays(each.target)
    }
    wrong |= {
        f"{each.module} imports {each.target}"
        for each in INNER
        if holds_arrays(each.module)
        if each.target != "eigentree.types" and not holds_arrays(each.target)
        if not each.module.endswith("treebank_arrays")
    }
    assert wrong == set()


def test_every_kernel_has_a_docstring():
    wrong = [
        f"{path.stem}.{node.name}"
        for path in SOURCE.rglob("_kernels*.py")
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is None
    ]
    assert wrong == []


def test_outside_packages_enter_where_they_belong():
    wrong = {
        f"{each.module} imports {each.target}"
        for each in OUTER
        if each.target not in OUTSIDE.get(each.room, {each.target})
        or each.room not in ONLY_IN.get(each.target, {each.room})
    }
    assert wrong == set()


def test_dependencies_are_those_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    names = [re.split(r"[<>=~!\[ ]", line)[0] for line in lines]
    assert {IMPORT_NAMES.get(name, name) for name in names} == {each.target for each in OUTER}


def test_nothing_is_unpickled():
    carriers = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
    assert {each.module for each in IMPORTS if each.target.split(".")[0] in carriers} == set()
    calls = [path.name for path in MODULES if "allow_pickle=True" in path.read_text("utf-8")]
    assert calls == []


def test_no_function_calls_itself():
    # Trees are deeper than Python's stack, so everything that walks keeps a stack of its own.
    wrong = []
    for path in MODULES:
        tree = tree_of(path)
        classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
        methods = {part for node in classes for part in node.body}  # not called by a bare name
        for outer in ast.walk(tree):
            if isinstance(outer, ast.FunctionDef) and outer not in methods:
                calls = (node.func for node in ast.walk(outer) if isinstance(node, ast.Call))
                if any(isinstance(call, ast.Name) and call.id == outer.name for call in calls):
                    wrong.append(f"{dotted(path)}.{outer.name}")
    assert wrong == []


SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.M | re.S)


@cache
def classes() -> dict[str, ast.ClassDef]:
    """All classes of the package by name."""
    nodes = (node for path in MODULES for node in ast.walk(tree_of(path)))
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def arguments_of(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """A function's arguments, or the attributes of a class and of its bases in the package."""
    if isinstance(node, ast.FunctionDef):
        every = node.args
        named = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
        return {arg.arg for arg in named if arg}
    stored = (part for part in ast.walk(node) if isinstance(part, ast.Attribute))
    names = {part.attr for part in stored if isinstance(part.ctx, ast.Store)}
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            names.add(part.target.id)
        elif isinstance(part, ast.FunctionDef):
            names |= {part.name} | (arguments_of(part) if part.name == "__init__" else set())
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes():
            names |= arguments_of(classes()[base.id])
    return names


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_docstrings_name_what_is_there(path):
    wrong = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for section in SECTION.findall(ast.get_docstring(node) or ""):
                heads = re.findall(r"^(\w[^:\n]*)", section, re.MULTILINE)
                names = {name.strip(" *") for head in heads for name in head.split(",")}
                wrong += [f"{node.name}: {name}" for name in names - arguments_of(node)]
    assert wrong == []


@pytest.mark.parametrize("name", sorted(set(eigentree.__all__) - {"__version__"}))
def test_public_names_load(name):
    assert getattr(eigentree, name).__module__.startswith("eigentree")


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        _ = eigentree.Forest


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_has_its_file(verb):
    module = COMMANDS[verb].module
    assert module.startswith("eigentree.cli.")
    assert SOURCE.joinpath(*module.split(".")).with_suffix(".py").is_file()


HEAVY = (
    *("numpy", "numba", "scipy", "sklearn", "matplotlib", "pycrfsuite", "safetensors"),
    *("nltk", "pandas", "resvg_py", "spacy"),
    *("fastapi", "uvicorn"),
)


@pytest.mark.parametrize(
    "work",
    [
        "import eigentree",
        "from eigentree.cli.app import main; main(['--help'])",
        "from eigentree.cli.app import main; main(['--version'])",
    ],
)
def test_start_up_loads_nothing_heavy(work):
    # Seconds differ between machines; the modules that would cost them do not.
    script = (
        "import atexit, sys\n"
        "def tell():\n"
        f"    print(*sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr)\n"
        "atexit.register(tell)\n" + work
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == ""
