"""The verb ``draw``."""

import io
import sys

import pytest

from eigentree.cli import app

TREES = "( (S (NP-SBJ (NN ice)) (VP (VBZ melts))))\n(())\n(NP (NN snow))\n"


def run(*arguments):
    with pytest.raises(SystemExit, match=r"^\d*$") as leaving:
        app.main(arguments)
    return leaving.value.code


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(TREES)
    return str(path)


def test_text_of_each_tree(trees, capsys):
    assert run("draw", trees, "--style", "indented") == 0
    assert capsys.readouterr().out == (
        "· ─ S\n├─ NP-SBJ ─ NN ice\n└─ VP ─ VBZ melts\n\n(no parse)\n\nNP ─ NN snow\n"
    )


def test_clean_tree_with_ascii_lines(trees, capsys):
    assert run("draw", trees, "--only", "1", "--clean", "--ascii", "--width", "20") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].strip() == "S"
    assert "NP-SBJ" not in out
    assert set(out) <= set(" \n|-+SNPVBZicemlts")


def test_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"(NP (NN snow))")))
    assert run("draw") == 0
    assert capsys.readouterr().out == " NP\n  │\n NN\nsnow\n"


def test_svg_by_the_name_of_the_output(trees, tmp_path, capsys):
    target = tmp_path / "trees.svg"
    assert run("draw", trees, "-o", str(target)) == 0
    assert target.read_text("utf-8").startswith("<?xml")
    assert run("draw", trees, "--output-format", "svg") == 0
    assert capsys.readouterr().out == target.read_text("utf-8")


def test_malformed_tree(tmp_path, capsys):
    path = tmp_path / "bad.mrg"
    path.write_text("(NP (NN ice))\n(NP (NN snow)\n")
    assert run("draw", str(path), "--style", "indented") == 2
    assert "bad.mrg:2" in capsys.readouterr().err
    assert run("draw", str(path), "--style", "indented", "--on-error", "skip") == 0
    told = capsys.readouterr()
    assert told.out == "NP ─ NN ice\n"
    assert "bad.mrg:2" in told.err


def test_tree_that_is_not_there(trees, capsys):
    assert run("draw", trees, "--only", "4") == 2
    assert "has 3 trees; there is no tree 4" in capsys.readouterr().err


def test_trees_are_never_replaced_by_their_drawing(trees, capsys):
    assert run("draw", trees, "-o", trees) == 2
    assert "is an input file, so it can't be written" in capsys.readouterr().err
    with open(trees) as file:
        assert file.read() == TREES


EXPORT = "#BOS 1\nice\tNN\t--\tSB\t500\nmelts\tVVFIN\t--\tHD\t500\n#500\tS\t--\t--\t0\n#EOS 1\n"


@pytest.mark.parametrize("start", ["", "%% a comment\n\n", "#FORMAT 3\n"])
def test_export_files_are_recognised_by_their_start(tmp_path, capsys, start):
    path = tmp_path / "trees.export"
    path.write_text(start + EXPORT)
    assert run("draw", str(path), "--style", "indented") == 0
    assert capsys.readouterr().out == "VROOT ─ S\n├─ NN-SB ice\n└─ VVFIN-HD melts\n"
    assert run("draw", str(path), "--style", "indented", "--clean") == 0
    assert capsys.readouterr().out == "S\n├─ NN ice\n└─ VVFIN melts\n"


def test_a_bad_byte_costs_one_drawing(tmp_path, capsys):
    path = tmp_path / "bytes.mrg"
    path.write_bytes(b"(NP (NN ice))\n(NP (NN caf\xe9))\n(NP (NN snow))\n")
    assert run("draw", str(path), "--style", "indented", "--on-error", "skip") == 0
    out, err = capsys.readouterr()
    assert out == "NP ─ NN ice\n\nNP ─ NN snow\n"
    assert f"{path}:2:12: byte 0xe9 is not UTF-8" in err


# Pictures, LaTeX and dependencies ---------------------------------------------------------


