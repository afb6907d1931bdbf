"""Valid inputs of all readers, and the changes that `benchmarks.fuzz` makes to them."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SIGNED = 32  # bytes of the digest of a model file

# Valid inputs.

BRACKETS = """\
(ROOT (S (NP-SBJ-1 (DT The) (JJ old) (NN dog)) (VP (VBZ sleeps) (ADVP (RB well))) (. .)))
( (S (NP (PRP It)) (VP (VBZ is) (NP=2 (CD 3) (NNS a\\/b))) (. !)))
; a remark
(())
(TOP (FRAG (-LRB- -LRB-) (NN caf\u00e9) (-NONE- *T*-1) (-RRB- -RRB-)))
(S
  (NP (NNP Ada))

  (VP (VBD ran)))
"""
EXPORT = """\
#FORMAT 4
#BOT ORIGIN
0 demo
#EOT ORIGIN
#BOS 1 0 1 0 %% a remark
Das\tdas\tART\tNom\tNK\t500
Pferd\tPferd\tNN\tNom\tNK\t500
hat\thaben\tVAFIN\t3\tHD\t502
Heu\tHeu\tNN\tAcc\tOA\t501
heute\theute\tADV\t--\tMO\t502
gefressen\tfressen\tVVPP\t--\tHD\t501\tSB\t500
.\t.\t$.\t--\t--\t0
#500\t--\tNP\t--\tSB\t502
#501\t--\tVP\t--\tOC\t502
#502\t--\tS\t--\t--\t0
#EOS 1
"""
TIGER = """\
<?xml version="1.0" encoding="UTF-8"?>
<corpus id="demo">
<head><annotation><feature name="word" domain="T"/></annotation></head>
<body>
<!-- a remark -->
<s id="s1"><graph root="s1_VROOT" discontinuous="true">
<terminals>
<t id="s1_1" word="Das" lemma="das" pos="ART"/>
<t id="s1_2" word="Pferd" pos="NN"/>
<t id="s1_3" word="fri&#xDF;t" pos="VVFIN"><secedge label="SB" idref="s1_500"/></t>
<t id="s1_4" word="&quot;Heu&quot;" pos="NN"/>
<t id="s1_5" word="." pos="$."/>
</terminals>
<nonterminals>
<nt id="s1_500" cat="NP"><edge label="NK" idref="s1_1"/><edge label="NK" idref="s1_4"/></nt>
<nt id="s1_501" cat="S"><edge label="SB" idref="s1_500"/><edge label="--" idref="s1_2"/>
<edge label="HD" idref="s1_3"/></nt>
<nt id="s1_VROOT" cat="VROOT"><edge label="--" idref="s1_501"/><edge label="--" idref="s1_5"/></nt>
</nonterminals>
</graph><sem><frames/></sem></s>
<s id="s2"><graph root="s2_1"><terminals><t id="s2_1" word="Ja" pos="ITJ"/></terminals></graph></s>
</body>
</corpus>
"""
CONLLU = """\
# sent_id = demo-1
# text = She didn't see it.
1\tShe\tshe\tPRON\tPRP\tCase=Nom|Number=Sing\t4\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\tdo\tAUX\tVBD\tTense=Past\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tsee\tsee\tVERB\tVB\t_\t0\troot\t_\t_
4.1\tseen\tsee\tVERB\tVBN\t_\t_\t_\t4:conj\t_
5\tit\tit\tPRON\tPRP\t_\t4\tobj\t4:obj\tSpaceAfter=No
6\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# sent_id = demo-2
1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_

