"""The wheel carries compiled kernels, and is built without them when these can't be compiled."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from eigentree._core.kernel_parts import PARTS

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def hook(monkeypatch):
    """The hook, without hatchling; warnings are in ``warnings``."""

    class Interface:
        root = str(ROOT)
        app = SimpleNamespace(display_warning=lambda text: warnings.append(text))

    warnings: list[str] = []
    module = ModuleType("hatchling.builders.hooks.plugin.interface")
    module.BuildHookInterface = Interface
    parts = module.__name__.split(".")
    for end in range(1, len(parts)):
        name = ".".join(parts[:end])
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    monkeypatch.delenv("EIGENTREE_WITHOUT_KERNELS", raising=False)
    hook = loaded.CompiledKernels()
    hook.warnings, hook.parts, hook.code = warnings, loaded.PARTS, loaded.COMPILE
    yield hook
    hook.finalize("standard", {}, "")


def pure() -> dict:
    return {"force_include": {}, "pure_python": True}


def test_a_wheel_carries_compiled_kernels(hook, monkeypatch):
    calls = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: calls.append(command))
    data = pure()
    hook.initialize("standard", data)
    ((folder, inside),) = data["force_include"].items()
    assert inside == "eigentree/_compiled"
    assert (data["pure_python"], data["infer_tag"]) == (False, True)
    assert calls[0][-len(hook.parts) - 1 :] == [folder, *hook.parts]
    assert set(hook.parts) <= set(PARTS)


def test_the_code_for_the_wheel_runs(hook, tmp_path):
    code = hook.code
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize(
    "error",
    [
        subprocess.CalledProcessError(1, "python", stderr="Traceback\nImportError: no numba\n"),
        subprocess.TimeoutExpired("python", 600),
        OSError("no processes"),
    ],
)
def test_what_fails_leaves_a_wheel_without_them(hook, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "run", fail)
    data = pure()
    hook.initialize("standard", data)
    assert data == pure()
    (warning,) = hook.warnings
    assert warning.startswith("the wheel has no compiled kernels")


def test_editable_installations_and_users_can_do_without(hook, monkeypatch):
    monkeypatch.setattr(subprocess, "run", None)
    data = pure()
    hook.initialize("editable", data)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {*hook.dependencies()} < {*project["dependencies"]}
    monkeypatch.setenv("EIGENTREE_WITHOUT_KERNELS", "1")
    hook.initialize("standard", data)
    assert (data, hook.dependencies()) == (pure(), [])