CONLLU = (
    "# sent_id = 1\n1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tice\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
    "3\tmelts\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    "1\tsnow\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tfalls\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
)


@pytest.fixture
def conllu(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text(CONLLU)
    return str(path)


def test_text_of_dependencies(conllu, capsys):
    assert run("draw", conllu) == 0
    assert capsys.readouterr().out == (
        "┌─▶ 1  the    DET   2  det\n├─▶ 2  ice    NOUN  3  nsubj\n└─▶ 3  melts  VERB  0  root\n"
        "\n┌─▶ 1  snow   NOUN  2  nsubj\n└─▶ 2  falls  VERB  0  root\n"
    )
    assert run("draw", conllu, "--only", "2", "--ascii") == 0
    assert capsys.readouterr().out == (
        "+-> 1  snow   NOUN  2  nsubj\n+-> 2  falls  VERB  0  root\n"
    )
    assert run("draw", conllu, "--only", "3") == 2
    assert "has 2 sentences; there is no sentence 3" in capsys.readouterr().err


def test_dependencies_from_standard_input(monkeypatch, capsys):
    # Their form is known by what they look like.
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONLLU.encode())))
    assert run("draw", "--output-format", "svg") == 0
    assert capsys.readouterr().out.count("marker-end") == 5


def test_malformed_dependencies(tmp_path, capsys):
    path = tmp_path / "bad.conllu"
    path.write_text(CONLLU + "1\ta\t_\t_\t_\t_\t7\tx\t_\t_\n")
    assert run("draw", str(path)) == 2
    assert "bad.conllu:9" in capsys.readouterr().err
    assert run("draw", str(path), "--on-error", "skip") == 0
    told = capsys.readouterr()
    assert told.out.count("nsubj") == 2
    assert "bad.conllu:9" in told.err


@pytest.mark.parametrize("fixture", ["trees", "conllu"])
def test_png_by_the_name_of_the_output(fixture, request, tmp_path, capsys):
    target = tmp_path / "it.png"
    assert run("draw", request.getfixturevalue(fixture), "-o", str(target), "--scale", "1") == 0
    small = target.read_bytes()
    assert small.startswith(b"\x89PNG")
    assert (
        run("draw", request.getfixturevalue(fixture), "--output-format", "png", "-o", str(target))
        == 0
    )
    assert len(target.read_bytes()) > len(small)
    assert capsys.readouterr().out == ""


def test_latex_by_name_and_by_format(trees, conllu, tmp_path, capsys):
    target = tmp_path / "it.tex"
    assert run("draw", trees, "-o", str(target)) == 0
    assert target.read_text().count("\\begin{forest}") == 2
    assert run("draw", conllu, "-o", str(target)) == 0
    assert target.read_text().count("\\begin{dependency}") == 2
    assert run("draw", trees, "--output-format", "latex-qtree", "--fragment", "--only", "3") == 0
    assert capsys.readouterr().out == (
        "% requires \\usepackage{tikz-qtree}\n\\begin{tikzpicture}\n"
        "\\Tree [.{NP}\n  [.{NN} {snow} ] ]\n\\end{tikzpicture}\n"
    )


@pytest.mark.parametrize(
    ("fixture", "options", "told"),
    [
        ("conllu", ["--output-format", "latex-forest"], "latex-forest requires bracketed trees"),
        ("trees", ["--output-format", "latex-dependency"], "requires CoNLL-U; the input"),
        ("trees", ["--fragment"], "--fragment is for LaTeX, but the output format is text"),
        ("conllu", ["--clean"], "--clean and --style are for bracketed trees"),
        ("trees", ["--scale", "1000", "-o", "it.png"], "is too large for PNG"),
        ("trees", ["-o", "it.PDF"], "it.PDF: unsupported picture format; name it .svg, .png or"),
    ],
)
def test_options_that_do_not_go_together(
    fixture, options, told, request, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert run("draw", request.getfixturevalue(fixture), *options) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "it.png").exists()
