"""The command ``dependencies states``: the hidden states of a head's automaton as a graph."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._files import check_inputs, check_output
from eigentree.cli._options import OptionalModelOption, OutputOption, model_and_files
from eigentree.cli._training import changed
from eigentree.data.catalogue import resolve_model
from eigentree.errors import GrammarError, SettingsError

if TYPE_CHECKING:
    from eigentree.automata.sequences import Sequences
    from eigentree.dependency.parser import DependencyParser


def states(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="CoNLL-U or CoNLL-X files, such as the training treebank."
        ),
    ],
    head: Annotated[
        str,
        typer.Option(
            metavar="TAG", help="Tag of the head whose modifiers are shown; empty for the root."
        ),
    ],
    model: OptionalModelOption = None,
    direction: Annotated[
        Literal["left", "right"], typer.Option(help="Side of the head that the modifiers are on.")
    ] = "left",
    clusters: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of clusters of prefixes, before merging.", show_default="8"
        ),
    ] = None,
    distance: Annotated[
        float | None,
        typer.Option(
            help="Instead of --clusters: maximum cosine distance within a cluster, 0 to 2."
        ),
    ] = None,
    min_count: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Minimum number of sequences with a prefix, for it to be clustered.",
            show_default="one in 500",
        ),
    ] = None,
    min_share: Annotated[
        float, typer.Option(help="Minimum share of a state's visits, for a transition to be shown.")
    ] = 0.03,
    output_format: Annotated[
        Literal["text", "dot", "json"],
        typer.Option("--output-format", help="Tables, a graph for Graphviz, or all in JSON."),
    ] = "text",
    output_file: OutputOption = "-",
) -> None:
    """Show the states of a head's automaton as a graph.

    The automaton reads the sequences of modifiers in the files; its state vectors after frequent
    prefixes are clustered, and clusters are merged until the graph is deterministic.
    """
    from eigentree.automata.model import without
    from eigentree.automata.state_graph import StateGraphOptions, state_graph
    from eigentree.dependency.head_automata import DIRECTIONS
    from eigentree.dependency.parser import DependencyParser
    from eigentree.drawing.automaton import draw_graph_dot, draw_graph_text
    from eigentree.treebank.io.text_files import write_whole

    if clusters is not None and distance is not None:
        raise SettingsError("--clusters and --distance are mutually exclusive")
    if not 0.0 <= min_share <= 1.0:
        raise SettingsError(f"--min-share must be between 0 and 1 (got {min_share})")
    model, files = model_and_files(model, arguments, "FILES...")
    model = str(resolve_model(model))
    check_inputs(files)
    check_output(output_file, [model, *files])
    options = changed(
        StateGraphOptions(), clusters=clusters, distance=distance, least_count=min_count
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
        if output_format == "json":
            report = {"head": head, "direction": direction, **graph.to_dict()}
            out.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
        elif output_format == "dot":
            out.write(draw_graph_dot(graph, title, min_share=min_share))
        else:
            out.write(draw_graph_text(graph, title, min_share=min_share) + "\n")


def _modifiers(parser: DependencyParser, files: list[str], head: str, side: int) -> Sequences:
    """The sequences of modifiers of a head in a treebank, in the symbols of the parser."""
    from eigentree.dependency.head_automata import DIRECTIONS, LEFT, ROOT
    from eigentree.dependency.learn.head_automata import collect_modifiers
    from eigentree.dependency.parser import UNKNOWN_TAG
    from eigentree.dependency.training import projective_trees
    from eigentree.treebank.io.conllu import read_dependencies

    symbols = parser.automata.symbols
    if head not in (*symbols, ROOT):
        known = ", ".join(symbol for symbol in symbols if symbol != UNKNOWN_TAG)
        raise GrammarError(f"unknown head {head!r}; the model has {known}")
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
            f"no word of the files has the tag {head!r}, so there are no {DIRECTIONS[side]} "
            "modifiers to show"
        )
    return group
