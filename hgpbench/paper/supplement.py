"""What the paper adds to a report: its numbers beside ours, its claims judged, and what it does not say."""

from collections.abc import Sequence

from hgpbench.paper import beyond, values, verdicts
from hgpbench.paper.verdicts import Verdict
from hgpbench.report.collect import Experiment
from hgpbench.report.supplement import Addition, Closing, Remarks, Supplement

BEYOND = "What the paper does not say"
CLAIMS = "Claims of the paper"


def supplement(experiments: Sequence[Experiment]) -> Supplement:
    """Judge every experiment once; tables, notes, JSON and the end of the report all tell of that."""
    judged = [verdicts.judge(experiment) for experiment in experiments]
    additions = tuple(_addition(each, about) for each, about in zip(experiments, judged, strict=True))
    return Supplement(additions, (_closing(experiments, judged),))


def _addition(experiment: Experiment, judged: Sequence[Verdict]) -> Addition:
    compared = values.comparisons(experiment)
    tables = (values.table(experiment, compared), verdicts.table(experiment, judged))
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
    tables = (verdicts.general_table(every), verdicts.summary_table(every)) if shown > 1 else ()
    return Closing("claims", CLAIMS, tables, tuple(verdicts.as_data(verdict) for verdict in every))
