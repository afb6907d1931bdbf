"""The verb ``dependencies states``: what the hidden states of a head's automaton stand for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import OutputOption, check_inputs, keep_inputs
from eigentree.data.catalogue import resolve_model
from eigentree.errors import GrammarError, SettingsError

if TYPE_CHECKING:
    from eigentree.automata.sequences import Sequences
    from eigentree.dependency.parser import DependencyParser


def states(
    model: Annotated[str, typer.Argument(help="A model of eigentree dependencies train.")],
    files: Annotated[
        list[str],
        typer.Argument(help="CoNLL-U or CoNLL-X files, such as it was trained on."),
    ],
    head: Annotated[
        str, typer.Option(help="Tag whose modifiers are looked at; an empty one is the root.")
    ],
    direction: Annotated[
        Literal["left", "right"], typer.Option(help="On which side of the head they stand.")
    ] = "left",
    clusters: Annotated[
        int | None, typer.Option(min=1, help="Most clusters of prefixes, before any merge; 8.")
    ] = None,
    distance: Annotated[
        float | None,
        typer.Option(help="Instead: clusters with a greater cosine distance stay apart, 0 to 2."),
    ] = None,
    least_count: Annotated[
        int | None,
        typer.Option(
            min=1, help="Sequences that a prefix begins to be clustered; by default one in 500."
        ),
    ] = None,
    least_share: Annotated[
        float, typer.Option(help="Transitions that fewer visits take are not shown, 0 to 1.")
    ] = 0.03,
    output: Annotated[
        Literal["text", "svg", "dot", "json"],
        typer.Option(help="Tables, a picture, the language of Graphviz, or all in JSON."),
    ] = "text",
    output_file: OutputOption = "-",
) -> None:
    """Show the states of a head's automaton as a graph.

    The automaton is led over the sequences of modifiers in the files; what it remembers after
    frequent ones is clustered, and clusters are merged until the graph is deterministic.
    """
    from eigentree.automata.model import without
    from eigentree.automata.state_graph import StateGraphOptions, state_graph
    from eigentree.cli.constituency._training import changed
    from eigentree.dependency.head_automata import DIRECTIONS
    from eigentree.dependency.parser import DependencyParser
    from eigentree.drawing.automaton import draw_graph_dot, draw_graph_svg, draw_graph_text
    from eigentree.treebank.io.text_files import write_whole

    if clusters is not None and distance is not None:
        raise SettingsError("give --clusters or --distance, not both")
    if not 0.0 <= least_share <= 1.0:
        raise SettingsError(f"--least-share is {least_share}; it must lie between 0 and 1")
    model = str(resolve_model(model))
    check_inputs(files)
    keep_inputs(output_file, [model, *files])
    options = changed(
        StateGraphOptions(), clusters=clusters, distance=distance, least_count=least_count
    )
    parser = DependencyParser.load(model)
    side = DIRECTIONS.index(direction)
    sequences = _modifiers(parser, files, head, side)
    # The automaton of every parser is mixed with a counted one, whose states are known.
    automaton = without(
        parser.automata.automaton(head, side), parser.back_off.automaton(head, side)
    )
    graph = state_graph(automaton, sequences, options)
    title = f"{direction} modifiers of {head or 'the root'}, read from the head outwards"
    with write_whole(output_file) as out:
        if output == "json":
            told = {"head": head, "direction": direction, **graph.to_dict()}
            out.write(json.dumps(told, ensure_ascii=False, indent=2) + "\n")
        elif output == "svg":
            out.write(draw_graph_svg(graph, title, least_share=least_share))
        elif output == "dot":
            out.write(draw_graph_dot(graph, title, least_share=least_share))
        else:
            out.write(draw_graph_text(graph, title, least_share=least_share) + "\n")


def _modifiers(parser: DependencyParser, files: list[str], head: str, side: int) -> Sequences:
    """The sequences of modifiers of a head in a treebank, by the symbols of the parser."""
    from eigentree.dependency.head_automata import DIRECTIONS, LEFT, ROOT
    from eigentree.dependency.learn.head_automata import collect_modifiers
    from eigentree.dependency.parser import UNKNOWN_TAG
    from eigentree.dependency.training import projective_trees
    from eigentree.treebank.io.conllu import read_dependencies

    symbols = parser.automata.symbols
    if head not in (*symbols, ROOT):
        known = ", ".join(symbol for symbol in symbols if symbol != UNKNOWN_TAG)
        raise GrammarError(f"there is no head {head!r}; the model knows {known}")
    if head == ROOT and side == LEFT:
        raise SettingsError("the root has no modifiers to its left; give --direction right")
    trees = projective_trees(read_dependencies(files).sentences, parser.tag_scheme).sentences
    modifiers = collect_modifiers(
        [
            ([tag if tag in symbols else UNKNOWN_TAG for tag in tags], heads)
            for _, tags, heads in trees
        ],
        symbols,
    )
    group = modifiers.groups()[2 * (*symbols, ROOT).index(head) + side]
    if not group.n_sequences:
        raise GrammarError(
            f"no word of the files has the tag {head!r}, so its {DIRECTIONS[side]} modifiers "
            "can't be looked at"
        )
    return group
