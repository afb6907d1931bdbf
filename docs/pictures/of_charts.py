"""Pictures of charts: over spans, from left to right, and in Kruskal form."""

from __future__ import annotations

from collections.abc import Sequence

import canvas as draw
import numpy as np
from canvas import Canvas, draw_tree
from of_grammars import DEMO

from eigentree import Parser, TrainingOptions, Tree, parse_tree, read_treebank
from eigentree.constituency.learn.decomposition import DecompositionOptions, decompose_grammar

CELL = 62.0
STARS = [
    (3, "(S (NP (N she)) (VP (V saw) (NP (N stars))))"),
    (2, "(S (NP (N she)) (VP (VP (V saw) (NP (N stars))) (PP (P with) (NP (N telescopes)))))"),
    (1, "(S (NP (N she)) (VP (V saw) (NP (NP (N stars)) (PP (P with) (NP (N telescopes))))))"),
]


def grammar_of(counted: Sequence[tuple[int, str]]) -> Parser:
    """The plain grammar of weighted trees."""
    trees = [parse_tree(text) for times, text in counted for _ in range(times)]
    settings = TrainingOptions(tagger=False)
    return Parser.train(trees, method="pcfg", settings=settings)


def parsing() -> Canvas:
    """A chart of marginals over the spans of a sentence with two trees."""
    picture = Canvas(
        "A chart: a cell for each span of a sentence, with the labels over it and their "
        "marginals. Two trees share most cells; where they differ, each has its probability."
    )
    words = ["she", "saw", "stars", "with", "telescopes"]
    result = grammar_of(STARS).parse(words, ["N", "V", "N", "P", "N"], marginals=1e-6, kbest=2)
    n = len(words)

    def corner(start: int, end: int) -> tuple[float, float]:
        """The middle of the cell of a span."""
        return CELL * (start + end) / 2, CELL * (n - (end - start)) * 0.82

    best = {(one.label, one.start, one.end) for one in result.brackets}
    over: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for one in result.marginals:
        over.setdefault((one.start, one.end), []).append((one.label, one.marginal))
    for width in range(1, n + 1):
        for start in range(n - width + 1):
            x, y = corner(start, start + width)
            here = over.get((start, start + width), [])
            half, tall = CELL / 2, CELL * 0.82
            is_best = any((label, start, start + width) in best for label, _ in here)
            fill = draw.BLUE_FILL if is_best else draw.ORANGE_FILL if here else "#ffffff"
            picture.area(
                (x, y - tall),
                (x + half, y),
                (x, y + tall),
                (x - half, y),
                fill=fill,
                colour=draw.LINE,
            )
            for place, (label, marginal) in enumerate(here):
                colour = draw.BLUE if is_best else draw.ORANGE
                y_text = y - 2 + 26 * place - 13 * (len(here) - 1)
                picture.text(x, y_text, label, bold=True, colour=colour)
                picture.text(x, y_text + 14, f"{marginal:.2f}", size=12, colour=colour)
    bottom = CELL * n * 0.82
    for place, word in enumerate(words):
        picture.text(CELL * (place + 0.5), bottom + 26, word, size=12)
        picture.text(CELL * place, bottom + 4, str(place), size=11, colour=draw.FAINT)
    picture.text(CELL * n, bottom + 4, str(n), size=11, colour=draw.FAINT)
    for place, (colour, alternative) in enumerate(
        zip((draw.BLUE, draw.ORANGE), result.alternatives, strict=True)
    ):
        own = alternative.probability
        left, top = 366, 12 + 196 * place

        def of_this(number: int, tree: Tree = alternative.tree, colour: str = colour) -> str:
            return colour if number in differing(tree) else draw.INK

        draw_tree(picture, alternative.tree, left, top, level=33, gap=8, colour=of_this)
        picture.text(left + 190, top, f"probability {own:.2f}", at="start", size=12, colour=colour)
    return picture


def differing(tree: Tree) -> set[int]:
    """The nodes of the phrase that only one of the two trees has."""
    nodes = list(tree.nodes())
    wanted = [
        number
        for number, node in enumerate(nodes)
        if node.children and node.words() in (["saw", "stars"], ["stars", "with", "telescopes"])
    ]
    return set(wanted)


READINGS = [
    (60, "(S (NP (D the) (A old) (N man)) (VP (V slept)))"),
    (40, "(S (NP (D the) (N man)) (VP (V saw) (NP (D the) (N boats))))"),
    (40, "(S (NP (D the) (A old) (N boats)) (VP (V slept)))"),
    (6, "(S (NP (D the) (N old)) (VP (V man) (NP (D the) (N boats))))"),
]


