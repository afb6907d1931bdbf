"""Pictures of how grammars with latent states are learned."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import canvas as draw
import numpy as np
from canvas import Canvas, draw_tree

import eigentree
from eigentree import binarise, parse_tree, read_treebank
from eigentree.constituency.learn.clustering import ClusteringOptions, cluster_states
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em import TreeExpectation, maximise, perturbed
from eigentree.constituency.learn.em_layout import lay_out
from eigentree.constituency.learn.spectral import SpectralOptions, project
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.learn.unseen_rules import unseen_rules
from eigentree.simulation import pronoun_grammar, sample_trees

STUDY = Path(__file__).parents[2] / "validation" / "naacl2013" / "wsj_sample.json"
DEMO = Path(eigentree.__file__).parent / "data" / "demo" / "train.mrg"
STATE_COLOURS = [
    (draw.BLUE, draw.BLUE_FILL),
    (draw.ORANGE, draw.ORANGE_FILL),
    (draw.GREEN, draw.GREEN_FILL),
]


def demo_examples() -> Examples:
    """The bundled treebank, binarised."""
    return Examples.of([binarise(tree) for tree in read_treebank(DEMO).trees])


def spectral() -> Canvas:
    """A tree cut at a noun phrase, features of both parts, and the decomposition."""
    picture = Canvas(
        "A tree is cut at a noun phrase into an inside and an outside tree. Each is represented by "
        "features; their cross-moment is decomposed, and each part gets a vector."
    )
    tree = parse_tree("(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))")
    inside = range(6, 9)
    picture.area((126, 98), (206, 98), (228, 198), (122, 198), fill=draw.BLUE_FILL)
    nodes = draw_tree(
        picture,
        tree,
        0,
        20,
        colour=lambda number: draw.BLUE if number in inside else draw.ORANGE,
        dashed=lambda number: number == 6,
    )
    cut = nodes[6]
    picture.line((cut.x - 34, cut.y - 21), (cut.x + 34, cut.y - 21), colour=draw.FAINT, width=1.8)
    picture.text(cut.x + 40, cut.y - 17, "cut", at="start", size=12, colour=draw.FAINT)
    picture.note(0, 232, "outside tree o: all but the phrase")
    picture.text(0, 254, "inside tree t: the phrase", at="start", size=12, colour=draw.BLUE)

    def features(
        x: float,
        y: float,
        name: str,
        kind: str,
        ones: list[int],
        lines: list[str],
        colour: str,
    ) -> None:
        picture.text(x, y - 8, name, at="start", bold=True, colour=colour)
        for row in range(8):
            picture.box(
                x, y + 13 * row, 18, 13, fill=colour if row in ones else "#ffffff", colour=draw.LINE
            )
        for row, line in zip(ones, lines, strict=True):
            picture.text(x + 26, y + 13 * row + 11, line, at="start", size=12)
        picture.text(x + 38, y - 8, kind, at="start", size=12, colour=draw.FAINT)

    features(
        282,
        26,
        "ψ(o)",
        "features of the outside",
        [1, 4, 6],
        ["VP above, foot right", "S above the VP", "three words before"],
        draw.ORANGE,
    )
    features(
        282,
        172,
        "φ(t)",
        "features of the inside",
        [0, 3, 5],
        ["NP → DT NN", "head word NN", "two words"],
        draw.BLUE,
    )
    for y, label, name, colour, fill in (
        (70, "S⁻¹ Vᵀ", "Z", draw.ORANGE, draw.ORANGE_FILL),
        (216, "Uᵀ", "Y", draw.BLUE, draw.BLUE_FILL),
    ):
        picture.line((458, y + 6), (538, y + 6), colour=colour, arrow=True)
        picture.text(498, y - 2, label, size=12, colour=colour)
        picture.cells(548, y - 21, [[fill], [fill], [fill]], colour=colour)
        picture.text(576, y + 11, name, at="start", bold=True, colour=colour)
    picture.note(600, 70, "one dimension", "per state")
    picture.note(600, 216, "in the basis", "dual to that of Z")

    top = 324
    picture.text(58, top - 34, "Ω(NP)", bold=True)
    picture.note(58, top - 16, "mean of φ ψᵀ over all NPs", at="middle")
    picture.box(0, top, 116, 96, fill=draw.GREY_FILL, colour=draw.LINE)
    for across, down in ((14, 20), (40, 66), (66, 34), (92, 80), (28, 44), (80, 12)):
        picture.box(across, top + down, 8, 6, fill=draw.LINE)
    picture.text(144, top + 54, "≈", size=20)
    picture.text(198, top - 12, "U", bold=True, colour=draw.BLUE)
    picture.box(174, top, 48, 96, fill=draw.BLUE_FILL, colour=draw.BLUE)
    picture.text(262, top - 12, "S", bold=True)
    picture.box(238, top, 48, 48, colour=draw.LINE)
    for number, size in enumerate((13, 9, 5)):
        centre = 8 + 16 * number
        picture.dot(238 + centre, top + centre, size / 2, fill=draw.INK)
    picture.text(360, top - 12, "Vᵀ", bold=True, colour=draw.ORANGE)
    picture.box(302, top, 116, 48, fill=draw.ORANGE_FILL, colour=draw.ORANGE)
    picture.note(
        302,
        top + 70,
        "Given the state of the NP, inside and outside are independent:",
        "so a cross-moment of thousands of features has at most the",
        "rank of the number of states, which S shows.",
    )
    return picture


def states() -> Canvas:
    """Spectra of the bundled treebank, and the effect of shrinkage on each direction."""
    picture = Canvas(
        "Singular values of four nonterminals of a small treebank. Those of NP decrease slowly; "
        "the comma has one. A curve shows the factor by which shrinkage damps each direction."
    )
    examples = demo_examples()
    spectra = project(examples, SpectralOptions(states=16)).singular_values
    names = [str(symbol) for symbol in examples.symbols]
    shrinkage = 1.25
    for place, name in enumerate(("NP", "VP", "DT", ",")):
        left, base, height, step = 372 * (place % 2), 150 + 214 * (place // 2), 120.0, 19
        values = spectra[names.index(name)]
        picture.text(left, base - height - 14, name, at="start", bold=True, colour=draw.INK)
        count = f"{len(values)} directions" if len(values) > 1 else "one direction"
        shown = f"at least {count}" if len(values) == 16 else count
        picture.text(left + 34, base - height - 14, shown, at="start", size=12, colour=draw.FAINT)
        kept = values**2 / (values**2 + shrinkage**2)
        for number, value in enumerate(values / values[0]):
            picture.box(
                left + step * number,
                base - height * value,
                step - 5,
                height * value,
                fill=draw.BLUE_FILL,
                colour=draw.BLUE,
            )
        points = [
            (left + step * number + 7, base - height * share) for number, share in enumerate(kept)
        ]
        if len(points) > 1:
            picture.line(*points, colour=draw.ORANGE, width=1.6)
        for point in points:
            picture.dot(*point, 2.6, fill=draw.ORANGE)
        picture.line((left - 4, base), (left + step * 16, base))
        cut = base - 0.2 * height
        picture.line((left - 4, cut), (left + step * 16, cut), colour=draw.FAINT, dashed=True)
    picture.text(680, 132, "--cut 0.2", at="start", size=12, colour=draw.FAINT)
    picture.box(0, 400, 13, 13, fill=draw.BLUE_FILL, colour=draw.BLUE)
    picture.text(20, 411, "singular value relative to the largest", at="start", size=12)
    picture.line((296, 406), (316, 406), colour=draw.ORANGE, width=1.6)
    picture.dot(306, 406, 2.6, fill=draw.ORANGE)
    picture.text(324, 411, "s² / (s² + r²), the effect of shrinkage", at="start", size=12)
    return picture


def em() -> Canvas:
    """States of words over iterations, on trees of a known grammar."""
    picture = Canvas(
        "Expected counts of three pronouns in two states over iterations of expectation "
        "maximisation. They start nearly equal; finally she has one state, him the other, and "
        "it has both."
    )
    boxes = [("grammar", 90), ("states of each node", 310), ("expected counts", 550)]
    for name, x in boxes:
        picture.box(x - 82, 12, 164, 34, fill=draw.GREY_FILL, colour=draw.LINE, radius=8)
        picture.text(x, 34, name)
    picture.line((174, 29), (226, 29), arrow=True)
    picture.line((394, 29), (466, 29), arrow=True)
    picture.text(310, 2, "expectation: inside and outside on the tree", size=12, colour=draw.FAINT)
    picture.arc((550, 48), (90, 48), -26, arrow=True)
    picture.text(320, 92, "maximisation: normalised counts", size=12, colour=draw.FAINT)

    trees = sample_trees(pronoun_grammar(), 500, seed=1)
    examples = Examples.of(trees)
    backbone = count_pcfg(examples)
    skeletons, layout = lay_out(
        examples,
        backbone,
        np.array(
            [2 if str(symbol).startswith("NP") else 1 for symbol in examples.symbols],
            dtype=np.int32,
        ),
    )
    counts = perturbed(layout, 0.5, 3)
    values = maximise(layout, counts)
    by_iteration = {}
    with ThreadPoolExecutor(1) as threads:
        expectation = TreeExpectation(skeletons, layout, threads)
        for iteration in range(1, 31):
            counts = expectation.step(values)[1]
            by_iteration[iteration] = counts.words.copy()
            maximise(layout, counts, values)
    words = examples.lexicon.entries
    pairs = [words[word] for word, _ in examples.pairs.tolist()]
    for column, iteration in enumerate((1, 3, 6, 10, 30)):
        x = 34 + 136 * column
        title = "1st iteration" if iteration == 1 else f"{iteration}"
        picture.text(x + 42, 134, title, bold=True, size=12, colour=draw.INK)
        for place, word in enumerate(("she", "it", "him")):
            row = pairs.index(word)
            start = int(layout.word_start[row])
            parts = by_iteration[iteration][start : start + 2]
            share = float(parts[0] / parts.sum())
            at = x + 30 * place
            for y, height, (colour, fill) in (
                (146, 90 * share, STATE_COLOURS[0]),
                (146 + 90 * share, 90 * (1 - share), STATE_COLOURS[1]),
            ):
                picture.box(at, y, 24, height, fill=fill, colour=colour)
            picture.text(at + 12, 254, word, size=12)
    picture.note(
        34,
        284,
        "Expected share of the uses of each pronoun in the two states of NP, on 500 trees",
        "of a grammar in which they are subject and object. The trees have no states.",
    )
    return picture


def clustering() -> Canvas:
    """Verb phrases of the bundled treebank in the plane of their projections."""
    picture = Canvas(
        "Verb phrases as points: their second inside coordinate to the right, their second outside "
        "coordinate upwards. k-means divides them into three clusters, which are the states."
    )
    examples = demo_examples()
    projections = project(examples, ClusteringOptions(rank=3).projecting)
    n_states = np.full(len(examples.symbols), 3, dtype=np.int32)
    clusters = cluster_states(examples, projections, n_states, restarts=10, shrinkage=0.0)
    symbol = [str(symbol) for symbol in examples.symbols].index("VP")
    nodes = np.flatnonzero(examples.symbol == symbol)
    y, z = projections.y(examples, nodes), projections.z(examples, nodes)
    across, up = (part[:, 1] / part[:, 1].std() for part in (y, z))
    own = clusters[nodes]
    order = np.argsort([up[own == cluster].mean() for cluster in range(3)]).tolist()
    if across @ up < 0:
        across = -across  # a direction has no sign
    for x, v, cluster in zip(across, up, own, strict=True):
        colour, fill = STATE_COLOURS[order.index(cluster)]
        picture.dot(106 + 88 * x, 158 - 78 * v, 3, fill=fill, colour=colour)
    left, right, top, bottom = -20, 380, -66, 250
    picture.line((left, bottom), (right, bottom), arrow=True)
    picture.line((left, bottom), (left, top), arrow=True)
    picture.text(right, bottom + 20, "y₂: inside the phrase", at="end", size=12)
    picture.text(left + 12, top + 6, "z₂: outside", at="start", size=12)
    captions = [
        ("in a sentence with its full stop", "(S NP VP .)", "slept on the bed"),
        ("in a subordinate clause", "(SBAR that (S NP VP))", "were sleeping"),
        ("after an auxiliary or “to”", "(VP will VP)", "leave the keys"),
    ]
    for place, (title, where, phrase) in enumerate(captions):
        colour, fill = STATE_COLOURS[place]
        y_place = 186 - 92 * place
        picture.dot(414, y_place - 4, 6, fill=fill, colour=colour)
        picture.text(430, y_place, title, at="start", bold=True, colour=colour)
        picture.note(430, y_place + 19, f"mostly in {where}", f"such as: {phrase}")
    return picture


def unseen() -> Canvas:
    """The example of the page: seen and unseen pairs of children."""
    picture = Canvas(
        "A table of left and right children of a verb phrase. Six pairs were seen; three unseen "
        "pairs get probabilities that sum to 4/11."
    )
    seen = {"V NP": 5, "V PP": 2, "V AP": 1, "M NP": 1, "M PP": 1, "A NP": 1}
    trees = []
    for pair, times in seen.items():
        left, right = pair.split()
        trees += [binarise(parse_tree(f"(VP ({left} x) ({right} y))"))] * times
    examples = Examples.of(trees)
    found = unseen_rules(examples)
    new = {
        " ".join(str(examples.symbols[number]) for number in rule[1:]): float(probability)
        for rule, probability in zip(found.rules, found.probability, strict=True)
    }
    lefts, rights, width, height = ("V", "M", "A"), ("NP", "PP", "AP"), 104, 64
    picture.text(24 + 1.5 * width, -34, "right child", size=12, colour=draw.FAINT)
    picture.text(-16, -10, "left child", size=12, at="end", colour=draw.FAINT)
    for row, left in enumerate(lefts):
        picture.text(-16, 37 + height * row, left, at="end", bold=True, colour=draw.INK)
        for column, right in enumerate(rights):
            x, y, pair = width * column, height * row, f"{left} {right}"
            if row == 0:
                picture.text(x + width / 2, -10, right, bold=True, colour=draw.INK)
            is_new = pair in new
            share = new[pair] if is_new else seen[pair] / sum(seen.values()) * 7 / 11
            colour, fill = STATE_COLOURS[is_new]
            picture.box(
                x,
                y,
                width,
                height,
                colour=colour if is_new else draw.LINE,
                dashed=is_new,
                fill="#ffffff",
            )
            bar = share * (width - 20) * 2
            picture.box(x + 10, y + height - 16, bar, 8, fill=colour)
            note = "unseen" if is_new else f"seen {seen[pair]}×"
            picture.text(x + 10, y + 20, note, at="start", size=12, colour=draw.FAINT)
            picture.text(x + 10, y + 39, f"p = {share:.3f}", at="start", size=12, colour=colour)
    left = 3 * width + 36
    picture.text(left, 2, "uses of VP rules", at="start", bold=True, colour=draw.INK)
    for number in range(11):
        once = number >= 7
        colour, fill = STATE_COLOURS[once]
        picture.box(left + 22 * number, 14, 18, 18, fill=fill, colour=colour, radius=3)
    picture.note(
        left,
        54,
        "four of eleven are their rule's only use,",
        "so four of the next eleven are new:",
        "the Good-Turing estimate",
    )
    picture.text(left, 130, "7/11 remain for seen rules", at="start", size=12, colour=draw.BLUE)
    picture.text(
        left, 150, "4/11 go to unseen pairs, by the", at="start", size=12, colour=draw.ORANGE
    )
    picture.text(
        left,
        167,
        "frequency of each child on its side",
        at="start",
        size=12,
        colour=draw.ORANGE,
    )
    picture.text(
        left, 184, "and the affinity of their labels", at="start", size=12, colour=draw.ORANGE
    )
    return picture


def study() -> Canvas:
    """F1 by number of states, from a study in the repository."""
    picture = Canvas(
        "F1 of four estimators by the number of states, on the WSJ sample: spectral "
        "learning is the most accurate from 16 states on."
    )
    models = json.loads(STUDY.read_text("utf-8"))["models"]
    kinds = [
        ("spectral", "spectral", draw.BLUE),
        ("em", "expectation maximisation", draw.ORANGE),
        ("spectral+em", "EM from spectral clusters", draw.GREEN),
        ("paper", "spectral, as in the paper", draw.VIOLET),
    ]
    left, base, width, height = 0.0, 240.0, 380.0, 220.0
    low, high = 84.0, 90.0

    def place_of(states: float, f1: float) -> tuple[float, float]:
        return left + width * states / 36, base - height * (f1 - low) / (high - low)

    picture.line((left, base), (left + width, base))
    picture.line((left, base), (left, base - height - 6))
    for f1 in range(int(low), int(high) + 1):
        picture.text(left - 8, place_of(0, f1)[1] + 4, str(f1), at="end", size=12)
    picture.text(
        left - 24,
        base - height - 20,
        "F1, %, mean of dev and test",
        at="start",
        size=12,
        colour=draw.FAINT,
    )
    picture.text(left + width / 2, base + 38, "states", size=12, colour=draw.FAINT)
    for place, (name, meaning, colour) in enumerate(kinds):
        own = [model for model in models if model["model"] == name]
        points = [place_of(model["states"], 100 * model["mean_f1"]) for model in own]
        picture.line(*points, colour=colour, width=1.8)
        for model, point in zip(own, points, strict=True):
            picture.dot(*point, 3.5, fill=colour)
            if place == 0:
                picture.text(point[0], base + 18, str(model["states"]), size=12)
        y = 40.0 + 34 * place
        picture.line((404, y - 4), (430, y - 4), colour=colour, width=1.8)
        picture.dot(417, y - 4, 3.5, fill=colour)
        picture.text(440, y, meaning, at="start", size=12, colour=colour)
    return picture
