"""The shape of the package: who may import whom, what help costs, and words that stay out."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

import eigentree
from eigentree.cli.app import VERBS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "eigentree"
MODULES = sorted(PACKAGE.rglob("*.py"))

BASE = {"errors", "shapes", "_random", "_accel", "workers", "extras", "shown"}
# A sentence's way to its result, from the first step to the last.
PARSING = {"calibration", "sentences", "parse_results", "attempts", "search"}
# A parser, its learning and its file know one another, but only the first loads at once.
PARSERS = PARSING | {"parsers", "training", "parser_files", "text"}
# The parser without a treebank, with what it shares with the others.
BRACKETING = {"bracketing_parser", "bracketing_models", "bracketing_files", "sentences"}
# The parser of dependencies, its learning and its file.
DEPENDENCIES = {
    "dependency_parser", "dependency_training", "dependency_files", "parsers", "sentences", "text"
}  # fmt: skip
# Layer -> the layers that it may import; a layer always may import itself.
ARROWS = {
    "errors": set(),
    "shapes": {"errors"},
    "workers": set(),
    "_random": {"errors"},
    "_accel": {"errors"},
    "data": set(),
    "extras": {"errors"},
    "shown": set(),
    "corpus": {"errors", "shown"},
    "linalg": BASE,
    "calibration": BASE,
    "models": {"errors", "model_files"},
    "text": {"errors", "corpus", "extras"},
    "model_files": {"errors", "shapes", "corpus", "models"},
    "words": BASE | {"corpus", "linalg", "model_files"},
    "grammar": BASE | {"corpus", "linalg"},
    "chart": BASE | {"corpus", "linalg", "grammar"},
    "learn": BASE | {"corpus", "linalg", "grammar", "words", "chart", "model_files"},
    "evaluate": BASE | {"corpus"},
    "report": BASE | {"corpus", "evaluate", "learn"},
    "operator_files": BASE | {"grammar", "model_files"},
    "simulate": BASE | {"corpus", "linalg", "grammar"},
    "sentences": BASE | {"corpus", "words", "calibration", "text"},
    "parse_results": BASE | {"corpus", "chart", "calibration"},
    "attempts": BASE | {"corpus", "grammar", "chart", "sentences", "parse_results"},
    "search": BASE | {"corpus", "grammar", "chart", "parse_results", "attempts"},
    "parsers": BASE | {"corpus", "grammar", "chart", "learn", "words", *PARSERS},
    "parser_files": BASE | {"corpus", "grammar", "words", "model_files", *PARSERS},
    "settings_files": BASE | {"corpus", *PARSERS},
    "bracketing_parser": BASE | {"corpus", "grammar", "chart", "learn", "words", *BRACKETING},
    "bracketing_models": BASE | {"corpus", "grammar", "chart"},
    "bracketing_files": BASE | {"corpus", "grammar", "model_files", *BRACKETING},
    "dependency_parser": BASE | {"corpus", "grammar", "chart", "learn", "words", *DEPENDENCIES},
    "dependency_training": BASE | {"corpus", "grammar", "learn", "words", *DEPENDENCIES},
    "dependency_files": BASE | {"corpus", "grammar", "words", "model_files", *DEPENDENCIES},
    "ensemble": BASE
    | {"corpus", "linalg", "grammar", "chart", "learn", "evaluate", "words", "model_files"}
    | {"held_out", "settings_files", *PARSERS},
    "experiment": BASE
    | {"corpus", "linalg", "learn", "evaluate", "report", "ensemble", "settings_files", *PARSERS}
    | DEPENDENCIES
    | BRACKETING
    | {"words"},
    "records": {"corpus", "parse_results", "dependency_parser", "bracketing_parser"},
    "web": BASE
    | {"corpus", "evaluate", "report", "ensemble", "grammar", "records", "parsers", "text"}
    | {"dependency_parser", "bracketing_parser", "models"},
    "judging": BASE | {"corpus", "ensemble", "evaluate", *PARSERS},
    "plugs": BASE
    | {"corpus", "grammar", "evaluate", "report", "parsers", "parse_results", "dependency_parser"}
    | {"bracketing_parser", "models", "text"},
    "held_out": BASE | {"corpus", "grammar", "evaluate", *PARSERS},
    "training": BASE | {"corpus", "grammar", "chart", "learn", "words", "held_out", *PARSERS},
}
ANYTHING = {"cli", "__main__", ""}  # the verbs, their start, and the table of public names

# What a layer may import from outside the standard library.
OUTSIDE = {
    "corpus": set(),
    "errors": set(),
    "cli": {"numpy", "rich", "typer"},
}
ONLY_IN = {
    "numba": {"_accel"},
    "fastapi": {"web"},
    "jinja2": {"report", "web"},
    "markupsafe": {"report"},
    "matplotlib": {"report"},
    "nltk": {"plugs"},
    "pandas": {"plugs"},
    "pycrfsuite": {"words"},
    "regex": {"text"},
    "resvg_py": {"report"},
    "sklearn": {"learn"},
    "spacy": {"plugs", "text"},
    "typer": {"cli"},
    "uvicorn": {"web"},
}
IMPORT_NAMES = {
    "python-crfsuite": "pycrfsuite",
    "resvg-py": "resvg_py",
    "scikit-learn": "sklearn",
}


class Import(NamedTuple):
    module: str  # that imports
    target: str
    at_load: bool  # neither inside a function nor for type checkers alone

    @property
    def layer(self) -> str:
        return layer(self.module)


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path) -> Iterator[Import]:
    stack: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text("utf-8")), True)]
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


def test_every_layer_has_its_arrows():
    layers = {layer(dotted(path)) for path in MODULES}
    assert layers - set(ARROWS) - ANYTHING == set()


def test_arrows_between_layers_go_one_way():
    wrong = {
        f"{each.module} imports {each.target}"
        for each in INNER
        if each.layer not in ANYTHING
        and each.target != "eigentree"  # its version
        and layer(each.target) not in ARROWS[each.layer] | {each.layer}
    }
    assert wrong == set()


LEARNING = {"learn", "training", "dependency_training"}


def test_only_em_runs_the_chart_while_learning():
    wrong = {
        f"{each.module} imports {each.target}"
        for each in INNER
        if each.layer == "learn"
        and layer(each.target) == "chart"
        and each.module.removeprefix("eigentree.constituency.learn.")
        not in {"em", "partial", "taught_contexts"}
        and not each.target.startswith("eigentree.constituency.chart.tree_value")
    }
    assert wrong == set()


def test_parsing_does_not_load_the_learners():
    wrong = {
        f"{each.module} imports {each.target}"
        for each in INNER
        if each.at_load and layer(each.target) in LEARNING
        if each.layer not in LEARNING | {"settings_files", "experiment", "ensemble"}
        and each.module != "eigentree.cli.constituency.train"
    }
    assert wrong == set()


def test_kernels_import_little():
    allowed = {"math", "typing", "numpy", "__future__", "eigentree._core.jit"}
    wrong = {
        f"{each.module} imports {each.target}"
        for each in IMPORTS
        if "_kernels_head_automata" in each.module and each.at_load
        if each.target not in allowed and not each.target.startswith("numpy.")
    }
    assert wrong == set()


def test_outside_packages_enter_where_they_belong():
    wrong = {
        f"{each.module} imports {each.target}"
        for each in OUTER
        if each.target not in OUTSIDE.get(each.layer, {each.target})
        or each.layer not in ONLY_IN.get(each.target, {each.layer})
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
        for outer in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(outer, ast.FunctionDef):
                calls = (node.func for node in ast.walk(outer) if isinstance(node, ast.Call))
                if any(isinstance(call, ast.Name) and call.id == outer.name for call in calls):
                    wrong.append(f"{dotted(path)}.{outer.name}")
    assert wrong == []


SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.M | re.S)


def arguments_of(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """What may be documented: a function's arguments; a class's fields and its own making."""
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
    return names


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_docstrings_name_what_is_there(path):
    wrong = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_its_file(verb):
    assert VERBS[verb].module == f"eigentree.cli.{verb}"
    assert (PACKAGE / "cli" / f"{verb}.py").is_file()


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


# Words -----------------------------------------------------------------------------------

AMERICAN = re.compile(
    r"""(?ix) (?<![a-z])(?:
      (?:un|re|de|pre)?(?:binar|normal|initial|token|lexical|general|special|optim|parametr
        |parameter|minim|maxim|random|regular|recogn|summar|organ|serial|vector|visual
        |factor|markov|penal|character|categor|emphas|memor|synchron|standard|util|real
        |rational|final|neutral|marginal|visual|local|symbol)iz(?:e|ed|es|er|ers|ing|ation|ations)
      | analyz\w* | (?:un)?color(?:s|ed|ing|ful)? | (?:mis)?behavior\w* | neighbor\w* | favor\w*
      | center(?:s|ed|ing)? | labor | honor\w* | catalog(?:s|ed)? | gray(?:s|ed)?
      | (?:un|re|mis)?label(?:ed|ing|er) | model(?:ed|ing|er) | travel(?:ed|ing) | cancel(?:ed|ing)
      | signal(?:ed|ing) | artifact\w* | defense
    )(?![a-z])"""
)
SECRETS = re.compile(
    r"""(?ix) \b(?:todo|fixme|xxx)\b | /work/ | /root/ | /tmp/ | \b(?:issue|session)\s*\#?\d
      | shared/(?:papers|design|style|users|findings|derivations|inputs)
      | pypi\.org | pythonhosted | npmjs | deb\.debian"""
)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|<[^>\n]*>|\]\([^)]*\)", re.MULTILINE | re.DOTALL)

FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", "validation", ".ci")
SUFFIXES = {".py", ".md", ".toml", ".sh", ".cff", ".bib"}
TEXTS = sorted(
    path
    for folder in (*FOLDERS, ".")
    for path in (ROOT / folder).glob("*" if folder == "." else "**/*")
    if (path.suffix in SUFFIXES or path.name in {"Makefile", "run"})
    and path.is_file()
    and "__pycache__" not in path.parts
    and path != Path(__file__).resolve()
)


def prose_of(path: Path) -> list[str]:
    """Docstrings, comments and the names that a file defines; all of a page but its code."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return CODE.sub(" ", text).splitlines() if path.suffix == ".md" else []
    found = [line.split("#", 1)[1] for line in text.splitlines() if re.search(r"(^|\s)# ", line)]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            found.extend(CODE.sub(" ", ast.get_docstring(node) or "").splitlines())
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.append(re.sub(r"_|(?<=[a-z])(?=[A-Z])", " ", node.name))
        if isinstance(node, ast.arg):
            found.append(node.arg.replace("_", " "))
    return found


def test_spelling_is_british():
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in TEXTS
        if path.name != "bibliography.md"  # titles are spelt as they are
        for line in prose_of(path)
        if AMERICAN.search(line)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "american"),
    [
        ("it is normalized", True),
        ("it is normalised", False),
        ("the neighbors", True),
        ("a modeled labeling", True),
        ("a modelled labelling", False),
        ("colour, centre, realise", False),
        ("size, prize, seizing", False),
    ],
)
def test_spelling_list_tells_them_apart(text, american):
    assert bool(AMERICAN.search(text)) is american


def test_texts_refer_to_nothing_outside_the_project():
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in TEXTS
        if path.suffix != ".bib"
        for line in path.read_text("utf-8").splitlines()
        if SECRETS.search(line)
    ]
    assert wrong == []
