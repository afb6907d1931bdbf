r"""Damaged inputs for every reader: each must be read, or refused with an error of the package.

    python -m benchmarks.fuzz                            every reader, 10,000 inputs in all
    python -m benchmarks.fuzz --inputs 1000000           the measurement of validation/fuzz
    python -m benchmarks.fuzz --only conllu --seed 7     one reader, other inputs
    python -m benchmarks.fuzz --only conllu --at 1234 --show    one input, on standard output

Inputs are valid ones with one to four changes: bytes flipped, parts cut, repeated or exchanged
with those of another format, huge numbers, deep nesting, odd characters, long lines, compression.
Models are also changed within their header and arrays, with a new digest, so that the checks
behind the digest are reached; a model that opens must parse two words.  Input i of a reader is
determined by the seed.

A fault is any other exception or warning, more than 5 s of CPU for an input, more than 1 GiB beyond
what the process has at its start, or a crash.  Each reader has a process of its own; faulty inputs
are kept in the folder --keep.  The exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import atexit
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np

from benchmarks import fuzz_inputs as inputs
from benchmarks.fuzz_inputs import (
    changed,
    changed_clusters,
    changed_json,
    changed_model,
    changed_tagger,
)
from eigentree.errors import EigentreeError, counted
from eigentree.tokenisation.scheme import TokenisationScheme

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 5.0
EXTRA_BYTES = 1 << 30
# A kernel that never returns can't be interrupted, so the process is killed after this time.
STUCK_SECONDS = 60.0

# Readers.

# English, any language, and one whose words are known but not separated.
SCHEMES = (
    TokenisationScheme(),
    TokenisationScheme.of_mode("unicode"),
    replace(
        TokenisationScheme.of_mode("unicode"), spaceless=("\u0e41\u0e21\u0e27", "\u0e01", "\u732b")
    ),
)


class Reader(NamedTuple):
    """A reader: valid inputs, how to change them, how to read one from a file, its share."""

    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[Path, int], object]
    share: float = 1.0
    change: Callable[[random.Random, bytes, Sequence[bytes]], bytes] = changed


def _texts(*texts: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [text.encode() for text in texts]


def _printable(problems: Iterable[object]) -> None:
    """Messages must be printable, whatever the input has."""
    for problem in problems:
        str(problem).encode()


def read_trees(path: Path, number: int) -> None:
    from eigentree.treebank.check_constituency import examine
    from eigentree.treebank.io.brackets import format_tree, parse_tree
    from eigentree.treebank.reader import read_treebank

    bank = read_treebank(path, on_error="raise" if number % 3 == 0 else "skip")
    _printable([*bank.problems, *bank.notices])
    for tree in bank.trees:
        text = format_tree(tree)
        text.encode()
        if len(text) < 1000 and parse_tree(text) != tree:
            raise AssertionError(f"a written tree is read as another: {text}")
    if number % 10 == 0:
        examine(bank)


def read_dependencies(path: Path, number: int) -> None:
    from eigentree.treebank.check_dependency import examine_dependencies
    from eigentree.treebank.io.conllu import format_sentence, read_conllu, read_dependencies

    heads = ("check", "attach", "ignore")[number % 3]
    bank = read_dependencies(path, on_error="raise" if number % 4 == 0 else "skip", heads=heads)
    _printable(bank.problems)
    for sentence in bank.sentences:
        text = format_sentence(sentence)
        text.encode()
        again = [each.sentence for each in read_conllu(text.split("\n"), heads=heads)]
        if len(text) < 1000 and again != [sentence]:
            raise AssertionError(f"a written sentence is read as another: {text}")
    if number % 10 == 0 and heads != "ignore":
        examine_dependencies(bank)


def read_words(form: Any) -> Callable[[Path, int], None]:
    def read(path: Path, number: int) -> None:
        from eigentree.treebank.io.sentences import read_sentences
        from eigentree.treebank.io.text_files import open_text

        on_error = "raise" if number % 4 == 0 else "skip"
        with open_text(path, keep_bad_bytes=on_error == "skip") as lines:
            for sentence in read_sentences(
                lines, form, on_error=on_error, labels=("NP", "S", "NN", "VB")
            ):
                _printable([sentence.problem])
                " ".join(sentence.words).encode()

    return read


def read_unlabelled(notation: Any) -> Callable[[Path, int], None]:
    def read(path: Path, number: int) -> None:
        from eigentree.treebank.io.text_files import open_text
        from eigentree.treebank.io.unlabelled import read_bracketings

        on_error = "raise" if number % 4 == 0 else "skip"
        with open_text(path, keep_bad_bytes=on_error == "skip") as lines:
            for record in read_bracketings(lines, notation=notation, on_error=on_error):
                _printable([record.problem])

    return read


def read_raw_text(path: Path, number: int) -> None:
    from eigentree.tokenisation.reader import read_text
    from eigentree.treebank.io.text_files import open_text

    scheme = SCHEMES[number % len(SCHEMES)]
    with open_text(path, keep_bad_bytes=True) as lines:
        for each in read_text(lines, scheme, name="text", wrapped=number % 2 == 0):
            _printable([each.problem])
            if each.sentence is not None:
                " ".join(each.sentence.words).encode()


def read_constraints(path: Path, _: int) -> None:
    from eigentree.cli._parsing import InputErrors, InputSentence
    from eigentree.cli.constituency._constraints import with_constraints

    class Errors(InputErrors):
        def report(self, problem: str) -> None:
            problem.encode()

    sentences = [InputSentence(number, "here", ["a", "b", "c"], None) for number in (1, 2, 3)]
    list(with_constraints(sentences, str(path), Errors()))


def read_study_file(path: Path, _: int) -> None:
    from eigentree.studies.settings import read_study

    read_study(path)


def read_ensemble_file(path: Path, _: int) -> None:
    from eigentree.constituency.ensemble.config import read_ensemble_config

    read_ensemble_config(path).members()


def read_word_vectors(path: Path, _: int) -> None:
    from eigentree.words.vectors import read_vectors

    read_vectors(path)


def read_brown_clusters(path: Path, _: int) -> None:
    from eigentree.words.brown_files import read_clusters

    read_clusters(path)


def read_head_table(path: Path, _: int) -> None:
    from eigentree.treebank.heads import head_rules

    head_rules(path)


def read_tag_table(path: Path, _: int) -> None:
    from eigentree.treebank.universal_tags import tag_map

    tag_map(path)


def read_dictionary(path: Path, _: int) -> None:
    from eigentree.words.tag_dictionary import TagDictionary, read_tag_dictionary

    dictionary = read_tag_dictionary(path)
    content = dictionary.to_bytes()
    assert TagDictionary.from_bytes(content).to_bytes() == content


def read_request(name: str) -> Callable[[Path, int], None]:
    def read(path: Path, _: int) -> None:
        from eigentree.treebank.constraints import Constraints
        from eigentree.treebank.io.sentences import check_tags, check_words
        from eigentree.web import requests
        from eigentree.web.errors import as_json
        from eigentree.web.limits import Limits
        from eigentree.web.request_body import read_json
        from eigentree.web.worker import _evaluate

        try:
            body = requests.validated(getattr(requests, name), read_json(path.read_bytes()))
            if name == "EvaluateRequest":
                as_json(_evaluate(None, **body.model_dump()))
                return
            limits = Limits()
            sentences = requests.requested_sentences(body, limits)
            for number, each in enumerate([] if isinstance(sentences, str) else sentences):
                requests.check_sentence(each, number, limits)
                Constraints.from_json(each.constraints).check_length(len(each.words))
                check_words(each.words)
                if each.tags is not None:
                    check_tags(each.tags, len(each.words))
        except EigentreeError as error:
            as_json(getattr(error, "record", str(error)))
            raise

    return read


def read_model(path: Path, _: int) -> None:
    """Open a model of any kind, and use it."""
    from eigentree.automata.model_file import load_automaton
    from eigentree.base import kind_of, load

    if kind_of(path) in ("automaton", "hidden Markov model"):
        load_automaton(path).value(["the", "dog"])
        return
    parser = load(path)
    needs_tags = getattr(parser, "tagger", None) is None
    parser.parse(["the", "dog"], ["DT", "NN"] if needs_tags else None)


def npz_vectors() -> bytes:
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        words=np.frombuffer(b"the\ndog", np.uint8),
        matrix=np.ones((2, 3), np.float32),
        unknown=np.zeros(3, np.float32),
    )
    return packed.getvalue()


def vector_seeds() -> list[bytes]:
    return [inputs.VECTORS.encode(), inputs.GLOVE.encode(), npz_vectors()]


def saved(save: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "model.egt")
        return (Path(folder) / "model.egt").read_bytes()


def cluster_seeds() -> list[bytes]:
    from eigentree.words.brown_files import parse_clusters, write_clusters

    clusters = parse_clusters(inputs.CLUSTERS.split("\n"))
    return [inputs.CLUSTERS.encode(), saved(lambda path: write_clusters(clusters, path))]


ENSEMBLE_FILES = ("ensemble.egt", "members/f-0.2-1.egt", "rerankers/c.egt")
TRAINING = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
] * 4


def constituency_seeds() -> list[bytes]:
    from eigentree.constituency.parser import ConstituencyParser
    from eigentree.treebank.io.brackets import parse_tree

    trees = [parse_tree(text) for text in TRAINING]
    methods = ("clustering", "spectral", "pcfg")
    parsers = [ConstituencyParser.train(trees, states=2, method=method) for method in methods]
    parsers.append(replace(parsers[0], tagger=None))
    return [saved(parser.save) for parser in parsers]


def dependency_seeds() -> list[bytes]:
    from eigentree.dependency.parser import DependencyParser
    from eigentree.treebank.io.conllu import read_conllu

    records = read_conllu(inputs.CONLLU.split("\n"))
    sentences = [record.sentence for record in records if record.sentence is not None]
    return [saved(DependencyParser.train(sentences * 5).save)]


def bracketing_seeds() -> list[bytes]:
    from eigentree.bracketing.parser import BracketingParser

    text = [(["the", "dog", "barks"], ["DT", "NN", "VBZ"]), (["a", "cat"], ["DT", "NN"])] * 5
    return [
        saved(BracketingParser.train(text, method=method).save)
        for method in ("metric", "constituent-context")
    ]


def automaton_seeds() -> list[bytes]:
    from eigentree.automata.hidden_markov import count_hidden_markov
    from eigentree.automata.model_file import save_automaton
    from eigentree.automata.sequences import Sequences
    from eigentree.automata.spectral import learn_operators

    words, tags = ["the", "dog", "barks"], ["DT", "NN", "VBZ"]
    models = (
        learn_operators(Sequences.of([words, words[:2]] * 5)),
        count_hidden_markov([(words, tags), (words[:2], tags[:2])] * 5, order=2),
    )
    return [saved(partial(save_automaton, model)) for model in models]


def ensemble_files() -> Path:
    """A trained ensemble, made once a process; its folder goes with the process."""
    from eigentree.constituency.ensemble.config import make_config
    from eigentree.constituency.ensemble.training import train_ensemble
    from eigentree.simulation import attachment_grammar, sample_trees
    from eigentree.treebank.binarise import unbinarise

    folder = Path(tempfile.gettempdir()) / f"fuzz-{os.getpid()}"
    if not folder.exists():
        atexit.register(shutil.rmtree, folder)
        family = {"name": "f", "noise": "dropout", "sigma": [0.2], "copies": 2, "states": 2}
        config = make_config(
            {
                "family": [family],
                "combination": [{"name": "c", "how": "maxent", "inputs": ["f"]}],
                "jackknife": {"folds": 2},
            }
        )
        trees = sample_trees(attachment_grammar(), 40, seed=1)
        train_ensemble([unbinarise(tree) for tree in trees], config, folder)
    return folder


def ensemble_seeds() -> list[bytes]:
    """The files of an ensemble: index, member, reranker."""
    return [(ensemble_files() / name).read_bytes() for name in ENSEMBLE_FILES]


def read_ensemble(path: Path, number: int) -> None:
    """An ensemble one of whose files is another."""
    from eigentree.base import load

    folder = ensemble_files()
    name = ENSEMBLE_FILES[number % len(ENSEMBLE_FILES)]
    other = path.parent / "ensemble"
    if not other.exists():
        shutil.copytree(folder, other)
    shutil.copyfile(path, other / name)
    try:
        load(other).parse(["the", "dog"])
    finally:
        shutil.copyfile(folder / name, other / name)


def tagger_seeds() -> list[bytes]:
    from eigentree.words.tagger import Tagger

    sentences = [(["the", "dog", "barks"], ["DT", "NN", "VBZ"]), (["a", "cat"], ["DT", "NN"])] * 5
    return [Tagger.train(sentences).to_bytes()]


def read_tagger(path: Path, _: int) -> None:
    from eigentree.words.tagger import Tagger

    Tagger.from_bytes(path.read_bytes()).tag(["the", "dog"])


READERS: dict[str, Reader] = {
    "brackets": Reader(_texts(inputs.BRACKETS), read_trees, 3),
    "negra export": Reader(_texts(inputs.EXPORT), read_trees, 3),
    "tiger-xml": Reader(_texts(inputs.TIGER), read_trees, 3),
    "conllu": Reader(_texts(inputs.CONLLU), read_dependencies, 3),
    "tokens": Reader(_texts(inputs.TOKENS), read_words("tokens")),
    "tagged": Reader(_texts(inputs.TAGGED), read_words("tagged"), 2),
    "conllu words": Reader(_texts(inputs.CONLLU), read_words("conllu")),
    "tree words": Reader(_texts(inputs.BRACKETS, inputs.EXPORT, inputs.TIGER), read_words("trees")),
    "bracketed": Reader(_texts(inputs.BRACKETED), read_words("bracketed")),
    "half-trees": Reader(_texts(inputs.HALF_TREES), read_words("half-trees")),
    "json": Reader(_texts(inputs.JSON_LINES), read_words("json"), 2, changed_json),
    "plain brackets": Reader(_texts(inputs.PLAIN), read_unlabelled("plain")),
    "spans": Reader(_texts(inputs.SPANS), read_unlabelled("spans")),
    "raw text": Reader(_texts(inputs.TEXT), read_raw_text, 0.7),
    "constraints": Reader(_texts(inputs.CONSTRAINTS), read_constraints, 1, changed_json),
    "study": Reader(
        _texts(inputs.STUDY, inputs.DEPENDENCY_STUDY, inputs.BRACKETING_STUDY), read_study_file
    ),
    "ensemble": Reader(_texts(inputs.ENSEMBLE), read_ensemble_file),
    "vectors": Reader(vector_seeds, read_word_vectors, 2),
    "clusters": Reader(cluster_seeds, read_brown_clusters, 2, changed_clusters),
    "heads": Reader(_texts(inputs.HEADS), read_head_table),
    "tag map": Reader(_texts(inputs.TAG_MAP), read_tag_table),
    "tag dictionary": Reader(_texts(inputs.TAG_DICTIONARY), read_dictionary),
    **{
        name: Reader(_texts(text), read_request(name), 0.6, changed_json)
        for name, text in inputs.REQUESTS.items()
    },
    "constituency model": Reader(constituency_seeds, read_model, 0.5, changed_model),
    "dependency model": Reader(dependency_seeds, read_model, 0.5, changed_model),
    "bracketing model": Reader(bracketing_seeds, read_model, 0.5, changed_model),
    "automaton": Reader(automaton_seeds, read_model, 0.5, changed_model),
    "ensemble model": Reader(ensemble_seeds, read_ensemble, 0.2, changed_model),
    "tagger": Reader(tagger_seeds, read_tagger, 0.5, changed_tagger),
}


def fuzzed(name: str, seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """Input `number` of a reader."""
    rng = random.Random(f"{seed} {name} {number}")
    return READERS[name].change(rng, seeds[number % len(seeds)], inputs.FOREIGN)


class SlowError(BaseException):
    """An input took too long; not an Exception, so that no reader catches it."""


def _out_of_time(_: int, __: FrameType | None) -> None:
    raise SlowError(f"more than {SECONDS:g} s of CPU")


REFUSED = ""


def fault_of(read: Callable[[Path, int], object], path: Path, number: int) -> str | None:
    """What is wrong with how a file is read; None for a result, `REFUSED` for a proper error."""
    signal.signal(signal.SIGPROF, _out_of_time)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        read(path, number)
    except EigentreeError as error:
        try:
            str(error).encode()
        except UnicodeEncodeError:
            return f"a message that can't be printed: {error!a}"
        return REFUSED
    except TypeError as error:
        # Wrong types in values are for the caller to correct, as the functions document.
        if traceback.extract_tb(error.__traceback__)[-1].name not in ("check_words", "check_tags"):
            return traceback.format_exc()
        return REFUSED
    except (Exception, SlowError):
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def memory(field: str) -> int:
    """A field of the process's status in bytes, such as VmHWM."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024


