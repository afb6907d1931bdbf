"""The folder of an ensemble.

::

ensemble.egt           the index: description, members, tagger and head table
members/NAME.egt       model files, each of which is also a parser by itself
rerankers/NAME.egt     one for each combination by maxent
calibration.egt        calibration curves, if the ensemble is calibrated
work/                  training data of rerankers, only needed to resume training
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from eigentree._core.part_files import remove_abandoned
from eigentree.constituency.calibration import Calibrations, from_arrays, to_arrays
from eigentree.constituency.ensemble.config import Combination, EnsembleConfig, make_config
from eigentree.constituency.ensemble.parser import BATCH, LOW_MEMORY_BATCH, EnsembleParser
from eigentree.constituency.ensemble.reranker import Reranker, from_parts, to_parts
from eigentree.constituency.ensemble.stacking import Stacking
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import equal_backbones
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.model_file import ENSEMBLE_INDEX, header_problem, open_model, save_model
from eigentree.treebank.heads import PACKAGED_TABLES, HeadRules, head_rules, read_head_rules
from eigentree.treebank.io.text_files import open_text
from eigentree.words.tagger import Tagger

KIND = "ensemble"
RERANKER = "reranker"
CALIBRATION = "calibration"


class _MemberEntry(BaseModel):
    name: str
    family: str
    backbone: int
    made_from: str


class _Index(BaseModel):
    """The required keys of the index; it may have others."""

    model_config = ConfigDict(extra="allow")

    description: dict[str, Any]
    members: list[_MemberEntry]
    rerankers: dict[str, str]
    heads: str
    wrapper: str | None
    about: dict[str, Any]


def check_folder(folder: Path) -> None:
    """Refuse a folder in which the files of an ensemble would be among others, or replace them.

    Raises
    ------
    ModelFileError
        When the folder or one of its subfolders is a file, or the folder is not an ensemble's and
        has entries that a training doesn't create.
    """
    of_fold = predictions_path(folder, 0, "any").parent
    parts = [member_path(folder, "any").parent, reranker_path(folder, "any").parent, of_fold.parent]
    for path in (folder, *parts, of_fold):
        if path.exists() and not path.is_dir():
            raise ModelFileError(f"{path}: is a file; an ensemble requires a folder")
    if folder.exists() and not index_path(folder).exists():
        names = {path.name for path in (*parts, calibration_path(folder))}
        if any(path.name not in names for path in folder.iterdir()):
            raise ModelFileError(
                f"{folder}: contains other files than those of an ensemble; name a new folder"
            )


def make_folders(folder: Path, folds: int) -> None:
    """Create the folder of an ensemble with subfolders for its parts and folds."""
    paths = [member_path(folder, "any"), reranker_path(folder, "any")]
    paths += [predictions_path(folder, fold, "any") for fold in range(folds)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)


def index_path(folder: Path) -> Path:
    """Path of the index of an ensemble."""
    return folder / ENSEMBLE_INDEX


def member_path(folder: Path, name: str) -> Path:
    """Path of a member's model file."""
    return folder / "members" / f"{name}.egt"


def calibration_path(folder: Path) -> Path:
    """Path of the calibration of an ensemble."""
    return folder / "calibration.egt"


def reranker_path(folder: Path, name: str) -> Path:
    """Path of the reranker of a combination."""
    return folder / "rerankers" / f"{name}.egt"


def predictions_path(folder: Path, fold: int, name: str) -> Path:
    """Path of the predictions of a group of members for a fold."""
    return folder / "work" / f"fold-{fold + 1}" / f"{name}.egt"


def is_made_from(path: Path, kind: str, made_from: str) -> bool:
    """Whether a file is undamaged, of a kind, and made from data and settings with a digest."""
    if not path.exists():
        return False
    try:
        return bool(open_model(path, kind=kind).header.get("made_from") == made_from)
    except ModelFileError:
        return False


def make_way(folder: Path, part: Path) -> None:
    """Remove the index before an existing part, which it may list, is overwritten."""
    if part.exists():
        index_path(folder).unlink(missing_ok=True)


