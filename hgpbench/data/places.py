"""Where a raw file may be found: the mirror first, then beside the card, then the publishers' addresses."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from hgpbench.data import raw
from hgpbench.data.cards import Card, RawFile, Recipe
from hgpbench.data.download import MAX_BYTES, download, is_url
from hgpbench.data.names import expanded
from hgpbench.errors import DataError, Unreachable

Tell = Callable[[str], None]  # is told what is being waited for

MIRROR = "HGPBENCH_MIRROR"
_SLACK = 64 << 20  # bytes of an archive beside the file that is wanted


@dataclass(frozen=True)
class Obtained:
    """A raw file that is plain, verified and on this disk."""

    path: Path
    sha256: str
    source: str  # the file or address it was taken from


def obtain(card: Card, recipe: Recipe, given: str | None, workspace: Path, tell: Tell) -> list[Obtained]:
    """All raw files of a recipe; ``given`` (a path or an address) replaces every other place."""
    return [
        _obtain_one(wanted, _places(card, recipe, wanted, given), workspace, tell) for wanted in recipe.files
    ]


def _obtain_one(wanted: RawFile, places: Iterator[str], workspace: Path, tell: Tell) -> Obtained:
    failures: list[str] = []
    error_of: type[DataError] = DataError
    for place in places:
        tell(f"trying {place}")
        try:
            path = download(place, workspace, _most(wanted)) if is_url(place) else Path(place)
            plain = raw.unpack(path, wanted, workspace)
            return Obtained(plain, raw.verify(plain, wanted), place)
        except Unreachable as error:
            failures.append(f"{place}: {error.what}")
            error_of = Unreachable
        except DataError as error:
            failures.append(f"{place}: {error}")
    if failures:
        raise error_of("; ".join(failures))
    raise DataError(
        f"no place is known to get {wanted.file} from; name a file with --from, or a folder with {MIRROR}"
    )


def _most(wanted: RawFile) -> int:
    """Bytes that a download may have: its archive may hold more than the file, though not without end."""
    return MAX_BYTES if wanted.bytes is None else min(4 * wanted.bytes + _SLACK, MAX_BYTES)


def _places(card: Card, recipe: Recipe, wanted: RawFile, given: str | None) -> Iterator[str]:
    if given is not None:
        yield from _given(card, recipe, wanted, given)
        return
    mirror = os.environ.get(MIRROR)
    if mirror:
        if is_url(mirror):
            yield from _under_address(f"{mirror.rstrip('/')}/{card.name}", wanted)
        elif not expanded(mirror).is_dir():
            raise DataError(
                f"{MIRROR}={mirror}: no such folder; set it to a folder or an address, or unset it"
            )
        else:
            yield from _in_folder(expanded(mirror), card, wanted)
    yield from _in_folder(card.path.parent, card, wanted)
    yield from wanted.urls


def _given(card: Card, recipe: Recipe, wanted: RawFile, given: str) -> Iterator[str]:
    if is_url(given):
        if given.endswith("/"):
            yield from _under_address(given.rstrip("/"), wanted)
        else:
            yield given
        return
    path = expanded(given)
    if path.is_dir():
        found = list(_in_folder(path, card, wanted))
        if not found:
            raise DataError(f"{path}: has no {wanted.file}, neither plain nor as .xz, .gz or .zip")
        yield from found
        return
    if not path.is_file():
        raise DataError(f"{path}: no such file or folder")
    if len(recipe.files) > 1 and raw.wrapping_of(path) != "zip":
        listed = ", ".join(file.file for file in recipe.files)
        raise DataError(
            f"{path}: {card.name} is made of {listed}; give a folder or a zip archive that has all"
        )
    yield str(path)


def _in_folder(folder: Path, card: Card, wanted: RawFile) -> Iterator[str]:
    """``folder/NAME/file`` or ``folder/file``, plain or wrapped, or as the publisher's archive is called."""
    archives = [unquote(url.rsplit("/", 1)[-1]) for url in wanted.urls]
    names = dict.fromkeys([*(wanted.file + suffix for suffix in raw.SUFFIXES), *archives])
    for parent in (folder / card.name, folder):
        yield from (str(parent / name) for name in names if name and (parent / name).is_file())


def _under_address(address: str, wanted: RawFile) -> Iterator[str]:
    yield from (f"{address}/{wanted.file}{suffix}" for suffix in raw.SUFFIXES)
