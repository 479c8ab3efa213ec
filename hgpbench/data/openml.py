"""Tables of OpenML by number, through scikit-learn, which keeps what it fetched."""

import warnings
from pathlib import Path
from typing import Any

from hgpbench.data.frames.table import Table, of_frame
from hgpbench.data.names import OPENML, cache_folder
from hgpbench.errors import DataError
from hgpbench.words import printable


def table(number: str, folder: Path | None = None) -> Table:
    """The table of that number, with the target that OpenML gives it."""
    if not number.isascii() or not number.isdigit():
        raise DataError(f"openml:{number:.40}: should be the number of a dataset, such as openml:531")
    found = _fetched(int(number), folder or cache_folder())
    frame = of_frame(found.frame, f"{OPENML}{int(number)}")
    targets = [printable(str(name)) for name in found.target_names or ()]
    return Table(
        label=frame.label,
        columns=frame.columns,
        read=frame.read,
        unnamed=frame.unnamed,
        target=targets[0] if len(targets) == 1 else None,
    )


def _fetched(number: int, folder: Path) -> Any:
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions, and of a cache that it renews
            return fetch_openml(
                data_id=number,
                data_home=str(folder),
                as_frame=True,
                parser="liac-arff",
                n_retries=1,
                delay=0.2,
            )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            printable(f"openml:{number}: cannot be had ({reason:.200}); check the number and the connection")
        ) from None
