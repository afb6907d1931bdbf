"""A component for spaCy pipelines: constituents, and dependencies, on a Doc.

``nlp.add_pipe("eigentree")`` parses each sentence of a Doc with the bundled English model, and
``config={"model": "my.egt"}`` with another.  The constituents are plain data on the Doc, which
goes where the Doc goes: to disk, to bytes, to other processes, and to ``Doc.from_docs``.  Spans
and tokens read it by attributes after an underscore, of the same names and meanings as those of
the Berkeley neural parser (Kitaev and Klein 2018):

``labels``
    of the phrases over exactly this span, from the top down; empty for a word without any
``parse_string``
    the tree over this span, in brackets
``constituents``
    the spans of all that is in it, itself first, then from left to right, single words too
``children``, ``parent``
    the spans one level below and above; an empty tuple, or None, where there are none

and, of this package, ``confidence``: the confidence of the phrase, None if there was no chart.
White space at the ends of a span is ignored; for white space alone all of them are empty.  A span
that is no constituent raises `NoConstituentError`.  ``doc._.eigentree`` has the data, a record for
each sentence.

Positions in the data are characters, so constituents move along when the Doc is retokenised, as by
``merge_entities``.  One that begins or ends inside a token is left out, and its children belong to
the next one above; several words in one token are one word, with their tags joined by ``+``.
``Span.as_doc`` keeps the data with ``copy_user_data=True``, as spaCy does with all such data.

With a dependency model heads, relations and tags are set as spaCy's own parser sets them, and
``Doc.noun_chunks`` follows the relations of Universal Dependencies.
"""

from __future__ import annotations

from eigentree.integrations.spacy.component import EigentreeComponent, make_eigentree
from eigentree.integrations.spacy.constituents import NoConstituentError

__all__ = ["EigentreeComponent", "NoConstituentError", "make_eigentree"]
