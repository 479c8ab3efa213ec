"""Machines to lose: a scheduler and workers of Dask, each at an address of its own.

As root on Linux each is a network namespace behind a bridge, in which the folder of the command cannot be
seen: nothing but messages can travel, and a machine can be cut off. Elsewhere they are addresses of the
loopback device, and what needs more than that is skipped.
"""

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

import distributed
import psutil

REPOSITORY = Path(__file__).resolve().parents[2]
DASK = str(Path(sys.executable).with_name("dask"))
QUICK = {  # to notice sooner that somebody is gone
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20 seconds",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12 seconds",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "6 seconds",
}
MARK = "CLUSTER_MACHINE"  # a variable of the environment by which all that runs on a machine is found
PATIENCE = 900.0  # seconds for what takes some on a busy machine; nothing waits for longer than it must


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
    mark: str
    process: "subprocess.Popen[str] | None" = None
    started: tuple[object, ...] = ()  # how

    def start(self, *words: str, hidden: Path | None = None, small: str = "", **more: str) -> None:
        """Run a command of Dask's there, with the folder ``hidden`` out of sight."""
        self.home.mkdir(parents=True, exist_ok=True)
        command = [DASK, *words]
        if self.space is not None:
            mounts = f"mount -t tmpfs none {hidden}; " if hidden is not None else ""
            mounts += f"mount -t tmpfs -o size={small} none {self.home}; " if small else ""
            command = ["ip", "netns", "exec", self.space, "sh", "-c", f'{mounts}exec "$@"', "sh", *command]
        path = os.pathsep.join(part for part in (more.pop("path", ""), str(REPOSITORY)) if part)
        data = {"HGPBENCH_DATA": str(self.home / "data"), MARK: self.mark}
        with (self.home.parent / f"{self.name}.log").open("a") as log:
            self.process = subprocess.Popen(
                command,
                cwd="/" if small else self.home,
                env={**os.environ, "PYTHONPATH": path, **data, **QUICK, **more},
                stdout=subprocess.DEVNULL,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def lives(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> int:
        """The machine loses its power: nothing there has time for anything. How many processes that were."""
        if self.process is None:
            return 0
        hit = 0
        while members := self.members():  # what was just being started is none of them yet
            for member in members:
                with suppress(psutil.Error):
                    member.kill()
                    hit += 1
            psutil.wait_procs(members, 5.0)
        self.process.wait(60)
        self.process = None
        return hit

    def members(self) -> list[psutil.Process]:
        """Everything that runs there, whoever started it."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # it ended, or is another user's
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

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
    def net(self) -> str:
        """The first numbers of all addresses: others at work here have their own."""
        return f"{'10.98' if self.apart else '127.98'}.{os.getpid() % 250 + 1}"

    @property
    def file(self) -> Path:
        """Where the scheduler says where it is."""
        return self.root / "scheduler.json"

    @property
    def address(self) -> str:
        """Where the scheduler is."""
        return f"{'tls' if self.tls else 'tcp'}://{self.known['scheduler'].address}:8786"

    def up(self, names: str, **more: str) -> None:
        """A scheduler, and these workers alone: those that live go on, those of an earlier test end."""
        wanted = {"scheduler": self._kind("scheduler")} | {n: self._kind(n, **more) for n in names}
        fit = {
            name
            for name, kind in wanted.items()
            if self._machine(name).lives() and self.known[name].started == kind
        }
        if "scheduler" not in fit:
            fit = set()
        for name, machine in self.known.items():
            if name not in fit:
                machine.kill()
        if not fit:
            self.scheduler()
        for name in names:
            if name not in fit:
                self.worker(name, **more)
        self.await_workers(names)

    def scheduler(self) -> Machine:
        """Start the scheduler, again if need be."""
        machine = self._machine("scheduler")
        machine.started = self._kind("scheduler")
        words = ["--host", machine.address, "--port", "8786", "--no-dashboard", *self._protocol()]
        words += ["--scheduler-file", str(self.file)]
        machine.start("scheduler", *words)
        return machine

    def worker(self, name: str, threads: int = 1, small: str = "", **more: str) -> Machine:
        """Start a worker."""
        machine = self._machine(name)
        machine.started = self._kind(name, **more) if threads == 1 and not small else (name, "its own")
        words = ["worker", self.address, "--host", machine.address, "--nthreads", str(threads)]
        words += ["--no-dashboard", "--local-directory", str(machine.home), "--memory-limit", "2GB"]
        words += ["--death-timeout", "60", *self._protocol()]
        machine.start(*words, hidden=self.hidden if self.apart else None, small=small, **more)
        return machine

    def cut(self, name: str, off: bool = True) -> None:
        """Pull out a machine's cable, or put it back."""
        _ip("link", "set", self._link(name), "down" if off else "up")

    def heal(self) -> None:
        """Nothing is cut off or stopped, and nothing is secret."""
        self.tls = []
        for name, machine in self.known.items():
            if machine.space is not None:
                self.cut(name, off=False)
            if machine.process is not None:
                machine.send(signal.SIGCONT)

    def await_workers(self, names: str) -> None:
        """Wait until the scheduler knows of these workers and no others."""
        wanted = {self.known[name].address for name in names}
        wait_until(
            lambda: {address.rpartition(":")[0].rpartition("/")[2] for address in self.workers()} == wanted,
            f"the workers are not {', '.join(names)}",
        )

    def workers(self) -> list[str]:
        """Addresses of the workers that the scheduler knows of."""
        keys = None
        if self.tls:
            ca, cert, key = self.tls[1::2]
            files = {"tls_ca_file": ca, "tls_client_cert": cert, "tls_client_key": key}
            keys = distributed.Security(require_encryption=True, **files)
        options = {"timeout": 5, "security": keys, "set_as_default": False}
        with suppress(OSError, TimeoutError), distributed.Client(self.address, **options) as client:
            return list(client.scheduler_info(n_workers=-1)["workers"])
        return []

    def _kind(self, name: str, **more: str) -> tuple[object, ...]:
        """How a machine is started where nothing special is asked for."""
        return name, *self.tls, *sorted(more.items())

    def _protocol(self) -> list[str]:
        """Dask calls our ``--tls-ca`` ``--tls-ca-file``."""
        if not self.tls:
            return []
        return ["--protocol", "tls", *("--tls-ca-file" if word == "--tls-ca" else word for word in self.tls)]

    def _machine(self, name: str) -> Machine:
        if name not in self.known:
            number = len(self.known) + 10
            space = f"hgp{self.tag}-{name}" if self.apart else None
            address, mark = f"{self.net}.{number}", f"{self.tag}-{name}"
            self.known[name] = Machine(name, address, space, self.root / name, mark)
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
            _ip("addr", "add", f"{self.net}.1/24", "dev", f"hb{self.tag}")
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


def wait_until(condition: Callable[[], bool], complaint: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.05)
