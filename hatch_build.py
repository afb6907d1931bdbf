"""The build hook that puts compiled kernels into wheels.

The kernels of `PARTS` are compiled with the numba of the build, for the common level of x86-64
processors with AVX2.  Where an installation has another version of Python or numba, or another type
of processor, it does not use them and compiles its own.  A wheel is built without them when
anything fails, when EIGENTREE_WITHOUT_KERNELS is set, and for editable installations, whose source
files change.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "EIGENTREE_WITHOUT_KERNELS"
REQUIREMENTS = ["numba>=0.60", "numpy>=2.0"]
PARTS = ("parsing", "k-best", "prefixes", "dependencies", "em")
MAX_SECONDS = 600
COMPILE = """
import sys
from pathlib import Path
from eigentree._core.jit import compile_into
print(compile_into(Path(sys.argv[1]), sys.argv[2:]))
"""


class CompiledKernels(BuildHookInterface):
    """Compiles kernels and adds them to the wheel."""

    def dependencies(self) -> list[str]:
        """What the build needs besides hatchling."""
        return [] if os.environ.get(SWITCH) else REQUIREMENTS

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the build."""
        if version != "standard" or os.environ.get(SWITCH):
            return
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        source = str(Path(self.root, "src"))
        path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
        try:
            subprocess.run(
                [sys.executable, "-c", COMPILE, self._folder.name, *PARTS],
                env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
                check=True, capture_output=True, text=True, timeout=MAX_SECONDS,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            self.app.display_warning(
                f"the wheel has no compiled kernels, which the first run will compile: {lines[-1]}"
            )
            return
        build_data["force_include"][self._folder.name] = "eigentree/_compiled"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, *_: Any) -> None:
        """Called after the build."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
