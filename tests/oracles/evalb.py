"""What the reference program EVALB computes, restated slowly and without eigentree.

It takes bracketed lines as text, numbers words as it meets them and compares every bracket
with every other, so that no data structure of `eigentree.evaluation` is shared.  The program's
fixed limits on words and brackets, and its stop after a number of errors, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

COLLINS = {
    "delete": ["TOP", "-NONE-", ",", ":", "``", "''", "."],
    "delete_for_length": ["-NONE-"],
    "quotes": [],
    "equal_labels": [("ADVP", "PRT")],
    "equal_words": [],
    "labelled": True,
    "cut_off": 40,
}


@dataclass
class Bracket:
    label: str
    start: int
    end: int = -1
    deleted: bool = False
    taken: bool = False


@dataclass
class Sentence:
    words: list[tuple[str, str]] = field(default_factory=list)  # label, word
    brackets: list[Bracket] = field(default_factory=list)
    quotes: list[dict] = field(default_factory=list)
    length: int = 0


def alike(one, other, pairs):
    return one == other or any({one, other} == {a, b} for a, b in pairs if a != b)


def read(line, prm):
    """Number the words that count; a bracket notes how many had come when it opened and closed."""
    sentence = Sentence()
    open_brackets = []
    tokens = line.replace("(", " ( ").replace(")", " ) ").split()
    # The label belongs to the bracket only when it touches it: "( (" and "( S" are nameless.
    at = 0
    while at < len(tokens):
        if tokens[at] == ")":
            sentence.brackets[open_brackets.pop()].end = len(sentence.words)
            at += 1
            continue
        assert tokens[at] == "(", f"not a tree: {line}"
        label = tokens[at + 1] if tokens[at + 1] not in "()" else ""
        if label and tokens[at + 2] not in "()" and tokens[at + 3] == ")":
            word = tokens[at + 2]
            at += 4
            sentence.length += label not in prm["delete_for_length"]
            if label in prm["quotes"] and word in ("'", '"', "/"):
                sentence.quotes.append(
                    {
                        "label": label,
                        "word": word,
                        "index": len(sentence.words),
                        "next_bracket": len(sentence.brackets),
                        "inside": list(open_brackets),
                    }
                )
            if label not in prm["delete"]:
                sentence.words.append((label, word))
        else:
            open_brackets.append(len(sentence.brackets))
            sentence.brackets.append(Bracket(label, len(sentence.words)))
            at += 2 if label else 1
    return sentence


def put_back(sentence, which):
    quote = sentence.quotes[which]
    sentence.words.insert(quote["index"], (quote["label"], quote["word"]))
    for bracket in sentence.brackets[quote["next_bracket"] :]:
        bracket.start += 1
        bracket.end += 1
    for number in quote["inside"]:
        sentence.brackets[number].end += 1
    for later in sentence.quotes[which:]:
        later["index"] += 1


def mend_quotes(gold, test, prm):
    for i, theirs in enumerate(test.quotes):
        place = theirs["index"]
        for j, ours in enumerate(gold.quotes):
            if ours["index"] != place:
                continue
            if ours["label"] in prm["delete"] and theirs["label"] not in prm["delete"]:
                put_back(gold, j)
            elif theirs["label"] in prm["delete"] and ours["label"] not in prm["delete"]:
                put_back(test, i)


def prepare(sentence, prm):
    for bracket in sentence.brackets:
        if bracket.start == bracket.end:
            bracket.deleted = True
            continue
        for place, character in enumerate(bracket.label):
            if character in "-=":
                bracket.label = bracket.label[:place]
                break
        for label in prm["delete"]:
            if alike(bracket.label, label, prm["equal_labels"]):
                bracket.deleted = True


def compare(gold_line, test_line, prm):
    """One sentence; status is "ok", "error" or "skip"."""
    gold, test = read(gold_line, prm), read(test_line, prm)
    row = {"status": "ok", "length": gold.length}
    for name in ("words", "gold", "test", "matched", "crossing", "tags"):
        row[name] = 0
    if not test.words:
        return row | {"status": "skip"}
    if len(gold.words) != len(test.words):
        mend_quotes(gold, test, prm)
    if len(gold.words) != len(test.words):
        return row | {"status": "error"}
    for (_, word), (_, other) in zip(gold.words, test.words, strict=True):
        if not alike(word, other, prm["equal_words"]):
            return row | {"status": "error"}
    prepare(gold, prm)
    prepare(test, prm)
    ours = [bracket for bracket in gold.brackets if not bracket.deleted]
    theirs = [bracket for bracket in test.brackets if not bracket.deleted]
    for bracket in ours:
        for other in theirs:
            same_place = (bracket.start, bracket.end) == (other.start, other.end)
            same = not prm["labelled"] or alike(bracket.label, other.label, prm["equal_labels"])
            if not other.taken and same_place and same:
                other.taken = True
                row["matched"] += 1
                break
    for other in theirs:
        for bracket in ours:
            left = bracket.start < other.start < bracket.end < other.end
            right = other.start < bracket.start < other.end < bracket.end
            if left or right:
                row["crossing"] += 1
                break
    row["tags"] = sum(
        alike(tag, other, prm["equal_labels"])
        for (tag, _), (other, _) in zip(gold.words, test.words, strict=True)
    )
    return row | {"words": len(gold.words), "gold": len(ours), "test": len(theirs)}


def total(rows):
    """Percentages as the program prints them, before rounding; F is None when undefined."""
    valid = [row for row in rows if row["status"] == "ok"]
    sums = {
        name: sum(row[name] for row in valid)
        for name in ("words", "gold", "test", "matched", "crossing", "tags")
    }

    def percent(part, whole):
        return 100.0 * part / whole if whole > 0 else 0.0

    recall = percent(sums["matched"], sums["gold"])
    precision = percent(sums["matched"], sums["test"])
    complete = [row for row in valid if row["gold"] == row["test"] == row["matched"]]
    return {
        "sentences": len(rows),
        "errors": sum(row["status"] == "error" for row in rows),
        "skipped": sum(row["status"] == "skip" for row in rows),
        "valid": len(valid),
        "recall": recall,
        "precision": precision,
        "f": 2 * precision * recall / (precision + recall) if precision + recall else None,
        "complete": percent(len(complete), len(valid)),
        "average_crossing": sums["crossing"] / len(valid) if valid else 0.0,
        "no_crossing": percent(sum(row["crossing"] == 0 for row in valid), len(valid)),
        "two_or_less": percent(sum(row["crossing"] <= 2 for row in valid), len(valid)),
        "tagging": percent(sums["tags"], sums["words"]),
    }


def evalb(gold_lines, test_lines, prm=COLLINS):
    """Rows for sentences, the summary over all, and the one within the cut-off."""
    rows = [compare(one, other, prm) for one, other in zip(gold_lines, test_lines, strict=True)]
    return rows, total(rows), total([row for row in rows if row["length"] <= prm["cut_off"]])