def run_portion(name: str, seed: int, first: int, last: int, folder: Path) -> None:
    """Read inputs of one reader; a line of JSON for each fault, and one at the end."""
    warnings.simplefilter("error")
    reader, path = READERS[name], folder / "input"
    seeds = reader.seeds()
    for number, content in enumerate(seeds):
        path.write_bytes(content)
        fault = fault_of(reader.read, path, number)
        if fault is not None:
            raise AssertionError(f"valid input {number} of {name}: {fault or 'refused'}")
    at_start = memory("VmRSS")
    limit = memory("VmSize") + EXTRA_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    slowest, slowest_at, n_refused = 0.0, first, 0
    for number in range(first, last):
        path.write_bytes(fuzzed(name, seeds, seed, number))
        (folder / "number").write_text(str(number))
        began = time.process_time()
        fault = fault_of(reader.read, path, number)
        slowest, slowest_at = max((slowest, slowest_at), (time.process_time() - began, number))
        n_refused += fault == REFUSED
        if fault:
            print(json.dumps({"number": number, "fault": fault}), flush=True)
    seconds = {"cpu": time.process_time(), "slowest": slowest, "slowest_at": slowest_at}
    used = {"start": at_start, "peak": memory("VmHWM")}
    print(json.dumps({"refused": n_refused, **seconds, **used}), flush=True)


