#!/bin/sh
# Attachment with and without relations, by the default settings: sh labelled.sh TREEBANK
# TREEBANK is a folder with train.conllu, dev.conllu and test.conllu.
set -eu
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
eigentree dependencies train "$1/train.conllu" --dev "$1/dev.conllu" -o "$made/model.egt"
for tags in "" --ignore-tags; do
    eigentree dependencies parse --input-format conllu --quiet --model "$made/model.egt" $tags "$1/test.conllu" > "$made/parsed.conllu"
    echo "test, ${tags:-gold tags}"
    eigentree dependencies evaluate "$1/test.conllu" "$made/parsed.conllu" | grep -E "^(U|L)AS, %|95 %"
done