"""
TEXT = (
    'Dr. Smith\'s cat (a "tabby") cost $3.50 at 5 p.m. on 1/2 \u2014 see www.example.org/a?b=c. '
    "It didn't e-mail.\n\n"
    "\u0e41\u0e21\u0e27\u0e19\u0e2d\u0e19 \u732b\u304c\u5bdd\u308b\u3002 "
    "\u05d4\u05dc\u05da \u05d9\u05dc\u05d3 \U0001f1e9\U0001f1ea\U0001f1ea\U0001f1ea "
    "\U0001f469\u200d\U0001f467! na\u00efve cafe\u0301 C++ U.S. ...\n"
)
TOKENS = "The old dog sleeps -LRB- well -RRB- .\n\nIt is 3\u00a0000 a\\/b\n"
TAGGED = "The_DT old_JJ dog_NN sleeps_VBZ ._.\nThe/DT a/b/NN ./.\n\nGo_VB\n"
BRACKETED = "[NP the old man] boats \\[ x\n[S [the dog] [VP barks]]\n"
HALF_TREES = "(S (NP (DT the) old man) boats)\n(NP a (NN dog))\n"
PLAIN = "((the (old cat)) slept)\n(())\n(a b)\n"
SPANS = "the old cat slept\t0-3 1-3 0-4\na b\t0-2\n"
JSON_LINES = (
    '{"words": ["the", "dog", "barks"], "tags": ["DT", {"NN": 0.7, "VB": 0.3}, "VBZ"], '
    '"constraints": {"required": [[0, 2, "NP"]], "forbidden": [[1, 3]], "tags": [[2, "VBZ"]]}}\n'
    '{"words": ["Go"]}\n'
)
CONSTRAINTS = (
    '{"required": [[0, 2, "NP"], [0, 3]], "forbidden": [[1, 3]], "tags": [[2, "VBZ"]]}\n\n{}\n'
)
STUDY = """\
title = "A study"
train = "train.mrg"
dev = "dev.mrg"
test = "test.mrg"
tags = "gold"
states = [2, 4]
seeds = [0]
[spectral]
shrinkage = 1.5
[[model]]
method = "spectral"
treebank.binarise.horizontal = 0
parsing.objective = "rules"
[[model]]
name = "plain"
method = "pcfg"
[learning_curve]
models = ["spectral", "plain"]
states = [4]
sizes = [0.25, 1.0]
[[reference]]
name = "another parser"
f1 = 88.0
cpu_seconds = 12.0
tags = "gold"
on = "dev"
"""
DEPENDENCY_STUDY = """\
kind = "dependencies"
title = "Another"
train = "train.conllu"
dev = "dev.conllu"
[[model]]
method = "spectral"
lexical = "lex+fcp"
states = [2, 6]
"""
BRACKETING_STUDY = """\
kind = "bracketing"
title = "A third"
text = "text.tagged"
tests = { short = "short.mrg", long = "long.mrg" }
longest = 10
[[model]]
method = "metric"
[[model]]
name = "branching"
method = "right"
"""
ENSEMBLE = """\
title = "Ensemble"
clustering = { restarts = 1 }
[[family]]
name = "left"
method = "clustering"
noise = "dropout"
sigma = [0.1, 0.2]
copies = 3
treebank.direction = "left"
[[family]]
name = "right"
method = "spectral"
states = 8
[[combination]]
name = "marginals"
inputs = ["left", "right"]
price = 0.5
[[combination]]
name = "parser"
how = "maxent"
inputs = ["left", "marginals"]
reranker.least = 2
"""
VECTORS = "3 3\nthe 0.1 -0.2 3e-1\ndog 1 2 3\n*UNKNOWN* 0 0 0.5\n"
GLOVE = "the 0.1 -0.2 3e-1\ncaf\u00e9\t1 2 3\n"
CLUSTERS = "00\tthe\t12\n00\ta\t7\n010\tdog\t5\n1\tbarks\t3\n"
HEADS = "@punctuation , .\nNP last POS\nNP rightmost NN NNP\nVP left-by-rank VB VP\n* rightmost\n"
TAG_MAP = "% tags\nNN\tNOUN\nVB*\tVERB\nVBN\tVERB\tparticiple\n"
TAG_DICTIONARY = "bark\tNN VB\nbarked\tVBD VBN\n\nnaïve\tJJ\nbark\tVBP\n"
REQUESTS = {
    "ParseRequest": '{"sentences": ["The dog barks.", {"words": ["a", "b"], "tags": ["DT", '
    '{"NN": 0.5}], "constraints": {"required": [[0, 2, "NP"]], "tags": [[1, "NN"]]}}, '
    '{"text": "It slept."}], "best": 3, "marginals": 0.1, "soft": true, "model": "english"}',
    "DependencyRequest": '{"text": "The dog barks. It slept.", "model": null}',
    "BracketRequest": '{"sentences": [{"words": ["a", "b"], "tags": ["DT", "NN"]}]}',
    "EvaluateRequest": '{"gold": "(S (A a))\\n", "parsed": "(S (A a))\\n(())"}',
}

FOREIGN = [
    text.encode() for text in (BRACKETS, EXPORT, TIGER, CONLLU, TEXT, JSON_LINES, STUDY, VECTORS)
]

# Changes.

Change = Callable[[random.Random, bytes], bytes]

NUMBERS = (
    *(b"0", b"-0", b"-1", b"1", b"00", b"007", b"1e999", b"-1e999", b"nan", b"inf", b"1e-400"),
    *(b"2147483648", b"4294967296", b"9223372036854775808", b"18446744073709551616"),
    *(b"9" * 400, b"9" * 5000, b"1_000", b"0x10", b"1.5", b"+1", b"1/2", b"0.1.2"),
    *("\u0663 \u00b2 \u2167 \u0967".encode().split()),
)
PIECES = (
    *b"( ) (()) () [ ] { } # ## % %% ; // < > & &#0; &amp; ]]> <!-- \\ \\\\ \" ' ` | + @ ^".split(),
    *b"_ - -- = * ** / 0-2 2-1 1-2 8.1 0.1 #BOS #EOS #FORMAT #500 -LRB- -RRB- -NONE- ROOT".split(),
    *b"null true NaN Infinity [[model]] <s> </s> <t> *UNKNOWN* <unk> S|NP NP-SBJ=1".split(),
    *b"SpaceAfter=No sent_id newdoc _/_ '' ,, <nt> </nt> <![CDATA[ ]> <?x <!DOCTYPE".split(),
    *b"<!--a--> idref= id= word= </corpus> <corpus> <body> secedge &lol; xmlns= s1_500".split(),
    b'<!DOCTYPE c [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]>',
    *(b"\t", b"\t\t", b"\n", b"\n\n", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\0", b" ", b"  "),
    *(b"# sent_id = x\n", b"# text = \n", b"(ROOT ", b"\n(ROOT\n", b"#BOS 2\n", b"#EOS 2\n"),
)
ODD_TEXTS = (
    *("\ufeff", "\u2028", "\u2029", "\x85", "\xa0", "\u3000", "\u200b", "\xad", "\x1c", "\x1f"),
    *("\u202e", "\u2066", "\u200f", "\ufffd", "\ufffe", "\U0010ffff", "e\u0301", "\u0130"),
    *("\u0301" * 50, "\U0001f1e9" * 31, "\U0001f469\u200d" * 20, "\u0e01" * 200, "\u3042" * 200),
    *("\ud55c\uae00", "\u05d0\u05d1", "\u0661", "\ufb01", "\xdf", "\x7f", "\x1b[2J", "\u1100" * 20),
)
ODD = (
    *(text.encode() for text in ODD_TEXTS),
    *(b"\xff", b"\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\x80"),
)
NESTS = (
    *((b"(", b")"), (b"(S ", b")"), (b"(S (A a) ", b")"), (b"[", b"]"), (b'{"a":', b"}")),
    *((b"[[", b"]]"), (b"<t>", b"</t>"), (b"a.", b""), (b"a={", b"}"), (b"[NP ", b"]")),
)
DIGITS = re.compile(rb"[0-9]+")
MANY = (2, 3, 10, 100, 1000)


def _place(rng: random.Random, content: bytes) -> int:
    return rng.randrange(len(content) + 1)


def _part(rng: random.Random, content: bytes, longest: int = 400) -> tuple[int, int]:
    start = _place(rng, content)
    return start, min(len(content), start + rng.randrange(1, longest))


def flip(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 20)) if content else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut_off(rng: random.Random, content: bytes) -> bytes:
    at = _place(rng, content)
    return content[:at] if rng.random() < 0.8 else content[at:]


def remove(rng: random.Random, content: bytes) -> bytes:
    start, end = _part(rng, content, rng.choice((2, 20, 400)))
    return content[:start] + content[end:]


def repeat(rng: random.Random, content: bytes) -> bytes:
    start, end = _part(rng, content, rng.choice((2, 20, 400)))
    times = min(rng.choice(MANY), 20_000 // max(1, end - start))
    return content[:start] + content[start:end] * times + content[start:]


def move(rng: random.Random, content: bytes) -> bytes:
    start, end = _part(rng, content)
    rest = content[:start] + content[end:]
    at = _place(rng, rest)
    return rest[:at] + content[start:end] + rest[at:]


def insert(rng: random.Random, content: bytes) -> bytes:
    at = _place(rng, content)
    piece = rng.choice(rng.choice((PIECES, PIECES, ODD, NUMBERS)))
    return content[:at] + piece * rng.choice((1, 1, 1, 2, 30)) + content[at:]


def renumber(rng: random.Random, content: bytes) -> bytes:
    found = list(DIGITS.finditer(content))
    if not found:
        return insert(rng, content)
    start, end = rng.choice(found).span()
    return content[:start] + rng.choice(NUMBERS) + content[end:]


def nest(rng: random.Random, content: bytes) -> bytes:
    start, end = _part(rng, content)
    opening, closing = rng.choice(NESTS)
    times = rng.choice((3, 30, 300, 3000))
    closed = times + rng.choice((0, 0, 0, -1, 1, -times))
    return content[:start] + opening * times + content[start:end] + closing * closed + content[end:]


def lengthen(rng: random.Random, content: bytes) -> bytes:
    """A line, word or file of up to 10 KB, and more rarely of 100 KB or 1 MB."""
    start, end = _part(rng, content, rng.choice((2, 10, 1000)))
    size = rng.choice((300, 1000, 1000, 10_000))
    if rng.random() < 0.02:
        size = 1_000_000 if rng.random() < 0.02 else 100_000
    piece = content[start:end] or b"a"
    if rng.random() < 0.7:
        piece = piece.replace(b"\n", b" ")
    return content[:start] + piece * (size // len(piece)) + content[end:]


def rearrange_lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    how = rng.randrange(4)
    if how == 0:
        rng.shuffle(lines)
    elif how == 1:
        del lines[rng.randrange(len(lines))]
    elif how == 2:
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return rng.choice((b"\n", b"\n", b"\r\n", b"\r", b"", b"\n\n")).join(lines)


def change_cell(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    mark = b"\t" if b"\t" in lines[at] else b" "
    cells = lines[at].split(mark)
    cell = rng.randrange(len(cells))
    cells[cell] = rng.choice((b"", b"_", cells[rng.randrange(len(cells))], rng.choice(PIECES)))
    lines[at] = mark.join(cells)
    return b"\n".join(lines)


def encode(rng: random.Random, content: bytes) -> bytes:
    """Another encoding, or compressed: whole, damaged, doubly, or very small for its size."""
    how = rng.randrange(7)
    if how == 0:
        text = content.decode("utf-8", "replace")
        return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7")))
    if how == 1:
        return content.decode("utf-8", "replace").encode("latin-1", "replace")
    if how == 2:
        packed = lzma.compress(content, preset=0)
        return flip(rng, packed) if rng.random() < 0.5 else packed[: _place(rng, packed)]
    if how == 3 and rng.random() < 0.1:
        content += rng.choice((b" ", b"\n", b"(", b"a", b"a b\n", b"\0", b"(S (A a))\n")) * 100_000
    packed = gzip.compress(content, compresslevel=1, mtime=0)
    if how == 4:
        return flip(rng, packed)
    if how == 5:
        return packed[: _place(rng, packed)]
    return gzip.compress(packed, mtime=0) if how == 6 else packed + packed[: rng.choice((0, 5, 99))]


CHANGES: tuple[Change, ...] = (
    *(flip, cut_off, remove, repeat, move, insert, insert, renumber, renumber),
    *(nest, lengthen, rearrange_lines, change_cell, change_cell),
)


def changed(rng: random.Random, content: bytes, foreign: Sequence[bytes]) -> bytes:
    """An input with one to four changes."""
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        if rng.random() < 0.07:
            start, end = _part(rng, content)
            other = rng.choice(foreign)
            first, last = _part(rng, other)
            content = content[:start] + other[first:last] + content[end:]
        else:
            content = rng.choice(CHANGES)(rng, content)
    return encode(rng, content) if rng.random() < 0.04 else content


ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 7, 2**31, 2**63, 2**64, 10**400, 0.5, -1.5, 1e308, 1e-320),
    *("", " ", "a", "NP", "(", "a b", "\ud800", "\0", "\u2028", "x" * 5000, "1", "nan"),
    *([], {}, [[]], [None], {"a": None}, {"": 0}, [0, 1], ["a", "a"], ["a"] * 1000, [0] * 1000),
)


def change_value(rng: random.Random, value: Any) -> Any:
    """A JSON value with one part of it exchanged, removed, doubled, or wrapped."""
    if isinstance(value, dict | list) and value and rng.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(list(keys))
        copy = dict(value) if isinstance(value, dict) else list(value)
        how = rng.random()
        if how < 0.7:
            copy[key] = change_value(rng, copy[key])
        elif how < 0.8:
            del copy[key]
        elif how < 0.9:
            copy[key] = copy[rng.choice(list(keys))]
        elif isinstance(copy, list):
            copy.insert(key, copy[rng.choice(list(keys))])
        else:
            copy[rng.choice(("a", "", "words", "kind"))] = rng.choice(ODD_VALUES)
        return copy
    how = rng.random()
    if how < 0.1:
        return [value]
    if how < 0.3 and isinstance(value, int | float) and not isinstance(value, bool):
        return value + rng.choice((-1, 1, 100))
    if how < 0.4 and isinstance(value, str):
        return value + rng.choice(("x", " ", "(", "\u00e9"))
    return rng.choice(ODD_VALUES)


def changed_json(rng: random.Random, content: bytes, foreign: Sequence[bytes]) -> bytes:
    """Lines of JSON, changed as values or as bytes."""
    if rng.random() < 0.4:
        return changed(rng, content, foreign)
    lines = content.split(b"\n")
    at = rng.choice([at for at, line in enumerate(lines) if line])
    value = json.loads(lines[at])
    for _ in range(rng.choice((1, 1, 2, 3))):
        value = change_value(rng, value)
    lines[at] = json.dumps(value).encode()
    return b"\n".join(lines)


def changed_model(rng: random.Random, content: bytes, foreign: Sequence[bytes]) -> bytes:
    """A model file with another header or other arrays, which nevertheless has a valid digest."""
    how = rng.random()
    if how < 0.1:
        return changed(rng, content, foreign)
    if how < 0.25:
        return _signed(flip(rng, content[:-SIGNED]))
    length = struct.unpack("<Q", content[:8])[0]
    table: dict[str, Any] = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    parts = {
        name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
        for name, entry in table.items()
        if name not in ("__metadata__", "sha256")
    }
    metadata = table["__metadata__"]
    if how < 0.7 or not parts:
        header = json.loads(metadata["header"])
        for _ in range(rng.choice((1, 1, 2))):
            header = change_value(rng, header)
        metadata["header"] = json.dumps(header)
    else:
        for _ in range(rng.choice((1, 1, 2))):
            name = rng.choice(list(parts))
            parts[name] = _changed_part(rng, *parts[name])
            if rng.random() < 0.1:
                parts[rng.choice((name, "array:other"))] = parts.pop(name)
            elif rng.random() < 0.1:
                parts[name] = rng.choice(list(parts.values()))
    if rng.random() < 0.02:
        metadata = change_value(rng, metadata)
    start = 0
    table = {"__metadata__": metadata}
    for name, (code, shape, piece) in parts.items():
        table[name] = {"dtype": code, "shape": shape, "data_offsets": [start, start + len(piece)]}
        start += len(piece)
    table["sha256"] = {"dtype": "U8", "shape": [SIGNED], "data_offsets": [start, start + SIGNED]}
    text = json.dumps(table).encode()
    text += b" " * (-(8 + len(text)) % 64)
    pieces = b"".join(piece for _, _, piece in parts.values())
    return _signed(struct.pack("<Q", len(text)) + text + pieces)


def _signed(content: bytes) -> bytes:
    return content + hashlib.sha256(content).digest()


def changed_tagger(rng: random.Random, content: bytes, foreign: Sequence[bytes]) -> bytes:
    """Bytes of CRFsuite with other numbers, among them offsets, and the size that they have."""
    if rng.random() < 0.1:
        return changed(rng, content, foreign)
    changed_bytes = bytearray(content)
    start = content.index(b"lCRF")
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.choice((start + 4 * rng.randrange(12), rng.randrange(start, len(content) - 4)))
        value = rng.choice((0, 1, 3, 255, len(content), len(content) - 1, 2**31, 2**32 - 1))
        changed_bytes[at : at + 4] = struct.pack("<I", value)
    changed_bytes[start + 4 : start + 8] = struct.pack("<I", len(content) - start)
    return bytes(changed_bytes)


TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1"}
TYPES |= {"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "|b1"}
ODD_NUMBERS = (0, 1, -1, 2, 100, 127, 2**15, 2**31 - 1, -(2**31), 2**62, 0.5, -0.5, 1e300, 1e-300)


def _changed_part(
    rng: random.Random, code: str, shape: list[int], piece: bytes
) -> tuple[str, list[int], bytes]:
    array = np.frombuffer(piece, TYPES[code]).reshape(shape).copy()
    how = rng.randrange(8)
    with np.errstate(all="ignore"):
        if how <= 3 and array.size:
            for _ in range(rng.choice((1, 1, 3))):
                value = np.array(rng.choice(ODD_NUMBERS)).astype(array.dtype)
                array.reshape(-1)[rng.randrange(array.size)] = value
            if rng.random() < 0.05 and array.dtype.kind == "f":
                array.reshape(-1)[0] = np.nan
        elif how == 4:
            code = rng.choice(list(TYPES))
            array = np.nan_to_num(array).astype(TYPES[code])
        elif how == 5 and array.ndim and len(array):
            array = np.delete(array, rng.randrange(len(array)), axis=0)
        elif how == 6 and array.ndim and len(array):
            array = np.concatenate([array, array[-1:]])
        else:
            array = array.reshape(rng.choice(([-1], [1, *array.shape], [*array.shape, 1])))
    return code, list(array.shape), array.tobytes()


def changed_clusters(rng: random.Random, content: bytes, foreign: Sequence[bytes]) -> bytes:
    how = changed if content.startswith(b"00\t") else changed_model
    return how(rng, content, foreign)
