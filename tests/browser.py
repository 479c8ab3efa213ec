"""Chromium without a window, driven by its devtools protocol: enough to use a page as a reader does.

``apt-get install chromium`` (or any Chrome on the path) is all it takes; where there is none, tests that ask
for it are skipped and say so.
"""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

websocket = pytest.importorskip("websocket", reason="no websocket-client: `make .venv/.ready` installs it")

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
MISSING = "no Chromium on the path: `apt-get install chromium`, or Chrome, lets this test drive the page"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
_PATIENCE = 60.0  # seconds for a browser to start, or a page to answer, on a busy machine


def executable() -> str | None:
    """Where the browser is, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One browser with one page; keeps what the page complains of."""

    def __init__(self) -> None:
        self._home = tempfile.mkdtemp(prefix="hgpbench-browser-")
        command = [executable() or NAMES[0], *_FLAGS, f"--user-data-dir={self._home}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._asked = 0
        self.complaints: list[str] = []
        port, place = self._wait_for(lambda: _lines(Path(self._home) / "DevToolsActivePort"))
        address = f"ws://127.0.0.1:{port}{place}"
        self._socket = websocket.create_connection(address, timeout=_PATIENCE, suppress_origin=True)
        target = self._ask("Target.createTarget", {"url": "about:blank"}, session=None)["targetId"]
        attached = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True}, session=None)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(_PATIENCE)
        shutil.rmtree(self._home, ignore_errors=True)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol to the page."""
        return self._ask(method, parameters, self._session)

    def open(self, address: str, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Load a page anew at a size."""
        self.size(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url="about:blank")  # else another fragment would not load it again
        self.ask("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def size(self, width: int, height: int) -> None:
        """The size of the window."""
        shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.ask("Emulation.setDeviceMetricsOverride", **shape)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until an expression in the page is true."""
        self._wait_for(lambda: self.run(f"Boolean({script})"), script)

    def key(self, name: str, text: str = "") -> None:
        """Press and release a key."""
        about = {"key": name, "code": name, "text": text, "windowsVirtualKeyCode": _CODES.get(name, 0)}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **about)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def point(self, x: float, y: float, click: bool = False) -> None:
        """Move the mouse, and click."""
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def _ask(self, method: str, parameters: dict[str, Any], session: str | None) -> dict[str, Any]:
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": parameters}
        self._socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while True:
            told = json.loads(self._socket.recv())
            self._note(told)
            if told.get("id") == self._asked:
                if "error" in told:
                    raise AssertionError(f"{method}: {told['error']}")
                return dict(told["result"])

    def _note(self, told: dict[str, Any]) -> None:
        """Errors, warnings and anything fetched from elsewhere."""
        about = told.get("params", {})
        if told.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(about["exceptionDetails"]))
        elif told.get("method") == "Log.entryAdded":
            self.complaints.append(str(about["entry"]["text"]))
        elif told.get("method") == "Network.requestWillBeSent":
            address = about["request"]["url"]
            if not address.startswith(("file:", "data:", "about:", "blob:")):
                self.complaints.append(f"asked for {address}")

    def _wait_for(self, question: Callable[[], Any], what: str = "the browser") -> Any:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            if answer := question():
                return answer
            time.sleep(0.05)
        raise AssertionError(f"waited {_PATIENCE:g} s in vain for {what}")


_CODES = {
    "Enter": 13,
    "Escape": 27,
    "ArrowRight": 39,
    "ArrowLeft": 37,
    "Tab": 9,
    "Home": 36,
    "End": 35,
    " ": 32,
}


def _lines(path: Path) -> list[str]:
    lines = path.read_text().split() if path.is_file() else []
    return lines if len(lines) == 2 else []