class Outcome(NamedTuple):
    """What came of the inputs of one reader; times in seconds, memory in bytes."""

    faults: list[tuple[int, str]]
    refused: int
    cpu: float
    slowest: float
    slowest_at: int
    start: int
    peak: int


def run_reader(name: str, seed: int, first: int, last: int) -> Outcome:
    """Read the inputs in a process of their own, and in another one after each crash.

    The figures are those of the last process.
    """
    faults: list[tuple[int, str]] = []
    while True:
        with tempfile.TemporaryDirectory(dir=scratch()) as folder:
            portion = ["--portion", name, str(first), str(last), folder, "--seed", str(seed)]
            with (Path(folder) / "output").open("w+b") as out, tempfile.TemporaryFile() as err:
                process = subprocess.Popen(
                    [sys.executable, "-m", "benchmarks.fuzz", *portion],
                    stdout=out,
                    stderr=err,
                    cwd=ROOT,
                )
                is_stuck = wait(process, Path(folder))
                out.seek(0)
                err.seek(0)
                output, errors = out.read().decode(), err.read().decode()
            at = Path(folder) / "number"
            number = int(at.read_text()) if at.exists() else first
        figures: dict[str, Any] | None = None
        for line in output.split("\n")[:-1]:
            record = json.loads(line)
            if "fault" in record:
                faults.append((record["number"], record["fault"]))
            else:
                figures = record
        if figures is not None:
            return Outcome(faults, **figures)
        if not (is_stuck or process.returncode < 0):
            raise SystemExit(f"{name}: {errors[-3000:]}")
        faults.append((number, "never ended" if is_stuck else f"signal {-process.returncode}"))
        first = number + 1


