"""The language of the project: British spelling, plain words, and no reference to anything else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

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
# Words of a translation, where a standard term or a plain verb says it better.
WORDY = re.compile(
    r"""(?ix) (?<![a-z-])(?:
      told | tell(?:s|ing)? | sa(?:id|ys|ying) | ask(?:s|ed|ing)  # report, print, query, request
      | stands?(?!\sfor\b|-) | stood | lies?(?!\s(?:between|within|on|in|inside|outside)\b)
      | wants | wanted                                      # requires, needs; requested
      | nobody | somebody | whoever | whomever              # users, processes
      | lest | for\swant\sof | be\sit | in\s(?:the\s)?place\sof | such\sas\sare
      | (?:be|is|are)\shad | in\slots | in\spieces          # available; in batches, in chunks
      | tak(?:es?|ing)\sno\snotice | amiss | mend(?:s|ed|ing)?   # ignore; wrong; fix
      | parted\sby | whence | where(?:of|in) | there(?:of|in) | thence | hitherto | n[ao]ught
      | comes?\s(?:out|in) | came\s(?:out|in) | goes\s(?:out|in)
      | for\sever | for\sitself\salone | at\shand
      | verbs?\sof\sits\sown | eigentree\sverb | a\sverb's\s(?:file|help|options)
    )(?![a-z-])"""
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
        if path.name != "hatch_build.py"  # hatchling names the methods
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
def test_spelling_list_separates_them(text, american):
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


# Sentences of examples.
EXAMPLES = re.compile(r"(?i)she said|nobody has opened it")


def literals_of(path: Path) -> list[str]:
    """The text of a module that users may see: string literals of more than a word."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    values = (node.value for node in nodes if isinstance(node, ast.Constant))
    texts = [value for value in values if isinstance(value, str) and " " in value]
    return [line for text in texts for line in CODE.sub(" ", text).splitlines()]


def wordy_lines(path: Path) -> list[str]:
    """The lines of a file that have a word of the list."""
    if path.suffix == ".py":
        lines = prose_of(path) + literals_of(path)
    elif path.suffix == ".md":
        lines = prose_of(path)
    else:
        lines = path.read_text("utf-8").splitlines()
    return sorted({line.strip() for line in lines if WORDY.search(EXAMPLES.sub("", line))})


SEEN_BY_USERS = sorted(
    path
    for pattern in ("src/**/*", "docs/**/*", "examples/**/*", "README.md", "CHANGELOG.md")
    for path in ROOT.glob(pattern)
    if path.suffix in {".py", ".md", ".js", ".html", ".jinja", ".toml", ".sh", ".css"}
    and path.name not in {"bibliography.md"}
    and not {"__pycache__", "_build"} & set(path.parts)
)


@pytest.mark.parametrize(
    ("text", "wordy"),
    [
        ("others are told of the error", True),
        ("the error is reported", False),
        ("surprisal wants at least one word", True),
        ("use it if you want to", False),
        ("MBR stands for minimum Bayes risk", False),
        ("the row stands first", True),
        ("values lie between 0 and 1", False),
    ],
)
def test_list_of_words_separates_them(text, wordy):
    assert bool(WORDY.search(text)) is wordy


def test_words_are_plain():
    wrong = {
        str(path.relative_to(ROOT)): lines for path in SEEN_BY_USERS if (lines := wordy_lines(path))
    }
    assert wrong == {}