def prefix() -> Canvas:
    """Surprisal of each word of a garden path sentence, and the probabilities of its readings."""
    picture = Canvas(
        "Surprisal in bits over the words of: the old man the boats. It is high at the second the, "
        "where the reading in which man is a noun breaks down."
    )
    parser = grammar_of(READINGS)
    words = ["the", "old", "man", "the", "boats"]
    found = parser.surprisal(words)
    readings = [
        ["D", "A", "N", "D", "N"],
        ["D", "N", "V", "D", "N"],
    ]
    shares = np.exp([parser.surprisal(words, tags).log_prefix[1:6] for tags in readings])
    shares = shares / shares.sum(axis=0)
    base, step, scale = 150.0, 96.0, 20.0
    for place, (word, bits) in enumerate(zip([*words, "(end)"], found.bits, strict=True)):
        x = step * place
        height = scale * float(bits)
        picture.box(x, base - height, 56, height, fill=draw.GREEN_FILL, colour=draw.GREEN)
        picture.text(x + 28, base - height - 7, f"{bits:.1f}", size=12, colour=draw.GREEN)
        picture.text(
            x + 28, base + 20, word, bold=place < 5, colour=draw.TEXT if place < 5 else draw.FAINT
        )
        if 0 < place < 5:
            top = base + 36
            first = 70 * float(shares[0, place])
            picture.box(x, top, 56, first, fill=draw.BLUE_FILL, colour=draw.BLUE)
            picture.box(x, top + first, 56, 70 - first, fill=draw.ORANGE_FILL, colour=draw.ORANGE)
    picture.line((-14, base), (step * 6 - 26, base))
    picture.text(-24, base - 40, "surprisal,", at="end", size=12, colour=draw.GREEN)
    picture.text(-24, base - 24, "bits", at="end", size=12, colour=draw.GREEN)
    picture.text(-24, base + 58, "readings of", at="end", size=12, colour=draw.FAINT)
    picture.text(-24, base + 74, "the prefix", at="end", size=12, colour=draw.FAINT)
    picture.text(0, base + 132, "the old man: a noun phrase", at="start", size=12, colour=draw.BLUE)
    picture.text(
        240,
        base + 132,
        "the old: a noun phrase; man: its verb",
        at="start",
        size=12,
        colour=draw.ORANGE,
    )
    return picture


def cube(picture: Canvas, x: float, y: float, side: float, name: str) -> None:
    """A cube seen from its front and upper right."""
    deep = 0.38 * side
    picture.area(
        (x, y),
        (x + deep, y - deep),
        (x + side + deep, y - deep),
        (x + side, y),
        fill="#f6f7f9",
        colour=draw.LINE,
    )
    picture.area(
        (x + side, y),
        (x + side + deep, y - deep),
        (x + side + deep, y + side - deep),
        (x + side, y + side),
        fill="#e4e7ec",
        colour=draw.LINE,
    )
    picture.box(x, y, side, side, fill=draw.GREY_FILL, colour=draw.LINE)
    for across, down in (
        (0.15, 0.2),
        (0.6, 0.12),
        (0.36, 0.45),
        (0.78, 0.55),
        (0.2, 0.76),
        (0.56, 0.82),
    ):
        picture.box(x + across * side, y + down * side, 7, 7, fill=draw.INK)
    picture.text(x + side / 2, y + side + 20, name, bold=True)


def outer(
    picture: Canvas, x: float, y: float, side: float, number: str, strong: str = "uvw"
) -> None:
    """Three vectors whose outer product is a cube: down, across and into the page."""
    colours = {
        "u": (draw.BLUE, draw.BLUE_FILL),
        "v": (draw.ORANGE, draw.ORANGE_FILL),
        "w": (draw.GREEN, draw.GREEN_FILL),
    }
    faint = (draw.LEADER, "#ffffff")
    deep = 0.38 * side
    u, v, w = (colours[each] if each in strong else faint for each in "uvw")
    picture.box(x, y, 12, side, fill=u[1], colour=u[0])
    picture.box(x + 18, y, side, 12, fill=v[1], colour=v[0])
    picture.area(
        (x + 6, y - 6),
        (x + 6 + deep, y - 6 - deep),
        (x + 18 + deep, y - 6 - deep),
        (x + 18, y - 6),
        fill=w[1],
        colour=w[0],
    )
    for letter, at, colour in (
        ("u", (x + 6, y + side + 16), u),
        ("v", (x + 18 + side / 2, y + 30), v),
        ("w", (x + 26 + deep, y - deep - 2), w),
    ):
        shown = colour[0] if colour is not faint else draw.FAINT
        picture.text(*at, letter + number, size=12, colour=shown)


