"""Memory of a process and of what it started."""

import os
import subprocess
import sys
import time

from hgpbench.bench.memory import Meter, resident, usage

CHILD = "x = bytearray(b'1' * 200_000_000); print('ready', flush=True); input()"


def test_a_child_counts_and_a_gone_process_does_not() -> None:
    with Meter() as meter:
        alone = resident(os.getpid())
        child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdin is not None
        child.stdout.readline()
        assert resident(os.getpid()) > alone + 150e6
        deadline = time.monotonic() + 60
        while meter.peak < alone + 150e6 and time.monotonic() < deadline:
            time.sleep(0.05)
        child.communicate(b"\n", timeout=60)
    assert meter.peak > alone + 150e6
    assert resident(child.pid) == 0


def test_processor_time_of_ended_children_counts() -> None:
    before = usage(os.getpid()).seconds
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
    assert usage(os.getpid()).seconds > before + 0.45
