"""``hgpbench fit`` and ``hgpbench predict``: a model of one's own table, for use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hgpbench import units
from hgpbench.cluster import opened
from hgpbench.cluster.wanted import Wanted
from hgpbench.commands.completion import model_names
from hgpbench.commands.endings import say
from hgpbench.commands.options import (
    OnCluster,
    SchedulerFile,
    TlsCa,
    TlsCert,
    TlsKey,
    wanted_cluster,
)
from hgpbench.commands.tables import asks_nothing, reading_tables
from hgpbench.data.frames.choices import Choices, Missing
from hgpbench.errors import ConfigError
from hgpbench.words import listed

if TYPE_CHECKING:
    from hgpbench.models import Estimator
    from hgpbench.models.copies import Predict

DEFAULT = "dvshgp"
MOST_INPUTS = 20  # whose names are shown


@reading_tables
def fit(
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="A table of your own, openml:ID, or a dataset by name."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    model: Annotated[
        str | None, typer.Option(help="The model; default dvshgp.", autocompletion=model_names)
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of it; repeat.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="RESULTS", help="Take model and dataset from this experiment instead."
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="With --from: which of its labels.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of what the fit draws.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The model's file.")] = Path(
        "model.h5"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    *,
    choices: Choices,
) -> None:
    """Fit a model to all rows of a table, and save it for `predict`."""
    from hgpbench.use import fitting

    _check_free(out, force)
    if source is not None:
        if table is not None or model is not None or set_ or target is not None or not asks_nothing(choices):
            raise ConfigError("--from takes table, model and parameters from the experiment; leave them out")
        made, rows = fitting.from_experiment(source, label, seed)
    else:
        if table is None or label is not None:
            raise ConfigError("give a TABLE and --target, or --from RESULTS and --label")
        made = fitting.model_by_name(model or DEFAULT, set_ or (), fitting.SEED if seed is None else seed)
        rows = fitting.from_table(table, target, choices, made.blockwise)
    done = fitting.fitted(made, rows)
    done.predictor.save(out)
    inputs = done.predictor.preprocessing.inputs
    took = units.show_seconds(done.seconds)
    say(f"{out}: {type(made).__name__}, fitted to {done.rows:,} rows in {took}")
    say(f"    target {rows.plan.target}, {len(inputs)} inputs: {listed(inputs, MOST_INPUTS)}")
    explained = getattr(made, "explained_", None)
    if explained is not None:
        say(f"    explains {100 * explained:.1f} % of the variance of its training rows")
    for note in done.notes:
        say(f"    {note}")
    say(f"    next: hgpbench predict {out} NEW.csv -o predictions.csv")


@reading_tables
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `fit` or model.save wrote.")],
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="Rows to predict: CSV, Parquet, Feather, HDF5.")
    ],
    quantiles: Annotated[str, typer.Option(metavar="LEVELS", help="Quantiles to write.")] = "0.05,0.5,0.95",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="A .csv or .parquet file; default: print CSV."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns to copy beside the predictions.")
    ] = None,
    unseen: Annotated[
        Literal["error", "other"] | None,
        typer.Option(help="Categories that training had not: refuse, or none of those known."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    cluster: OnCluster = None,
    scheduler_file: SchedulerFile = None,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    *,
    choices: Choices,
) -> None:
    """Predict the rows of a table with a saved model, however many they are."""
    from hgpbench.use.predictor import load_for_tables
    from hgpbench.use.streaming import levels_of, predict_table

    levels = levels_of(quantiles)
    wanted = wanted_cluster(cluster, scheduler_file, tls_ca, tls_cert, tls_key)
    if out is not None:
        _check_free(out, force)
    rule: Missing | None = None if choices.missing == "error" else choices.missing
    predictor = load_for_tables(model).ruled(rule, unseen)
    kept = [name.strip() for name in keep.split(",")] if keep else []
    with _elsewhere(predictor.model, wanted) as ask:
        written = predict_table(predictor, table, out, levels, choices, kept, ask)
    empty = f", {written.empty:,} of them empty for missing cells" if written.empty else ""
    if out is not None:
        say(f"{out}: {written.rows:,} rows{empty}")
    elif empty:
        say(f"{written.rows:,} rows{empty}", err=True)


@contextmanager
def _elsewhere(model: "Estimator", wanted: Wanted | None) -> Iterator["Predict | None"]:
    """Copies of the model on the cluster asked for, if any."""
    from hgpbench.models.copies import copies

    if wanted is None:
        yield None
    else:
        with opened(wanted) as cluster, copies(model, cluster) as ask:
            yield ask


def _check_free(out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise ConfigError(f"{out}: is there already; choose another --out, or use --force")
    if not out.resolve().parent.is_dir():
        raise ConfigError(f"{out}: there is no folder {out.parent} to write it to")
