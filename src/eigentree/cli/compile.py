"""The command ``compile``: compile kernels before they are needed."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from eigentree._core.kernel_parts import PARTS
from eigentree.cli._common import message
from eigentree.cli._options import QuietOption
from eigentree.errors import SettingsError, counted


def compile(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PART",
            help=f"Compile these parts only: {', '.join(PARTS)}.",
            show_default=False,
        ),
    ] = None,
    everyone: Annotated[
        bool,
        typer.Option(
            "--everyone",
            help="Store the code beside the package, for all users of this installation; by "
            "default, it is in your cache folder.",
        ),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Compile the numerical kernels now rather than at first use.

    It is useful in images of containers and on shared machines.  Kernels that have been compiled
    are left as they are.
    """
    from eigentree._core import kernel_folders
    from eigentree._core.jit import compile_into
    from eigentree.cli._output import compile_kernels

    for name in parts or ():
        if name not in PARTS:
            raise SettingsError(f"no part {name!r}; there are {', '.join(PARTS)}")
    started = time.monotonic()
    chosen = parts or [*PARTS]
    if everyone:
        compile_kernels(quiet=quiet)
        n_compiled = compile_into(kernel_folders.BESIDE_PACKAGE, chosen)
    else:
        n_compiled = compile_kernels(*chosen, quiet=quiet)
    number = counted(n_compiled, "kernel")
    message(f"{number} compiled in {time.monotonic() - started:.0f} s", quiet=quiet)