def tidy(folder: Path, members: Iterable[str], rerankers: Iterable[str]) -> None:
    """Remove parts that the index does not list, and temporary files."""
    kept = {member_path(folder, name) for name in members}
    kept |= {reranker_path(folder, name) for name in rerankers}
    for example in (member_path(folder, "any"), reranker_path(folder, "any")):
        for path in example.parent.glob(f"*{example.suffix}"):
            if path not in kept:
                path.unlink()
    remove_abandoned(folder, f"**/.*{index_path(folder).suffix}.*.part")


def save_index(
    folder: Path,
    description: Mapping[str, Any],
    members: list[dict[str, Any]],
    rerankers: Mapping[str, str],
    heads: str,
    wrapper: str | None,
    about: Mapping[str, Any],
    tagger: Tagger | None,
) -> None:
    """Write the index of an ensemble, which completes it.

    Parameters
    ----------
    folder
        Folder of the ensemble.
    description
        The tables of the description that it was trained from.
    members
        Name, family, index of the backbone, and digest of all dependencies of each member.
    rerankers
        The same digest for each reranker.
    heads
        Name of a bundled head table, or the lines of a table.
    wrapper, about, tagger
        As ``wrapper``, ``description`` and ``tagger`` in `EnsembleParser`.
    """
    header = {
        "kind": KIND,
        "description": description,
        "members": members,
        "rerankers": dict(rerankers),
        "heads": heads,
        "wrapper": wrapper,
        "about": about,
    }
    blobs = {} if tagger is None else {"tagger": tagger.to_bytes()}
    save_model(index_path(folder), header, {}, blobs)
    # A calibration of another ensemble is removed.
    path = calibration_path(folder)
    if path.exists() and not is_made_from(path, CALIBRATION, _digest(index_path(folder))):
        path.unlink()


def save_calibrations(folder: Path, calibrations: Calibrations) -> None:
    """Write the calibration of the ensemble in a folder atomically."""
    header = {"kind": CALIBRATION, "made_from": _digest(index_path(folder))}
    save_model(calibration_path(folder), header, to_arrays(calibrations))


def _load_calibrations(folder: Path, *, verify: bool) -> Calibrations:
    path = calibration_path(folder)
    if not path.exists():
        return {}
    file = open_model(path, kind=CALIBRATION, verify=verify)
    if file.header.get("made_from") != _digest(index_path(folder)):
        raise ModelFileError(f"{path}: belongs to another ensemble; remove it, or calibrate again")
    try:
        return from_arrays(file.arrays)
    except KeyError as error:
        raise ModelFileError(f"{path}: an incomplete calibration: {error} is missing") from error
    except EigentreeError as error:
        raise ModelFileError(f"{path}: {error}") from error


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def save_reranker(path: Path, reranker: Reranker, made_from: str) -> None:
    """Write a reranker atomically."""
    header, arrays = to_parts(reranker)
    save_model(path, {"kind": RERANKER, "made_from": made_from, **header}, arrays)


def load_reranker(path: Path, heads: HeadRules, made_from: str) -> Reranker:
    """Read a reranker; its parts must be consistent and its digest as expected."""
    file = open_model(path, kind=RERANKER)
    if file.header.get("made_from") != made_from:
        raise ModelFileError(f"{path}: is not the reranker of this ensemble")
    try:
        return from_parts(file.header, file.arrays, heads)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: the reranker is incomplete or damaged: {error}") from error
    except EigentreeError as error:
        raise ModelFileError(f"{path}: {error}") from error


def stored_heads(name_or_path: str) -> str:
    """The name of a bundled head table, or the lines of a file."""
    if name_or_path in PACKAGED_TABLES:
        return name_or_path
    with open_text(name_or_path) as lines:
        return "".join(lines)


def _heads(stored: str) -> HeadRules:
    if stored in PACKAGED_TABLES:
        return head_rules(stored)
    return read_head_rules(stored.splitlines(), name="its head table")


