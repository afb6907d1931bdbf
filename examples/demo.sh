#!/bin/sh
# The whole way, on the small treebank of the package: check, train, parse, evaluate, draw.
# Run it by `make demo`; SENTENCE in the environment replaces the built-in sentences.
set -eu
cd "$(dirname "$0")/.."

data=src/eigentree/data/demo
out=${DEMO_OUTPUT:-demo-output}
mkdir -p "$out"

show() { # a command as one string, since some redirect
    printf '\n$ %s\n' "$1"
    eval "$1"
}

show "eigentree check $data/train.mrg"
show "eigentree train $data/train.mrg --dev $data/heldout.mrg -o $out/demo.egt \
--method spectral --states 8 --seed 1"

if [ -n "${SENTENCE:-}" ]; then
    printf '%s\n' "$SENTENCE" >"$out/sentences.txt"
else
    cat >"$out/sentences.txt" <<'END'
I saw the boy with the dog in the park .
She said that the children were sleeping .
Where did you leave the keys ?
END
fi
show "cat $out/sentences.txt"
show "eigentree parse --model $out/demo.egt --output drawing <$out/sentences.txt"
show "eigentree parse --model $out/demo.egt <$out/sentences.txt >$out/sentences.mrg"
show "eigentree draw $out/sentences.mrg --format svg -o $out/sentences.svg"

printf '\nTrees that the parser has not seen, by their words and tags:\n'
show "eigentree parse --model $out/demo.egt --input trees <$data/heldout.mrg >$out/heldout.mrg"
show "eigentree evaluate $data/heldout.mrg $out/heldout.mrg"

printf '\nThe model, the trees and the drawing are in %s/.\n' "$out"
