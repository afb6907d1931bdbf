"""Studies: models compared on one treebank, with a report.

`read_study` reads a study file of any kind; `run_study` trains and scores its models and writes
the report.  The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Study": "run",
        "Run": "run",
        "make_study": "settings",
        "read_study": "settings",
        "run_study": "runner",
        "RunProgress": "runner",
        "StudyResult": "runner",
        "ConstituencyStudy": "constituency",
        "DependencyStudy": "dependency",
        "BracketingStudy": "bracketing",
    },
)
