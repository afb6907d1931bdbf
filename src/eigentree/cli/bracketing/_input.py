"""What `induce train` and `induce parse` read: sentences with tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from eigentree.cli._options import TagColumn
from eigentree.cli._parsing import InputSentence, Remark, read_input

InputFormat = Literal["auto", "tagged", "conllu", "trees"]
InputFormatOption = Annotated[
    InputFormat,
    typer.Option(
        "--input-format",
        help="Format of the input. tagged: word_TAG, one sentence per line. conllu: CoNLL-U. "
        "trees: the words and tags of trees, in brackets, NEGRA export or TIGER-XML. auto: trees "
        "and CoNLL-U by content, otherwise tagged.",
    ),
]
RootSplitOption = Annotated[
    Literal["verbs", "free"] | None,
    typer.Option(
        "--top",
        help="How the top bracket splits a sentence: by a rule on verbs, or as the best tree does.",
    ),
]


def read_tagged(
    files: list[str], input_format: InputFormat, tag_column: TagColumn, remark: Remark
) -> Iterator[InputSentence]:
    """The sentences of files."""
    from eigentree.treebank.cleaning import CleaningOptions

    cleaning = CleaningOptions(cut_tags=True)
    return read_input(
        files, input_format, tag_column=tag_column, cleaning=cleaning, otherwise="tagged",
        remark=remark,
    )  # fmt: skip


def problem_without_tags(sentence: InputSentence) -> str | None:
    """Why a sentence can't be used, where it has words but no tags."""
    if not sentence.words or sentence.tags is not None:
        return None
    return f"{sentence.place}: the sentence has no tags; they are required"


def tags_of(sentence: InputSentence) -> list[str]:
    """The tags of a sentence in a format that has one for each word."""
    return [tag for tag in sentence.tags or () if isinstance(tag, str)]
