"""Pictures of automata, dependency trees, words, brackets without a treebank, and ensembles."""

from __future__ import annotations

import math
from itertools import pairwise

import canvas as draw
import numpy as np
from canvas import Canvas
from of_grammars import DEMO

from eigentree import read_treebank
from eigentree.bracketing.chart.minimum_evolution import minimum_evolution
from eigentree.bracketing.learn.ccm import learn_constituent_context
from eigentree.dependency.head_automata import LEFT, RIGHT
from eigentree.simulation import clause_automata
from eigentree.tokenisation import TokenisationScheme, tokenise
from eigentree.words.brown import BrownOptions, learn_brown

# The sequences of the page on learning from them.
DOORS = [
    "knock open close",
    "open knock close open knock knock close",
    "open close",
    "knock knock open knock close open close",
    "open knock close",
    "open close open knock knock knock close",
    "knock open close open close",
]
PENN_PUNCTUATION = {",", ".", ":", "``", "''", "-LRB-", "-RRB-"}


def constituents() -> Canvas:
    """Marginals of the spans of a sentence of tags, trained on the bundled treebank."""
    picture = Canvas(
        "A chart of a sentence of tags: the shade of a span is its marginal. One span is "
        "marked with its yield, the tags in it, and its context, the adjacent tags."
    )
    trees = read_treebank(DEMO).trees
    text = [[tag for tag in tree.tags() if tag not in PENN_PUNCTUATION] for tree in trees]
    model = learn_constituent_context(text)
    words = ["the", "girl", "saw", "a", "small", "dog"]
    tags = ["DT", "NN", "VBD", "DT", "JJ", "NN"]
    marginals = model.marginals(tags)
    n, side = len(tags), 62.0
    for width in range(2, n + 1):
        for start in range(n - width + 1):
            value = float(marginals[start, start + width])
            x, y = side * (start + width / 2), side * 0.82 * (n - width)
            half, tall = side / 2, side * 0.82
            picture.area(
                (x, y - tall),
                (x + half, y),
                (x, y + tall),
                (x - half, y),
                fill=shade(value),
                colour=draw.LINE,
            )
            picture.text(x, y + 4, f"{value:.2f}", colour=draw.INK, bold=value > 0.5)
    bottom = side * 0.82 * (n - 1)
    for place, (word, tag) in enumerate(zip(words, tags, strict=True)):
        x = side * (place + 0.5)
        is_in, is_beside = place >= 3, place == 2
        colour = draw.BLUE if is_in else draw.ORANGE if is_beside else draw.FAINT
        picture.text(x, bottom + 16, tag, bold=True, colour=colour)
        picture.text(x, bottom + 34, word, size=12, colour=draw.FAINT)
    picture.text(side * n + 22, bottom + 16, "#", bold=True, colour=draw.ORANGE)
    picture.line(
        (3 * side + 6, bottom + 44), (6 * side - 6, bottom + 44), colour=draw.BLUE, width=2
    )
    left = 400.0
    picture.text(left, 40, "The span of “a small dog” has", at="start")
    picture.text(left, 66, "the yield DT JJ NN", at="start", bold=True, colour=draw.BLUE)
    picture.text(left, 90, "the context VBD … #", at="start", bold=True, colour=draw.ORANGE)
    picture.note(
        left,
        120,
        "It is probable if this yield, or what is",
        "in this context, is a constituent in",
        "other sentences. Marginals are sums",
        "over all binary trees.",
    )
    return picture


