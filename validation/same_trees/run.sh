#!/bin/sh
# Train and parse with one seed, and print digests of the parses: a change of the code that is not
# meant to change results must leave all of them as they are.
# Usage: sh validation/same_trees/run.sh TREEBANKS OUTPUT
set -eu
treebanks=$1
output=$2
mkdir -p "$output"
train=$treebanks/wsj_sample/train.mrg
dev=$treebanks/wsj_sample/dev.mrg
head -500 "$treebanks/craft/dev.mrg" > "$output/craft_500.mrg"

for settings in "spectral 24" "em 4" "clustering 8"; do
    set -- $settings
    eigentree train "$train" -o "$output/$1.egt" --method "$1" --states "$2" --seed 1
    eigentree parse --model "$output/$1.egt" --input-format trees < "$dev" > "$output/wsj_$1.mrg"
done
eigentree parse --model "$output/spectral.egt" --input-format trees \
    < "$output/craft_500.mrg" > "$output/craft_spectral.mrg"
eigentree parse --model english --input-format trees < "$dev" > "$output/wsj_english.mrg"

swedish=$treebanks/ud_swedish_lines
eigentree dependencies train "$swedish/train.conllu" -o "$output/swedish.egt" --seed 1
eigentree dependencies parse --model "$output/swedish.egt" --input-format conllu \
    < "$swedish/dev.conllu" > "$output/swedish.conllu"

eigentree induce train "$train" -o "$output/induced.egt" --input-format trees
eigentree induce parse --model "$output/induced.egt" --input-format trees \
    < "$dev" > "$output/wsj_induced.txt"

cd "$output"
sha256sum wsj_*.mrg craft_spectral.mrg swedish.conllu wsj_induced.txt
