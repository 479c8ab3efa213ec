"""What the paper adds to a report: its numbers beside ours, its claims judged, and what it does not say."""

from collections.abc import Mapping, Sequence

from hgpbench.paper import beyond, series, values, verdicts
from hgpbench.paper.verdicts import Verdict
from hgpbench.report.collect import Experiment
from hgpbench.report.supplement import Addition, Closing, Remarks, Supplement

BEYOND = "What the paper does not say"
CLAIMS = "Claims of the paper"


def supplement(experiments: Sequence[Experiment]) -> Supplement:
    """Judge every experiment once; tables, notes, JSON and the end of the report all tell of that."""
    judged = [verdicts.judge(experiment) for experiment in experiments]
    together = {each.name: verdicts.judge(each) for each in series.joined(experiments)}
    additions = tuple(
        _addition(each, about, series.last_of(each, experiments), together)
        for each, about in zip(experiments, judged, strict=True)
    )
    return Supplement(additions, (_closing(experiments, [*judged, *together.values()]),))


def _addition(
    experiment: Experiment,
    alone: Sequence[Verdict],
    ended: Experiment | None,
    together: Mapping[str, Sequence[Verdict]],
) -> Addition:
    """What is added to one section; the last of a series of experiments has the claims about all of it."""
    compared = values.comparisons(experiment)
    judged = together[ended.name] if ended is not None else alone
    tables = (values.table(experiment, compared), verdicts.table(ended or experiment, judged))
    return Addition(
        tables=tuple(table for table in tables if table is not None),
        remarks=(Remarks("beyond", BEYOND, tuple(beyond.sentences(experiment))),),
        notes=(*values.notes(experiment, compared), *verdicts.notes(judged)),
        data={
            "published": [values.as_data(each) for each in compared],
            "claims": [verdicts.as_data(verdict) for verdict in judged],
        },
    )


def _closing(experiments: Sequence[Experiment], judged: Sequence[Sequence[Verdict]]) -> Closing:
    """All claims; tables of them only where the report shows more than one experiment of the paper."""
    shown = sum(bool(about) for about in judged)
    every = verdicts.judge_all(experiments, judged) if shown else []
    made = (verdicts.general_table, verdicts.computed_table, verdicts.summary_table)
    tables = tuple(table(every) for table in made) if shown > 1 else ()
    return Closing("claims", CLAIMS, tables, tuple(verdicts.as_data(verdict) for verdict in every))
