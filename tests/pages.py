"""A page for tests, what a parser finds in it, and what a browser makes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from conftest import LIMIT_S
from isthmus.results.run_file import DeviceRecord, Run
from synthetic import Law, point, transfer_run

HOSTILE = '"><script>alert(1)</script><img src=http://example.invalid/x onerror=alert(2)>'
SIZES = [1, 4096, 1 << 20, 2 << 30]


def whole() -> Run:
    """Two contenders, one with published figures, a memory copy, and an emulated card."""
    slow, fast, copy = Law(15e-6, 8e9), Law(5e-6, 8e9), Law(1e-7, 12e9)
    laws = {"host": {"read": copy}, HOSTILE: {"read": slow}, "xrt:0": {"read": fast}}
    measured = transfer_run(laws, SIZES, apis={"host": "host", "xrt:0": "xrt"})
    card = [
        point("card:x", "read", size, [[fast(size)] * 3], rerun_changes={"clock": "simulated"})
        for size in SIZES
    ]
    lost = point("xrt:0", "write", 64, [[1e-6] * 25], rerun_changes={"verified": "false"})
    device = DeviceRecord(address="card:x", backend="card", real=False)
    return msgspec.structs.replace(
        measured,
        points=[*measured.points, *card, lost],
        devices=[*measured.devices, device],
        environment={"host": "bench", "cpu": HOSTILE, "numa_nodes": {"node0": "0-3"}},
    )


class Seen(HTMLParser):
    """What a parser finds in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._open.append(tag)

    def handle_data(self, data):
        if self._open:
            self.texts[self._open[-1]] = self.texts.get(self._open[-1], "") + data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


def without_scripts(text: str) -> str:
    return re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)


# A browser

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium here to draw the page")


class Visit(NamedTuple):
    """What a browser did with a page."""

    document: str
    console: list[str]
    requests: list[str]
    """Addresses that the page, not the browser itself, asked for, files aside."""


def visit(page: Path, profile: Path, *options: str) -> Visit:
    log = profile / "net.json"
    command = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
        f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND",
        "--disable-background-networking", "--enable-logging=stderr", f"--log-net-log={log}",
        "--virtual-time-budget=60000", *options, "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT_S, check=True
    )
    events = json.loads(log.read_text("utf-8"))
    start = events["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    return Visit(
        done.stdout,
        [line for line in done.stderr.splitlines() if "CONSOLE" in line],
        [
            event["params"]["url"]
            for event in events["events"]
            if event["type"] == start
            and "url" in event.get("params", {})
            and event["params"].get("initiator") != "not an origin"
            and not event["params"]["url"].startswith("file:")
        ],
    )


PROBE = """
const shown = (e) => e.getClientRects().length > 0;
const box = (e) => {
  const { left, top, right, bottom } = e.getBoundingClientRect();
  return [left, top, right, bottom];
};
const name = (s) => [...document.querySelectorAll(s)].filter(shown).map(box);
const overlaps = [], outside = [];
for (const svg of document.querySelectorAll(".panels svg")) if (shown(svg)) {
  const all = [...svg.querySelectorAll("text")].map((t) => [t.textContent, ...box(t)]);
  const [left, , right] = box(svg);
  for (const [told, l, , r] of all) if (l < left - 1 || r > right + 1) outside.push(told);
  all.forEach((a, i) => all.slice(i + 1).forEach((b) => {
    const same = a.join() === b.join();
    const wide = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
    const high = Math.min(a[4], b[4]) - Math.max(a[2], b[2]);
    if (!same && wide > 1 && high > 3) overlaps.push([a[0], b[0]]);
  }));
}
const canvas = document.querySelector(".canvas");
canvas.focus();
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
const tip = document.getElementById("tip").textContent;
const th = [...document.querySelectorAll("thead th")].find((t) => t.textContent === "value");
th?.querySelector("button").click();
const column = th ? [...th.closest("table").tBodies[0].rows].map(
  (r) => r.cells[th.cellIndex].textContent) : [];
parent.postMessage(JSON.stringify({
  overlaps, outside, tip, column, first: ["h1", ".state", ".verdict", ".tiles li",
    ".canvas", "aside"].map((s) => name(s).slice(0, 4)),
  width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight,
  seen: [innerWidth, innerHeight], figures: name("figure").length,
}), "*");
"""


FRAME = """
<body style="margin:0"><iframe src="probed.html" style="border:0" width="{}" height="{}"></iframe>
<script>onmessage = (e) => {{
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = e.data;
  document.body.append(out);
}}</script>
"""


def probed(page: Path, profile: Path, wide: int, high: int):
    """What the page looks like at that size, as its elements say, and what the browser logged.

    In a frame, because a window is at least 500 pixels wide.
    """
    text = page.read_text("utf-8")
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    probe = f"<script>{PROBE}</script></body>"
    (page.parent / "probed.html").write_text(free.replace("</body>", probe), "utf-8")
    (page.parent / "frame.html").write_text(FRAME.format(wide, high), "utf-8")
    seen = visit(page.parent / "frame.html", profile, "--window-size=1400,900")
    match = re.search(r'<pre id="probe">(.*?)</pre>', seen.document, re.DOTALL)
    assert match, seen.console
    return json.loads(unescape(match[1])), seen