def kruskal() -> Canvas:
    """A tensor as a sum of outer products, and its use at a split point."""
    picture = Canvas(
        "The tensor of all rules is a sum of outer products of three vectors. In the chart the "
        "projections of both children are multiplied element by element, summed over split points, "
        "and only then mapped to a vector of symbols."
    )
    cube(picture, 0, 40, 84, "T[a, b, c] = p(a → b c)")
    picture.text(152, 90, "≈", size=20)
    for place, number in enumerate("₁₂"):
        x = 196 + 158 * place
        picture.text(x - 12, 90, f"λ{number}", size=14)
        outer(picture, x, 44, 84, number)
        picture.text(x + 122, 90, "+", size=18)
    picture.text(500, 90, "…", size=18)
    picture.text(524, 90, "+", size=18)
    picture.text(550, 90, "λᵣ", size=14)
    outer(picture, 564, 44, 84, "ᵣ")

    top = 238.0
    picture.text(
        0, top - 40, "A span from i to j, split at k", at="start", bold=True, colour=draw.INK
    )

    def vector(x: float, y: float, size: int, fill: str, colour: str, name: str) -> None:
        picture.cells(x, y, [[fill]] * size, side=14, colour=colour)
        picture.text(x + 7, y + 14 * size + 16, name, size=12)

    vector(10, top, 8, draw.GREY_FILL, draw.LINE, "inside(i, k)")
    picture.line((36, top + 40), (84, top + 40), colour=draw.ORANGE, arrow=True)
    picture.text(60, top + 32, "V′", size=12, colour=draw.ORANGE)
    vector(96, top + 14, 4, draw.ORANGE_FILL, draw.ORANGE, "left")
    picture.text(134, top + 48, "∗", size=18)
    vector(158, top + 14, 4, draw.GREEN_FILL, draw.GREEN, "right")
    picture.line((230, top + 40), (182, top + 40), colour=draw.GREEN, arrow=True)
    picture.text(206, top + 32, "W′", size=12, colour=draw.GREEN)
    vector(244, top, 8, draw.GREY_FILL, draw.LINE, "inside(k, j)")
    picture.text(316, top + 48, "Σ over k,  λ", size=13)
    picture.line((366, top + 42), (400, top + 42), arrow=True)
    vector(414, top + 14, 4, draw.BLUE_FILL, draw.BLUE, "r numbers")
    picture.line((442, top + 42), (498, top + 42), colour=draw.BLUE, arrow=True)
    picture.text(470, top + 34, "U", size=12, colour=draw.BLUE)
    vector(512, top, 8, draw.GREY_FILL, draw.LINE, "inside(i, j)")
    picture.note(
        566, top + 20, "r multiplications", "per split point,", "for any number", "of rules"
    )
    return picture


def decomposition() -> Canvas:
    """The steps of an iteration, and the error by rank."""
    picture = Canvas(
        "Three mode updates: each improves one factor with the others fixed. Below, the "
        "error of three methods decreases as the rank grows."
    )
    for place, (strong, name) in enumerate((("u", "A"), ("v", "B"), ("w", "C"))):
        x = 20 + 200 * place
        outer(picture, x, 44, 70, "ₖ", strong)
        picture.text(x + 44, 150, f"factor {name} is improved", size=12)
        if place < 2:
            picture.line((x + 132, 74), (x + 180, 74), arrow=True)
    picture.arc((464, 160), (64, 160), -34, arrow=True)
    picture.text(264, 214, "until convergence", size=12, colour=draw.FAINT)

    grammar = Parser.train(
        read_treebank(DEMO).trees, method="pcfg", settings=TrainingOptions(tagger=False)
    ).grammar
    ranks = (5, 10, 20, 40, 80)
    left, base, width, height = 40.0, 440.0, 330.0, 170.0

    def place_of(rank: float, error: float) -> tuple[float, float]:
        return left + width * np.log2(rank / 5) / 4, base - height * error

    picture.line((left - 10, base), (left + width + 10, base))
    picture.line((left - 10, base), (left - 10, base - height - 8))
    for rank in ranks:
        picture.text(place_of(rank, 0)[0], base + 18, str(rank), size=12)
    for error in (0.0, 0.5, 1.0):
        picture.text(left - 16, base - height * error + 4, f"{error:g}", at="end", size=12)
    picture.text(left + width / 2, base + 36, "rank r", size=12, colour=draw.FAINT)
    picture.text(
        left - 34,
        base - height - 20,
        "relative error |T - K| / |T|",
        at="start",
        size=12,
        colour=draw.FAINT,
    )
    kinds = [
        ("apr", draw.BLUE, "non-negative, divergence (default)"),
        ("hals", draw.ORANGE, "non-negative, squared error"),
        ("als", draw.GREEN, "signed, squared error"),
    ]
    for number, (method, colour, meaning) in enumerate(kinds):
        points = []
        for rank in ranks:
            options = DecompositionOptions(rank=rank, method=method, iterations=30)
            report = decompose_grammar(grammar, options, seed=1)[1]
            points.append(place_of(rank, float(report["relative_error"])))
        picture.line(*points, colour=colour, width=1.8)
        for point in points:
            picture.dot(*point, 3, fill=colour)
        y = base - height + 6 + 40 * number
        picture.line((400, y - 4), (424, y - 4), colour=colour, width=1.8)
        picture.dot(412, y - 4, 3, fill=colour)
        picture.text(432, y, method, at="start", bold=True, colour=colour)
        picture.note(432, y + 16, meaning)
    picture.note(
        400,
        base - 30,
        f"{len(grammar.backbone.parent)} rules of the bundled treebank,",
        "30 iterations",
    )
    return picture
