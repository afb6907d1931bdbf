"""How good trees from dependencies are, and what they are worth in training.

    python validation/from_dependencies/run.py TREEBANKS [PART ...]

TREEBANKS is the folder of treebanks; the parts are relations, english, ewt, spanish, german and
training, all of them by default.  The tables of the README are the output.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from eigentree import Parser, Sentence, Tree, load, read_dependencies, read_treebank, score
from eigentree.constituency.from_dependencies import (
    ConversionOptions,
    Converted,
    convert_dependencies,
)
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.head_phrases import HeadPhrases, head_spans

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from english_sources import GUM_GENRES, gum

SMALL = 1000  # trees of the small English treebank
SHOWN = 20  # relations
EWT_EVERY = 4  # of these sentences one is converted for training


def f1(gold: Sequence[Tree], parsed: Sequence[Tree | None]) -> float:
    return 100 * (score(gold, parsed).all.f1 or 0.0)


def plain(parser: Parser, gold: Sequence[Tree], *, tagged: bool = True) -> list[Tree | None]:
    return [parser.parse(each.words(), each.tags() if tagged else None).tree for each in gold]


def compare(
    parser: Parser, pairs: Sequence[tuple[Sentence, Tree]], learned: HeadPhrases | None
) -> None:
    """A row for each way of parsing with gold tags."""
    sentences, gold = [each for each, _ in pairs], [tree for _, tree in pairs]
    without = plain(parser, gold)
    print("| constraints | kept, % | F1, all | F1, kept | F1 without constraints, kept |")
    print("| --- | ---: | ---: | ---: | ---: |")
    print(f"| none | 100.0 | {f1(gold, without):.2f} | | |")
    ways = [
        ("learned from the model's parses", None),
        ("learned from trees of both kinds", learned),
    ]
    for name, phrases in ways[: 1 if learned is None else 2]:
        found = [*convert_dependencies(parser, sentences, phrases=phrases)]
        rows = [*zip(gold, without, (each.tree for each in found), strict=True)]
        kept = [row for row in rows if row[2] is not None]
        whole = f1(gold, [tree or other for _, other, tree in rows])
        golds, others, trees = map(list, zip(*kept, strict=True))
        print(
            f"| {name} | {100 * len(kept) / len(gold):.1f} | {whole:.2f} | {f1(golds, trees):.2f} "
            f"| {f1(golds, others):.2f} |"
        )


def gum_pairs(folder: Path, part: str, *, licensed: bool = True) -> list[tuple[Sentence, Tree]]:
    """Sentences with both trees; of the genres that the bundled model is trained on, or all."""
    by_genre = gum(folder, part)
    genres = GUM_GENRES if licensed else by_genre
    return [(sentence, tree) for genre in genres for tree, sentence in by_genre.get(genre, [])]


def relations(folder: Path) -> None:
    """How often whole subtrees are phrases, which a table of relations would be based on."""
    print("\n## Subtrees of GUM, train\n")
    pairs = gum_pairs(folder, "train")
    seen: Counter[str] = Counter()
    phrases: Counter[str] = Counter()
    for sentence, tree in pairs:
        spans = {(start, end) for _, start, end in tree.spans() if end - start > 1}
        for span in head_spans(sentence):
            if not (span.outside_left or span.outside_right):
                seen[span.relation] += 1
                phrases[span.relation] += span[:2] in spans
    print("| relation | subtrees | phrases, % |\n| --- | ---: | ---: |")
    for relation, count in seen.most_common(SHOWN):
        print(f"| `{relation}` | {count} | {100 * phrases[relation] / count:.1f} |")


def english(folder: Path) -> None:
    print("\n## GUM, test\n")
    learned = HeadPhrases.learn(gum_pairs(folder, "train"))
    compare(load("english"), gum_pairs(folder, "test", licensed=False), learned)


def ewt(folder: Path) -> None:
    print("\n## EWT, train\n")
    sentences = read_dependencies(folder / "ud_english_ewt" / "train.conllu").sentences
    learned = HeadPhrases.learn(gum_pairs(folder, "train"))
    print("| learned from | kept | left out | CPU s |\n| --- | ---: | --- | ---: |")
    for name, phrases in (("the model's parses", None), ("GUM", learned)):
        began = time.process_time()
        found = [*convert_dependencies(load("english"), sentences, phrases=phrases)]
        seconds = time.process_time() - began
        reasons = Counter(each.reason for each in found)
        kept = reasons.pop(None)
        listed = ", ".join(f"{reason}: {count}" for reason, count in reasons.most_common())
        print(f"| {name} | {kept} of {len(found)} | {listed} | {seconds:.0f} |")


def spanish(folder: Path) -> None:
    """CESS-ESP has trees of some sentences whose dependencies are in AnCora, in other words."""
    print("\n## CESS-ESP, sentences that are in AnCora\n")
    cleaning = CleaningOptions(trace_words=frozenset({"*0*"}), function_separators="-.")
    trees = [
        tree
        for part in ("train", "dev", "test")
        for tree in read_treebank(folder / "cess_esp" / f"{part}.mrg", cleaning=cleaning).trees
    ]
    by_text: dict[str, Tree] = {}
    for tree in trees:
        by_text.setdefault("".join(map(bare, tree.words())), tree)
    pairs: list[tuple[Sentence, Tree]] = []
    for part in ("dev", "test"):
        for sentence in read_dependencies(
            folder / "ud_spanish_ancora" / f"{part}.conllu"
        ).sentences:
            found = by_text.pop("".join(bare(form) for form, _ in surface(sentence)), None)
            merged = None if found is None else in_words_of(sentence, found)
            if found is not None and merged is not None:
                pairs.append((merged, found))
    matched = {id(tree) for _, tree in pairs}
    training = [tree for tree in trees if id(tree) not in matched]
    print(f"{len(training)} trees to train on, {len(pairs)} sentences with trees of both kinds;")
    half = len(pairs) // 2
    print(f"phrases learned from {half} of these, and all rows scored on the others\n")
    parser = Parser.train(training)
    compare(parser, pairs[half:], HeadPhrases.learn(pairs[:half]))


def bare(form: str) -> str:
    """A word without what the two Spanish treebanks write differently."""
    return {"-Fpa-": "(", "-Fpt-": ")"}.get(form, form).replace("_", "").lower()


def surface(sentence: Sentence) -> list[tuple[str, list[int]]]:
    """The tokens of a sentence, with the numbers of their words."""
    ranges = {extra.covers[0]: extra for extra in sentence.extras if extra.covers}
    tokens: list[tuple[str, list[int]]] = []
    number = 1
    while number <= len(sentence):
        extra = ranges.get(number)
        covered = [number] if extra is None or extra.covers is None else list(extra.covers)
        form = sentence.words[number - 1].form if extra is None else extra.cells[1]
        tokens.append((form, covered))
        number = covered[-1] + 1
    return tokens


def in_words_of(sentence: Sentence, tree: Tree) -> Sentence | None:
    """The sentence with several words as one where the tree has one; None where it has more."""
    groups: list[list[int]] = []
    tokens = surface(sentence)
    place = 0
    for word in map(bare, tree.words()):
        text, group = "", []
        while len(text) < len(word) and place < len(tokens):
            text += bare(tokens[place][0])
            group += tokens[place][1]
            place += 1
        if text != word:
            return None
        groups.append(group)
    new_number = {old: new for new, group in enumerate(groups, start=1) for old in group}
    words = []
    for number, (group, form, tag) in enumerate(
        zip(groups, tree.words(), tree.tags(), strict=True), start=1
    ):
        tops = [old for old in group if sentence.words[old - 1].head not in group]
        top = sentence.words[tops[0] - 1]
        head = new_number.get(top.head or 0, 0)
        words.append(top._replace(id=number, form=form, xpos=tag, head=head))
    return Sentence(tuple(words)) if sum(word.head == 0 for word in words) == 1 else None


def german(folder: Path) -> None:
    """The PCC has few trees; the sentences of GSD are others."""
    print("\n## PCC, with trees from GSD\n")
    cleaning = CleaningOptions(cut_tags=True)
    parts = {
        part: read_treebank(folder / "pcc_german" / f"{part}.mrg", cleaning=cleaning).trees
        for part in ("train", "dev")
    }
    files = [folder / "ud_german_gsd" / f"{part}.conllu" for part in ("dev", "test")]
    worth(parts["train"], read_dependencies(files).sentences, parts["dev"])


def training(folder: Path) -> None:
    print(f"\n## GUM, {SMALL} trees, with trees from EWT\n")
    small = [tree for _, tree in gum_pairs(folder, "train")]
    small = small[:: len(small) // SMALL][:SMALL]
    dependencies = read_dependencies(folder / "ud_english_ewt" / "train.conllu").sentences
    dev = [tree for _, tree in gum_pairs(folder, "dev", licensed=False)]
    worth(small, dependencies[::EWT_EVERY], dev)


def worth(small: list[Tree], sentences: Sequence[Sentence], dev: Sequence[Tree]) -> None:
    """A row for each set of trees to train on."""
    parser = Parser.train(small)
    print("| trained on | trees | F1, gold tags | F1, words alone |\n| --- | ---: | ---: | ---: |")

    def row(name: str, trees: list[Tree]) -> None:
        trained = Parser.train(trees) if trees is not small else parser
        figures = [f1(dev, plain(trained, dev, tagged=tagged)) for tagged in (True, False)]
        print(f"| {name} | {len(trees)} | {figures[0]:.2f} | {figures[1]:.2f} |", flush=True)

    row("the small treebank", small)
    # No share is 1 or 0, so nothing is required and nothing forbidden.
    nothing = ConversionOptions(min_share=1.0, max_share=0.0, rounds=1)
    free = [*convert_dependencies(parser, sentences, nothing)]
    row("+ parses with gold tags only", small + kept(free))
    found = [*convert_dependencies(parser, sentences)]
    row("+ trees from dependencies", small + kept(found))
    sure = [each for each in found if (each.confidence or 0.0) >= 0.9]
    row("+ those with a confidence of 0.9", small + kept(sure))


def kept(found: Sequence[Converted]) -> list[Tree]:
    return [each.tree for each in found if each.tree is not None]


PARTS: dict[str, Callable[[Path], None]] = {
    "relations": relations,
    "english": english,
    "ewt": ewt,
    "spanish": spanish,
    "german": german,
    "training": training,
}


def main() -> None:
    folder, *parts = sys.argv[1:]
    for name in parts or PARTS:
        PARTS[name](Path(folder))


if __name__ == "__main__":
    main()
