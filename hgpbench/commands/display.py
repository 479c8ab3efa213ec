"""Progress of runs: a live bar on a terminal, one line per ended run anywhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hgpbench import units
from hgpbench.bench.channel import Told
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record
from hgpbench.words import printable

_LONGEST = 1_000  # characters of a reason
_COLOURS = {"done": "green", "skipped": "yellow"}


class _Console(Console):
    """A console that falls silent when nobody reads any more, where rich's own would end the runs."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class RunDisplay:
    """Follows the runs of one experiment on standard error."""

    def __init__(self, title: str, total: int) -> None:
        self._console = _Console(stderr=True, highlight=False)
        self._live = self._console.is_terminal and total > 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}"),
            console=self._console,
            disable=not self._live,
        )
        self._whole = self._progress.add_task(title, total=total, note="")
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "RunDisplay":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def started(self, job: Job) -> None:
        """A run began: it gets a bar of its own while it lasts."""
        name = f"  {job.label} seed {job.seed}"
        self._tasks[job.identity] = self._progress.add_task(escape(name), total=None, note="starting")

    def progressed(self, job: Job, told: Told) -> None:
        """A run told how far it is."""
        note = told.phase if told.bound is None else f"{told.phase}, bound {told.bound:.6g}"
        self._progress.update(self._tasks[job.identity], completed=told.step, total=told.total, note=note)

    def noted(self, line: str) -> None:
        """Something that concerns a run or a worker, and ends neither: one line that stays."""
        with suppress(OSError):
            self._console.print(f"[yellow]note[/]     {escape(printable(line)[:_LONGEST])}", soft_wrap=True)

    def finished(self, job: Job, record: Record | None) -> None:
        """A run ended: one line that stays."""
        task = self._tasks.pop(job.identity, None)
        if task is not None:
            self._progress.remove_task(task)
        self._progress.advance(self._whole)
        with suppress(OSError):  # a full disk under the terminal's log, say
            self._console.print(_summary(job, record), soft_wrap=True)


def _summary(job: Job, record: Record | None) -> str:
    name = f"{job.label} seed {job.seed}"
    if record is None:
        return f"[yellow]elsewhere[/] {escape(name)}: another process is running it"
    colour = _COLOURS.get(record.status, "red")
    told = ", ".join(
        f"{what} {units.show_seconds(record.timings[key])}"
        for what, key in (("fit", "fit_wall"), ("predict", "predict_wall"))
        if key in record.timings
    )
    detail = told if record.status == "done" else printable(record.reason or "")[:_LONGEST]
    return f"[{colour}]{record.status:8}[/] {escape(name)}: {escape(detail)}"


@contextmanager
def counting(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work that counts to a total; nothing where standard error is not a terminal."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