def load_ensemble(
    folder: str | Path, *, low_memory: bool = False, verify: bool = True
) -> EnsembleParser:
    """Open an ensemble; see `EnsembleParser.load`."""
    folder = Path(folder)
    if not index_path(folder).exists():
        raise ModelFileError(
            f"{folder}: has no {ENSEMBLE_INDEX}; it is not an ensemble, or its training is not "
            "finished"
        )
    file = open_model(index_path(folder), kind=KIND, verify=verify)
    try:
        index = _Index.model_validate(file.header)
        description = make_config(index.description, str(index_path(folder)))
        tagger = Tagger.from_bytes(file.blobs["tagger"]) if "tagger" in file.blobs else None
        heads = _heads(index.heads)
    except ValidationError as error:
        raise ModelFileError(f"{index_path(folder)}: its {header_problem(error)}") from error
    except EigentreeError as error:
        raise ModelFileError(f"{index_path(folder)}: {error}") from error
    _check_parts(folder, description, index)
    rerankers = {
        name: load_reranker(reranker_path(folder, name), heads, made_from)
        for name, made_from in index.rerankers.items()
    }
    try:
        stacking = Stacking(description, rerankers)
    except ModelFileError as error:
        raise ModelFileError(f"{folder}: {error}") from error
    members = _Members(folder, index.members, low_memory=low_memory, verify=verify)
    return EnsembleParser(
        members.backbones,
        members,
        stacking,
        tagger,
        index.wrapper,
        {**index.about, "members": [each.name for each in index.members]},
        LOW_MEMORY_BATCH if low_memory else BATCH,
        _load_calibrations(folder, verify=verify),
        folder,
    )


def save_ensemble(ensemble: EnsembleParser, path: str | Path) -> None:
    """Copy the folder of an ensemble; see `EnsembleParser.save`."""
    folder, source = Path(path), ensemble.folder
    if source is None:
        raise ModelFileError(f"{path}: the ensemble was not opened from a folder; it has no files")
    check_folder(folder)
    names = [member_path(source, name) for name in ensemble.description["members"]]
    names += [reranker_path(source, name) for name in ensemble.stacking.rerankers]
    try:
        if folder.resolve() != source.resolve():
            make_folders(folder, 0)
            make_way(folder, index_path(folder))
            # The index last, because it completes the ensemble.
            for file in (*names, index_path(source)):
                shutil.copyfile(file, folder / file.relative_to(source))
            tidy(folder, ensemble.description["members"], ensemble.stacking.rerankers)
    except OSError as error:
        raise ModelFileError(f"{path}: can't be written: {error}") from error
    if ensemble.calibrations:
        save_calibrations(folder, ensemble.calibrations)
    else:
        calibration_path(folder).unlink(missing_ok=True)


def sizes_of(folder: Path, described: EnsembleConfig) -> tuple[int, int]:
    """Bytes of an ensemble's own files, and of those in ``work``."""
    # The folder may contain parts of another ensemble, whose training began later.
    parts = [index_path(folder)]
    parts += [member_path(folder, member.name) for member in described.members()]
    parts += [reranker_path(folder, each.name) for each in described.combination if each.is_trained]
    work = predictions_path(folder, 0, "any").parent.parent.rglob("*.egt")
    return sum(path.stat().st_size for path in parts), sum(path.stat().st_size for path in work)


def summarise(ensemble: EnsembleParser) -> dict[str, Any]:
    """What is in an ensemble; see `EnsembleParser.summary`."""
    described, trained = ensemble.stacking.config, dict(ensemble.description)
    trained.pop("members", None)
    return {
        "title": described.title,
        "trained": trained,
        "wrapper": ensemble.wrapper,
        "signed": ensemble.signed,
        "tagger": None if ensemble.tagger is None else {"tags": len(ensemble.tagger.tagset)},
        "members": _describe_members(ensemble),
        "combinations": [
            _describe_combination(each, ensemble.stacking.rerankers.get(each.name))
            for each in described.combination
        ],
    }


