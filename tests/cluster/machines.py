"""Machines to lose: a scheduler and workers of Dask, each at an address of its own.

As root on Linux each is a network namespace behind a bridge, in which the folder of the command cannot be
seen: nothing but messages can travel, and a machine can be cut off. Elsewhere they are addresses of the
loopback device, and what needs more than that is skipped.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

REPOSITORY = Path(__file__).resolve().parents[2]
DASK = str(Path(sys.executable).with_name("dask"))
QUICK = {  # to notice sooner that somebody is gone
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10 seconds",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12 seconds",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "6 seconds",
}


def separate() -> bool:
    """Whether this system lets us have network namespaces."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"hgptry{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    subprocess.run(["ip", "netns", "delete", name], capture_output=True)
    return made


def _ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=True)


@dataclass
class Machine:
    """One address, and what runs there."""

    name: str
    address: str
    space: str | None  # the network namespace
    home: Path
    process: "subprocess.Popen[str] | None" = None

    def start(self, *words: str, hidden: Path | None = None, small: str = "", **more: str) -> None:
        """Run a command of Dask's there, with the folder ``hidden`` out of sight."""
        self.home.mkdir(parents=True, exist_ok=True)
        command = [DASK, *words]
        if self.space is not None:
            mounts = f"mount -t tmpfs none {hidden}; " if hidden is not None else ""
            mounts += f"mount -t tmpfs -o size={small} none {self.home}; " if small else ""
            command = ["ip", "netns", "exec", self.space, "sh", "-c", f'{mounts}exec "$@"', "sh", *command]
        path = os.pathsep.join(part for part in (more.pop("path", ""), str(REPOSITORY)) if part)
        variables = {"PYTHONPATH": path, "HGPBENCH_DATA": str(self.home / "data"), **QUICK, **more}
        with (self.home.parent / f"{self.name}.log").open("a") as log:
            self.process = subprocess.Popen(
                command,
                cwd="/" if small else self.home,
                env={**os.environ, **variables},
                stdout=subprocess.DEVNULL,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def kill(self) -> None:
        """The machine loses its power: nothing there has time for anything."""
        if self.process is None:
            return
        for member in self.members():
            with suppress(psutil.Error):
                member.kill()
        self.process.wait(60)
        self.process = None

    def members(self) -> list[psutil.Process]:
        """Everything that runs there, the first one first."""
        assert self.process is not None
        with suppress(psutil.NoSuchProcess):
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        return []

    def send(self, kind: signal.Signals) -> None:
        for member in self.members():
            with suppress(psutil.Error):
                member.send_signal(kind)


@dataclass
class Machines:
    """A scheduler and workers; what they hide from each other is the folder ``hidden``."""

    root: Path
    hidden: Path
    apart: bool
    tag: str = field(default_factory=lambda: f"{os.getpid() % 100_000}")
    tls: list[str] = field(default_factory=list)
    known: dict[str, Machine] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where the scheduler is."""
        return f"{'tls' if self.tls else 'tcp'}://{self.known['scheduler'].address}:8786"

    def scheduler(self, **more: str) -> Machine:
        """Start the scheduler, again if need be."""
        machine = self._machine("scheduler")
        machine.start(
            *("scheduler", "--host", machine.address, "--port", "8786", "--no-dashboard", *self._protocol()),
            **more,
        )
        return machine

    def worker(self, name: str, threads: int = 1, small: str = "", **more: str) -> Machine:
        """Start a worker."""
        machine = self._machine(name)
        words = ["worker", self.address, "--host", machine.address, "--nthreads", str(threads)]
        words += ["--no-dashboard", "--local-directory", str(machine.home), "--memory-limit", "2GB"]
        words += ["--death-timeout", "60", *self._protocol()]
        machine.start(*words, hidden=self.hidden if self.apart else None, small=small, **more)
        return machine

    def cut(self, name: str, off: bool = True) -> None:
        """Pull out a machine's cable, or put it back."""
        _ip("link", "set", self._link(name), "down" if off else "up")

    def await_workers(self, count: int) -> None:
        """Wait until the scheduler knows of so many."""
        wait_until(lambda: len(self.workers()) >= count, f"there are no {count} workers")

    def workers(self) -> list[str]:
        """Addresses of the workers that the scheduler knows of."""
        code = (
            "import json, sys, distributed\n"
            "ca, cert, key = sys.argv[2:5] if len(sys.argv) > 2 else (None,) * 3\n"
            "keys = distributed.Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key,"
            " require_encryption=True) if ca else None\n"
            "client = distributed.Client(sys.argv[1], timeout=5, security=keys)\n"
            "print(json.dumps(list(client.scheduler_info()['workers'])))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, self.address, *self.tls[1::2]], capture_output=True, text=True
        )
        return list(json.loads(done.stdout)) if done.returncode == 0 else []

    def _protocol(self) -> list[str]:
        return ["--protocol", "tls", *self.tls] if self.tls else []

    def _machine(self, name: str) -> Machine:
        if name not in self.known:
            number = len(self.known) + 10
            space = f"hgp{self.tag}-{name}" if self.apart else None
            address = f"10.98.0.{number}" if self.apart else f"127.0.98.{number}"
            self.known[name] = Machine(name, address, space, self.root / name)
            if space is not None:
                self._wire(name, space, address)
        return self.known[name]

    def _link(self, name: str) -> str:
        return f"hv{self.tag}{list(self.known).index(name)}"

    def _wire(self, name: str, space: str, address: str) -> None:
        link = self._link(name)
        _ip("netns", "add", space)
        _ip("link", "add", link, "type", "veth", "peer", "name", f"{link}p")
        _ip("link", "set", f"{link}p", "netns", space)
        _ip("link", "set", link, "master", f"hb{self.tag}", "up")
        inside = ["netns", "exec", space, "ip"]
        _ip(*inside, "addr", "add", f"{address}/24", "dev", f"{link}p")
        for device in (f"{link}p", "lo"):
            _ip(*inside, "link", "set", device, "up")

    def open(self) -> None:
        if self.apart:
            _ip("link", "add", f"hb{self.tag}", "type", "bridge")
            _ip("addr", "add", "10.98.0.1/24", "dev", f"hb{self.tag}")
            _ip("link", "set", f"hb{self.tag}", "up")

    def close(self) -> None:
        for name, machine in self.known.items():
            machine.kill()
            if machine.space is not None:
                _ip("link", "delete", self._link(name), check=False)
                _ip("netns", "delete", machine.space, check=False)
        if self.apart:
            _ip("link", "delete", f"hb{self.tag}", check=False)


@contextmanager
def opened(root: Path, hidden: Path) -> Iterator[Machines]:
    """A network to put machines into; all of it goes in the end."""
    machines = Machines(root, hidden, separate())
    try:
        machines.open()
        yield machines
    finally:
        machines.close()


def wait_until(condition: Callable[[], bool], complaint: str, patience: float = 180.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.05)