def shade(value: float) -> str:
    """A tint of blue, the darker the larger a number from 0 to 1."""
    white, blue = (255, 255, 255), (150, 196, 236)
    mixed = (round(a + (b - a) * value) for a, b in zip(white, blue, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def heads() -> Canvas:
    """A dependency tree, and the automata that read the modifiers of two of its heads."""
    picture = Canvas(
        "A dependency tree over: the old dog saw it. Below, two automata: one reads the modifiers "
        "to the left of a noun, outwards; the other those to the right of a verb."
    )
    words = ["the", "old", "dog", "saw", "it", "."]
    tags = ["DET", "ADJ", "NOUN", "VERB", "PRON", "PUNCT"]
    parents = (3, 3, 4, 0, 4, 4)
    automata = clause_automata()
    xs = [70.0 + 92 * place for place in range(6)]
    base = 128.0
    for place, (word, tag) in enumerate(zip(words, tags, strict=True)):
        picture.text(xs[place], base + 18, word, bold=True)
        picture.text(xs[place], base + 36, tag, size=12, colour=draw.FAINT)
        parent = parents[place] - 1
        if parent < 0:
            picture.line((xs[place], 8), (xs[place], base - 2), arrow=True)
            picture.text(xs[place] + 10, 18, "root", at="start", size=12, colour=draw.FAINT)
            continue
        colour = draw.BLUE if parent == 2 else draw.ORANGE if place > parent else draw.LINE
        shift = 7 if place < parent else -7
        picture.arc(
            (xs[parent] - shift, base),
            (xs[place], base),
            26 + 26 * abs(parent - place),
            colour=colour,
            width=1.6,
            arrow=True,
        )

    def state(x: float, y: float, colour: str, fill: str, stop: float) -> None:
        picture.dot(x, y, 19, fill=fill, colour=colour)
        picture.text(x, y + 4, f"{stop:.1f}", size=12, colour=colour)

    def step(
        start: tuple[float, float], end: tuple[float, float], height: float, label: str, colour: str
    ) -> None:
        picture.arc(start, end, height, colour=colour, arrow=True)
        middle = (start[1] + end[1]) / 2 - height
        picture.text(
            (start[0] + end[0]) / 2,
            middle + (-6 if height >= 0 else 15),
            label,
            size=12,
            colour=colour,
        )

    y = 290.0
    left, right = automata.automaton("NOUN", LEFT), automata.automaton("VERB", RIGHT)
    picture.text(0, 206, "left of NOUN, outwards", at="start", bold=True, colour=draw.BLUE)
    stops = [float(value) for value in left.final]
    state(40, y, draw.BLUE, draw.BLUE_FILL, stops[0])
    state(200, y, draw.BLUE, draw.BLUE_FILL, stops[1])
    picture.line((0, y), (19, y), colour=draw.BLUE, arrow=True)
    step(
        (60, y),
        (179, y),
        0,
        f"DET {left.operators[left.symbols.index('DET')][1, 0]:.1f}",
        draw.BLUE,
    )
    step(
        (30, y - 18),
        (50, y - 18),
        26,
        f"ADJ {left.operators[left.symbols.index('ADJ')][0, 0]:.1f}",
        draw.BLUE,
    )
    log_value = left.value(["ADJ", "DET"])[0]
    picture.note(0, y + 52, f"reads old, the, stops: {math.exp(log_value):.2f}")

    picture.text(320, 206, "right of VERB, outwards", at="start", bold=True, colour=draw.ORANGE)
    stops = [float(value) for value in right.final]
    for x, stop in zip((360, 540, 700), stops, strict=True):
        state(x, y, draw.ORANGE, draw.ORANGE_FILL, stop)
    picture.line((320, y), (339, y), colour=draw.ORANGE, arrow=True)
    first = ", ".join(
        f"{tag} {right.operators[right.symbols.index(tag)][1, 0]:.1f}" for tag in ("NOUN", "PRON")
    )
    step((380, y), (519, y), 0, first, draw.ORANGE)
    picture.text(
        450,
        y + 16,
        f"ADP {right.operators[right.symbols.index('ADP')][1, 0]:.1f}",
        size=12,
        colour=draw.ORANGE,
    )
    step(
        (520, y - 18),
        (540, y - 18),
        26,
        f"ADP {right.operators[right.symbols.index('ADP')][1, 1]:.1f}",
        draw.ORANGE,
    )
    step(
        (550, y),
        (669, y),
        0,
        f"PUNCT {right.operators[right.symbols.index('PUNCT')][2, 1]:.1f}",
        draw.ORANGE,
    )
    step(
        (370, y + 21),
        (690, y + 21),
        -26,
        f"PUNCT {right.operators[right.symbols.index('PUNCT')][2, 0]:.1f}",
        draw.ORANGE,
    )
    log_value = right.value(["PRON", "PUNCT"])[0]
    picture.note(320, y + 84, f"reads it, the full stop, and stops: {math.exp(log_value):.2f}")
    picture.note(0, y + 72, "in a state: the", "probability of stopping")
    return picture


def operators() -> Canvas:
    """The value of a sequence as a product, and how operators are computed."""
    picture = Canvas(
        "The value of a sequence is a product: a row vector, a matrix for each symbol from the "
        "last to the first, and a column vector. The matrix of bigram means is the product of what "
        "follows a state and what precedes it."
    )
    fill, colour = draw.BLUE_FILL, draw.BLUE
    y, side = 40.0, 20.0
    picture.text(0, y + 36, "f(knock open close) =", at="start")
    x = 172.0
    parts = [
        ("final", 1, 3),
        ("A[close]", 3, 3),
        ("A[open]", 3, 3),
        ("A[knock]", 3, 3),
        ("initial", 3, 1),
    ]
    for name, rows, columns in parts:
        top = y + side * (3 - rows) / 2
        is_vector = 1 in (rows, columns)
        picture.cells(
            x,
            top,
            [[draw.GREY_FILL if is_vector else fill] * columns] * rows,
            side=side,
            colour=draw.LINE if is_vector else colour,
        )
        picture.text(x + side * columns / 2, y + 80, name, size=12)
        x += side * columns + 34
    picture.line((x - 8, y - 18), (172, y - 18), colour=draw.FAINT, arrow=True)
    picture.text((x + 164) / 2, y - 26, "read from here", size=12, colour=draw.FAINT)

    y = 222.0
    names = ["#", "knock", "open", "close"]
    follows = np.zeros((4, 4))
    for sequence in DOORS:
        for before, after in pairwise(["#", *sequence.split(), "#"]):
            follows[names.index(after), names.index(before)] += 1
    picture.text(0, y - 44, "means of pairs", at="start", bold=True, colour=draw.INK)
    picture.text(96 + 2 * 24, y - 28, "a", size=12, italic=True)
    picture.text(36, y + 52, "b", size=12, italic=True)
    for row, name in enumerate(names):
        picture.text(90, y + 17 + 24 * row, name, at="end", size=12)
        for column in range(4):
            value = follows[row, column] / follows.max()
            picture.box(96 + 24 * column, y + 24 * row, 24, 24, fill=shade(value), colour=draw.LINE)
        picture.text(108 + 24 * row, y - 8, name[:2], size=12)
    picture.text(144, y + 118, "P[b, a]", size=12)
    picture.text(218, y + 54, "=", size=18)
    picture.cells(244, y, [[draw.ORANGE_FILL] * 3] * 4, side=24, colour=draw.ORANGE)
    picture.text(280, y + 118, "B: next symbol", size=12, colour=draw.ORANGE)
    picture.text(280, y + 134, "given the state", size=12, colour=draw.ORANGE)
    picture.cells(340, y + 12, [[draw.GREEN_FILL] * 4] * 3, side=24, colour=draw.GREEN)
    picture.text(400, y + 118, "F: state given", size=12, colour=draw.GREEN)
    picture.text(400, y + 134, "the last symbol", size=12, colour=draw.GREEN)
    picture.text(474, y + 16, "and with x in between", at="start")
    picture.text(474, y + 42, "Pₓ = B A[x] F", at="start", bold=True, colour=draw.INK)
    picture.text(474, y + 68, "so from P = U diag(s) V′", at="start")
    picture.text(474, y + 94, "A[x] = U′ Pₓ V diag(1/s)", at="start", bold=True, colour=draw.BLUE)
    return picture


def lexical() -> Canvas:
    """Weights of the back-off levels, and the states of a product."""
    picture = Canvas(
        "Three levels of counts, from a word with its tag to all tags. Each takes a share of what "
        "the finer ones leave, by its count and its number of outcomes."
    )
    levels = [
        ("saw, VERB, right, first modifier", 20, 3, draw.BLUE, draw.BLUE_FILL),
        ("VERB, right, first modifier", 400, 6, draw.ORANGE, draw.ORANGE_FILL),
        ("all tags equally", 1, 0, draw.GREEN, draw.GREEN_FILL),
    ]
    picture.text(
        0,
        0,
        "p(tag of the modifier | head, direction, state)",
        at="start",
        bold=True,
        colour=draw.INK,
    )
    rest, x = 1.0, 0.0
    for place, (name, seen, outcomes, colour, fill) in enumerate(levels):
        share = seen / (seen + 5 * outcomes)
        weight, y = rest * share, 30 + 56 * place
        picture.text(0, y + 4, name, at="start", colour=colour)
        note = (
            f"seen {seen} times with {outcomes} outcomes: "
            f"{seen} / ({seen} + 5 · {outcomes}) = {share:.2f}"
            if outcomes
            else "the rest"
        )
        picture.note(0, y + 22, note)
        width = 330 * weight
        picture.box(x, 196, width, 26, fill=fill, colour=colour)
        if width > 40:
            picture.text(x + width / 2, 214, f"{weight:.2f}", size=12, colour=colour)
        else:
            picture.text(x + width + 6, 214, f"{weight:.2f}", at="start", size=12, colour=colour)
        x += width
        rest -= weight
    picture.note(0, 244, "share of the probability by level")

    left = 428.0
    picture.text(left, 0, "product with latent states", at="start", bold=True, colour=draw.INK)
    names = ["first", "after CC", "after ,", "other"]
    for row, name in enumerate(names):
        picture.text(left + 64, 67 + 36 * row, name, at="end", size=12, colour=draw.BLUE)
        for column in range(3):
            x, y = left + 92 + 52 * column, 62 + 36 * row
            picture.dot(x, y, 11, fill=draw.VIOLET_FILL, colour=draw.VIOLET)
            if row == 0:
                picture.text(x, 36, f"h{'₁₂₃'[column]}", size=12, colour=draw.ORANGE)
    picture.arc((left + 103, 62), (left + 185, 162), 12, colour=draw.VIOLET, arrow=True)
    picture.note(
        left,
        206,
        "a state of the product is a pair of an",
        "observed and a latent state; reading a",
        "word changes both",
    )
    return picture


def metric() -> Canvas:
    """An unrooted tree with edge lengths, the distances, and the root."""
    picture = Canvas(
        "An unrooted tree over: the dog saw a cat. Edges have lengths; the table has the "
        "sums of lengths between words. The root may be on any edge."
    )
    words = ["the", "dog", "saw", "a", "cat"]
    lengths = {"the": 1.0, "dog": 1.4, "saw": 1.2, "a": 0.9, "cat": 1.5, "uv": 1.6, "vw": 0.8}
    place_of = {"the": 0, "dog": 0, "saw": 1, "a": 2, "cat": 2}
    inner = [0.0, lengths["uv"], lengths["uv"] + lengths["vw"]]
    distances = np.array(
        [
            [
                0.0
                if a == b
                else lengths[a] + lengths[b] + abs(inner[place_of[a]] - inner[place_of[b]])
                for b in words
            ]
            for a in words
        ]
    )
    found = minimum_evolution(distances).best(2)
    spans = {(int(start), int(end)) for start, end, _ in found.spans}
    assert spans == {(0, 5), (0, 2), (2, 5), (3, 5)}
    assert math.isclose(found.length, sum(lengths.values()))

    base, top = 196.0, 64.0
    xs = {word: 30.0 + 74 * place for place, word in enumerate(words)}
    nodes = [(67.0, 112.0), (178.0, top), (289.0, 112.0)]
    for word in words:
        node = nodes[place_of[word]]
        picture.line(node, (xs[word], base - 16), width=1.6)
        x, y = (node[0] + 2 * xs[word]) / 3, (node[1] + 2 * base - 32) / 3
        picture.text(x + 7, y, f"{lengths[word]}", at="start", size=12, colour=draw.FAINT)
        picture.text(xs[word], base, word, bold=True)
    for first, second, name, dx in ((0, 1, "uv", -12), (1, 2, "vw", 12)):
        picture.line(nodes[first], nodes[second], width=1.6)
        x = (nodes[first][0] + nodes[second][0]) / 2
        y = (nodes[first][1] + nodes[second][1]) / 2
        at = "end" if dx < 0 else "start"
        picture.text(x + dx, y - 4, f"{lengths[name]}", at=at, size=12, colour=draw.FAINT)
    for x, y in nodes:
        picture.dot(x, y, 4, fill=draw.INK)
    root = (122.5, 88.0)
    picture.line((root[0], 30), root, colour=draw.ORANGE, width=1.6, arrow=True)
    picture.text(root[0], 22, "root, before the verb", size=12, colour=draw.ORANGE)

    left, side = 432.0, 38.0
    for row, first in enumerate(words):
        picture.text(left - 8, 52 + side * row, first, at="end", size=12, bold=True)
        picture.text(left + side * (row + 0.5), 22, first, size=12, bold=True)
        for column in range(5):
            value = float(distances[row, column])
            picture.box(
                left + side * column,
                30 + side * row,
                side,
                side,
                fill=shade(value / 5.5),
                colour=draw.LINE,
            )
            picture.text(left + side * (column + 0.5), 53 + side * row, f"{value:.1f}", size=12)
    picture.note(left - 24, 246, "distances, from the", "correlation of words")
    picture.note(
        0,
        236,
        "the tree of minimum total length, here",
        f"{found.length:.1f}; exact distances give the true tree",
    )
    return picture


def brown() -> Canvas:
    """Brown clusters of the bundled treebank as a tree, with their most frequent words."""
    picture = Canvas(
        "A binary tree of word clusters of a small English text: articles together, prepositions "
        "together, verbs together. The path from the root to a cluster is its bit string."
    )
    clusters = learn_brown(
        ([word.lower() for word in tree.words()] for tree in read_treebank(DEMO).trees),
        BrownOptions(12, min_count=3),
    )
    order = sorted(range(12), key=lambda cluster: clusters.paths[cluster])
    y_of = {clusters.paths[cluster]: 14.0 + 30 * place for place, cluster in enumerate(order)}
    deepest = max(map(len, y_of))
    step, right = 46.0, 46.0 * deepest
    inner = sorted({path[:end] for path in y_of for end in range(len(path))})
    for path in sorted(inner, key=len, reverse=True):
        y_of[path] = (y_of[path + "0"] + y_of[path + "1"]) / 2
    for path in inner:
        x = step * len(path)
        for bit in "01":
            child = path + bit
            end = step * len(child) if child in inner else right
            picture.line((x, y_of[path]), (x, y_of[child]), (end, y_of[child]))
            shift = -5 if bit == "0" else 13
            picture.text(x + 10, y_of[child] + shift, bit, size=11, colour=draw.FAINT)
    for cluster in order:
        path = clusters.paths[cluster]
        picture.text(right + 10, y_of[path] + 4, path, at="start", size=12, colour=draw.BLUE)
        words = "  ".join(clusters.members(cluster)[:6])
        picture.text(right + 78, y_of[path] + 4, words, at="start")
    return picture


def tokenisation() -> Canvas:
    """One text, tokenised by the schemes of two treebanks, each word below its characters."""
    picture = Canvas(
        "The characters of a sentence, and below them the words in the style of two treebanks: one "
        "keeps hyphens and normalises quotes, the other splits at hyphens."
    )
    text = 'He can\'t sell "well-known" hats.'
    treebanks = {
        "a treebank with self-made": "`` I ca n't see a self-made boy , '' she said .",
        "one with self - made": 'She said , " I ca n\'t see a self - made boy . "',
    }
    step, left, height = 19.0, 190.0, 26.0
    for place, character in enumerate(text):
        picture.text(left + step * (place + 0.5), 16, character, size=15)
        picture.text(left + step * (place + 0.5), 34, str(place), size=8, colour=draw.FAINT)
    for row, (name, words) in enumerate(treebanks.items()):
        y = 50.0 + 44 * row
        picture.text(left - 14, y + 17, name, at="end", colour=draw.BLUE)
        scheme = TokenisationScheme.of_words([words.split()] * 9)
        for token in tokenise(text, scheme):
            x, width = left + step * token.start, step * (token.end - token.start)
            picture.box(x + 1, y, width - 2, height, fill=draw.BLUE_FILL, colour=draw.BLUE)
            picture.text(x + width / 2, y + 17, token.text)
    return picture


def ensemble() -> Canvas:
    """Families of members, rerankers over each and over all, and coverage at the end."""
    picture = Canvas(
        "A treebank, perturbed in three ways, gives three families of members. A reranker selects "
        "among the trees of each family, another among all; coverage combines the four."
    )
    picture.box(-60, 112, 92, 44, fill=draw.GREY_FILL, colour=draw.LINE, radius=8)
    picture.text(-14, 138, "treebank")
    families = [
        ("dropout", draw.BLUE, draw.BLUE_FILL),
        ("additive noise", draw.ORANGE, draw.ORANGE_FILL),
        ("multiplicative", draw.GREEN, draw.GREEN_FILL),
    ]
    for place, (name, colour, fill) in enumerate(families):
        y = 46.0 + 88 * place
        picture.line((34, 134), (84, y), colour=colour, arrow=True)
        picture.text(150, y - 30, name, size=12, bold=True, colour=colour)
        for member in range(10):
            picture.dot(
                104 + 23 * (member % 5), y - 10 + 22 * (member // 5), 8, fill=fill, colour=colour
            )
        picture.line((210, y), (268, y), colour=colour, arrow=True)
        picture.box(272, y - 16, 92, 32, fill=fill, colour=colour, radius=8)
        picture.text(318, y + 4, "reranker", size=12, colour=colour)
        picture.line((366, y), (520, 146), colour=colour, arrow=True)
        picture.line((210, y + 8), (386, 260), colour=draw.LEADER, arrow=True)
    picture.box(390, 250, 92, 32, fill=draw.VIOLET_FILL, colour=draw.VIOLET, radius=8)
    picture.text(436, 270, "reranker", size=12, colour=draw.VIOLET)
    picture.text(436, 300, "of all members", size=12, colour=draw.VIOLET)
    picture.line((484, 256), (524, 162), colour=draw.VIOLET, arrow=True)
    picture.box(524, 128, 92, 36, fill=draw.GREY_FILL, colour=draw.LINE, radius=8)
    picture.text(570, 150, "coverage", size=12)
    picture.line((618, 146), (654, 146), arrow=True)
    picture.text(678, 150, "a tree", bold=True, colour=draw.INK)
    picture.note(
        84,
        336,
        "A member is a complete parser. Its predictions for a sentence, a tree and marginals,",
        "follow the arrows, as defined in the configuration of the ensemble.",
    )
    return picture
