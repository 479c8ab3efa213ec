"""Workers with which there was trouble."""

from hgpbench.bench.trust import MOST_DOUBLINGS, REST, Trust
from hgpbench.cluster import Worker

WORKERS = {name: Worker(1, None, f"folder-{name}") for name in "abc"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_run_waits_for_a_worker_with_which_it_had_no_trouble() -> None:
    trust = Trust()
    assert trust.chosen(WORKERS, ()) == WORKERS
    assert list(trust.chosen(WORKERS, {"folder-a", "folder-b"})) == ["c"]
    assert trust.chosen(WORKERS, {worker.folder for worker in WORKERS.values()}) == WORKERS


def test_troubles_in_a_row_let_a_worker_rest_longer_and_longer() -> None:
    clock = Clock()
    trust = Trust(clock)
    for times in range(MOST_DOUBLINGS + 3):
        trust.trouble("folder-a")
        rest = REST * 2 ** min(times, MOST_DOUBLINGS)
        clock.now += rest - 0.5
        assert list(trust.chosen(WORKERS, ())) == ["b", "c"]
        clock.now += 0.5
        assert trust.chosen(WORKERS, ()) == WORKERS
    trust.trouble("folder-a")
    trust.success("folder-a")
    assert trust.chosen(WORKERS, ()) == WORKERS


def test_another_worker_at_the_same_address_has_had_no_trouble() -> None:
    trust = Trust()
    trust.trouble("folder-a")
    back = WORKERS | {"a": Worker(1, None, "folder-new")}
    assert trust.chosen(back, {"folder-a"}) == back


def test_where_all_rest_they_are_asked_all_the_same() -> None:
    trust = Trust()
    for worker in WORKERS.values():
        trust.trouble(worker.folder)
    assert trust.chosen(WORKERS, ()) == WORKERS
    assert list(trust.chosen(WORKERS, {"folder-a"})) == ["b", "c"]
