"""Every reader refuses damaged inputs with an error of the package, or reads what is left."""

from __future__ import annotations

import pytest

from benchmarks.fuzz import READERS, fault_of, fuzzed

# Their training takes longer than their inputs.
SLOW = {"constituency model", "dependency model", "ensemble model"}


@pytest.mark.parametrize("name", [name for name in READERS if name not in SLOW])
def test_damaged_inputs_cause_no_other_error(name, tmp_path):
    reader = READERS[name]
    seeds = reader.seeds()
    for number in range(80):
        (tmp_path / "input").write_bytes(fuzzed(name, seeds, 1, number))
        assert not fault_of(reader.read, tmp_path / "input", number), f"input {number}"