def _describe_members(ensemble: EnsembleParser) -> list[dict[str, Any]]:
    # By the parser, which may open them one at a time.
    sizes_by_family: dict[str, list[tuple[int, int]]] = {}
    for number in range(len(ensemble.backbones)):
        for family, grammar in ensemble.members(number):
            sizes = int(grammar.n_states.max()), grammar.n_parameters
            sizes_by_family.setdefault(family, []).append(sizes)
    waiting = {family: iter(sizes) for family, sizes in sizes_by_family.items()}
    members = []
    for member in ensemble.stacking.config.members():
        states, parameters = next(waiting[member.family])
        path = None if ensemble.folder is None else member_path(ensemble.folder, member.name)
        members.append(
            {
                "name": member.name,
                "family": member.family,
                "method": member.options.method,
                "noise": member.options.noise.scheme,
                "sigma": member.options.noise.sigma,
                "states": states,
                "parameters": parameters,
                "bytes": None if path is None else path.stat().st_size,
            }
        )
    return members


def _describe_combination(combination: Combination, reranker: Reranker | None) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": combination.name,
        "how": combination.how,
        "inputs": combination.inputs,
    }
    if reranker is None:
        return record | {"price": combination.price}
    weights = zip(reranker.column_names, reranker.model.dense_weights.tolist(), strict=True)
    return record | {
        "features": len(reranker.table),
        "schemata": list(reranker.table.options.schemata),
        "converged": reranker.model.converged,
        "weights": dict(weights),
    }


def _check_parts(folder: Path, description: EnsembleConfig, index: _Index) -> None:
    path, members = index_path(folder), index.members
    described = [(member.name, member.family) for member in description.members()]
    if [(each.name, each.family) for each in members] != described:
        raise ModelFileError(f"{path}: its members differ from those of its description")
    if index.rerankers.keys() != {each.name for each in description.combination if each.is_trained}:
        raise ModelFileError(f"{path}: its rerankers differ from those of its description")
    backbones = {each.family: each.backbone for each in members}
    if any(each.backbone != backbones[each.family] for each in members):
        raise ModelFileError(f"{path}: the members of a family have different backbones")
    if sorted(set(backbones.values())) != list(range(len(set(backbones.values())))):
        raise ModelFileError(f"{path}: its backbones are not numbered from 0")


class _Members:
    """The members in a folder, by backbone.

    Equal backbones are in memory once, even if members are not kept in memory.
    """

    def __init__(
        self, folder: Path, entries: list[_MemberEntry], *, low_memory: bool, verify: bool
    ) -> None:
        self._folder = folder
        self._entries: dict[int, list[_MemberEntry]] = {}
        for entry in entries:
            self._entries.setdefault(entry.backbone, []).append(entry)
        self._grammars: dict[str, LPCFG] = {}
        self.backbones: list[ConstituencyParser] = []
        for number in range(len(self._entries)):
            for place, entry in enumerate(self._entries[number]):
                if place and low_memory and not verify:
                    continue
                parser = self._open(entry, verify=verify)
                if not place:
                    self.backbones.append(
                        ConstituencyParser(one_state(parser.grammar.backbone), None, parser.options)
                    )
                if not low_memory:
                    self._grammars[entry.name] = self._sharing(parser.grammar, number, entry)

    def _open(self, entry: _MemberEntry, *, verify: bool) -> ConstituencyParser:
        path = member_path(self._folder, entry.name)
        parser = ConstituencyParser.load(path, verify=verify)
        if parser.description.get("made_from") != entry.made_from:
            raise ModelFileError(f"{path}: is not a member of this ensemble")
        return parser

    def _sharing(self, grammar: LPCFG, number: int, entry: _MemberEntry) -> LPCFG:
        """The same grammar with the shared backbone."""
        backbone = self.backbones[number].grammar.backbone
        if not equal_backbones(grammar.backbone, backbone):
            path = member_path(self._folder, entry.name)
            raise ModelFileError(f"{path}: has other rules or words than members with its backbone")
        return LPCFG(backbone, grammar.parameters, grammar.signed)

    def __call__(self, number: int) -> Iterator[tuple[str, LPCFG]]:
        for entry in self._entries[number]:
            grammar = self._grammars.get(entry.name)
            if grammar is None:
                parser = self._open(entry, verify=False)
                grammar = self._sharing(parser.grammar, number, entry)
            yield entry.family, grammar
