#!/bin/sh
# Parses text with the models that come with the package, then goes the whole way from trees to a
# parser on the package's small treebank: check, train, parse, evaluate.
# Run it by `make demo`; SENTENCE in the environment replaces the built-in text.
set -eu
cd "$(dirname "$0")/.."

data=src/eigentree/data/demo
out=${DEMO_OUTPUT:-demo-output}
mkdir -p "$out"

show() { # a command as one string, since some redirect
    printf '\n$ %s\n' "$1"
    eval "$1"
}

if [ -n "${SENTENCE:-}" ]; then
    printf '%s\n' "$SENTENCE" >"$out/text.txt"
else
    cat >"$out/text.txt" <<'END'
I saw the boy with the dog in the park. She said that the children weren't sleeping.
Where did you leave the keys?
END
fi
show "cat $out/text.txt"
show "eigentree parse --output-format drawing <$out/text.txt"
show "eigentree parse <$out/text.txt >$out/text.mrg"
show "eigentree draw $out/text.mrg --output-format svg -o $out/text.svg"
show "eigentree dependencies parse <$out/text.txt"

printf '\nA parser of your own, from trees:\n'
show "eigentree check $data/train.mrg"
show "eigentree train $data/train.mrg --dev $data/heldout.mrg -o $out/demo.egt \
--method spectral --states 8 --seed 1"

printf '\nTrees that this parser has not seen, by their words and tags:\n'
show "eigentree parse --model $out/demo.egt --input-format trees <$data/heldout.mrg >$out/heldout.mrg"
show "eigentree evaluate $data/heldout.mrg $out/heldout.mrg"

printf '\nThe model, the trees and the drawing are in %s/.\n' "$out"
