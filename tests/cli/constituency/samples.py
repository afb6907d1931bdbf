"""Sentences, trees and a process that the tests of this folder share."""

from __future__ import annotations

import selectors
import subprocess
import sys

EIGENTREE = [sys.executable, "-c", "from eigentree.cli.app import main; main()"]
SENTENCES = ["The dog sees the old cat .", "", "????", "( Who left ? )", "😀 zorgle"]
TREES = """\
( (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)))) )
( (S (NP (DT the) (NN cat)) (VP (VBZ runs))) )
( (S (NP (DT a) (NN man)) (VP (VBZ sees) (NP (DT a) (NN dog)))) )
"""


def answers_one_by_one(model, lines):
    """What `parse` prints for each line of its input, before it is sent the next one."""
    with subprocess.Popen(
        [*EIGENTREE, "parse", "-m", str(model), "-q"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        waiting = selectors.DefaultSelector()
        waiting.register(process.stdout, selectors.EVENT_READ)
        answers = []
        for text in lines:
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            answered = waiting.select(timeout=120)
            if not answered:
                process.kill()
            assert answered
            answers.append(process.stdout.readline().decode().rstrip("\n"))
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    return answers