def scratch() -> str | None:
    """A folder in memory, if there is one."""
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def wait(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Wait for a portion; kill it, and return True, if it makes no progress."""
    seen, since = "", time.monotonic()
    while True:
        try:
            process.wait(1.0)
            return False
        except subprocess.TimeoutExpired:
            at = folder / "number"
            number = at.read_text() if at.exists() else ""
        if number != seen:
            seen, since = number, time.monotonic()
        elif number and time.monotonic() - since > STUCK_SECONDS:
            process.kill()
            return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=READERS, default=[])
    parser.add_argument("--at", type=int, help="the number of one input")
    parser.add_argument("--show", action="store_true", help="print that input")
    parser.add_argument("--keep", type=Path, help="folder for faulty inputs")
    parser.add_argument("--portion", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.portion:
        name, first, last, folder = given.portion
        run_portion(name, given.seed, int(first), int(last), Path(folder))
        return
    names = given.only or list(READERS)
    if given.show:
        sys.stdout.buffer.write(fuzzed(names[0], READERS[names[0]].seeds(), given.seed, given.at))
        return
    whole = sum(READERS[name].share for name in names)
    total: Counter[str] = Counter()
    cpu = 0.0
    print(
        "| reader | inputs | refused | faults | CPU, s | slowest (input) | start, MB | peak, MB |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in names:
        first, last = 0, max(1, round(given.inputs * READERS[name].share / whole))
        if given.at is not None:
            first, last = given.at, given.at + 1
        found = run_reader(name, given.seed, first, last)
        print(
            f"| {name} | {last - first:,} | {found.refused:,} | {len(found.faults)} "
            f"| {found.cpu:.0f} | {found.slowest:.2f} ({found.slowest_at}) "
            f"| {found.start / 1e6:.0f} | {found.peak / 1e6:.0f} |",
            flush=True,
        )
        total.update(inputs=last - first, refused=found.refused, faults=len(found.faults))
        cpu += found.cpu
        report(name, given.seed, found.faults, given.keep)
    counts = " | ".join(f"{total[name]:,}" for name in ("inputs", "refused", "faults"))
    print(f"| all | {counts} | {cpu:.0f} | | | |")
    print(f"{counted(total['faults'], 'fault')} in {counted(total['inputs'], 'input')}")
    sys.exit(1 if total["faults"] else 0)


def report(name: str, seed: int, faults: list[tuple[int, str]], keep: Path | None) -> None:
    """Print each kind of fault once, by the last line of its traceback; keep the inputs."""
    seeds = READERS[name].seeds() if faults and keep is not None else []
    kinds: dict[str, tuple[int, str, int]] = {}
    for number, fault in faults:
        places = re.findall(r'File "([^"]*)", line (\d+)', fault)
        kind = f"{places[-1] if places else ''} {fault.strip().splitlines()[-1][:60]}"
        first, text, times = kinds.get(kind, (number, fault, 0))
        kinds[kind] = first, text, times + 1
        if keep is not None and not times:
            keep.mkdir(parents=True, exist_ok=True)
            file = keep / f"{name.replace(' ', '-')}-{seed}-{number}"
            file.write_bytes(fuzzed(name, seeds, seed, number))
    for number, text, times in kinds.values():
        lines = text.strip().splitlines()
        shown = "\n".join([*lines[:1], *lines[-14:]] if len(lines) > 15 else lines)
        print(f"{name}, input {number}, {counted(times, 'time')}:\n{shown[:2500]}", file=sys.stderr)


if __name__ == "__main__":
    main()
