"""A page in a real browser: what it fetches, what lies over what, and in which colours.

The page is shown in a frame as wide as asked for, under a policy that forbids every request; a script beside the frame
measures it. Without Chromium these tests are skipped, unless RACER_BROWSER says that there must be one.
"""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--virtual-time-budget=5000"),
]
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
MEASURE = r"""
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  const corners = (text) => {
    // the box of the text itself, turned as the text is turned, a little smaller: touching is not overlapping
    const box = text.getBBox(), at = text.getScreenCTM(), dx = 0.08 * box.width, dy = 0.2 * box.height;
    return [[box.x + dx, box.y + dy], [box.x + box.width - dx, box.y + dy],
            [box.x + box.width - dx, box.y + box.height - dy], [box.x + dx, box.y + box.height - dy]]
      .map(([x, y]) => [at.a * x + at.c * y + at.e, at.b * x + at.d * y + at.f]);
  };
  const apart = (one, other) => [one, other].some((shape) => shape.some(([x, y], i) => {
    const [u, v] = shape[(i + 1) % 4], normal = [v - y, x - u];
    const shadow = (of) => of.map((p) => p[0] * normal[0] + p[1] * normal[1]);
    const a = shadow(one), b = shadow(other);
    return Math.max(...a) <= Math.min(...b) || Math.max(...b) <= Math.min(...a);
  }));
  const figures = [...page.querySelectorAll("figure svg")].map((svg) => {
    const edge = svg.getBoundingClientRect(), said = (one) => one.textContent.trim();
    const texts = [...svg.querySelectorAll("text")].filter(said);
    const shapes = texts.map(corners), over = [], outside = [];
    shapes.forEach((shape, i) => {
      if (shape.some(([x, y]) => x < edge.left - 1 || x > edge.right + 1 || y < edge.top - 1 || y > edge.bottom + 1))
        outside.push(said(texts[i]));
      for (let j = i + 1; j < shapes.length; j++)
        if (!apart(shape, shapes[j])) over.push([said(texts[i]), said(texts[j])]);
    });
    const upright = texts.filter((one) => one.getScreenCTM().b === 0);
    const sizes = upright.map((one) => parseFloat(view.getComputedStyle(one).fontSize) * one.getScreenCTM().a);
    return { title: svg.getAttribute("aria-label"), width: edge.width, height: edge.height, over, outside,
             smallest: Math.min(...sizes), texts: texts.map(said) };
  });
  const blocks = [...page.querySelectorAll("main > *")].map((one) => one.getBoundingClientRect());
  const overlapping = blocks.filter((one, i) => i && one.top < blocks[i - 1].bottom - 1).length;
  const body = view.getComputedStyle(page.body);
  const isLeft = (one) => /rgb\(10, 11, /.test(view.getComputedStyle(one).fill);
  const placeholders = [...page.querySelectorAll("svg *")].filter(isLeft);
  const found = {
    width: page.documentElement.scrollWidth, overlapping, figures, paper: body.backgroundColor, ink: body.color,
    requests: view.performance.getEntriesByType("resource").length, unresolved: placeholders.length,
  };
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
"""


def needs_browser():
    if CHROMIUM is None:
        if os.environ.get("RACER_BROWSER"):
            pytest.fail("RACER_BROWSER asks for a browser, and there is no chromium")
        pytest.skip("no chromium")


def measure(page, folder, width, dark=False):
    """What the browser sees of a page, in a window of this width."""
    needs_browser()
    guarded = page.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">', 1)
    assert guarded != page
    harness = folder / "harness.html"
    harness.write_text(
        "<!doctype html><meta charset='utf-8'><body style='margin:0'>"
        f"<iframe style='width:{width}px;height:6000px;border:0' srcdoc=\"{html.escape(guarded)}\"></iframe>"
        f"<script>{MEASURE}</script>"
    )
    dumped = run(folder, harness, width, dark, "--dump-dom")
    found = re.search(r'<pre id="found">(.*?)</pre>', dumped, re.S)
    assert found, dumped[-2000:]
    return json.loads(html.unescape(found[1]))


def run(folder, path, width, dark, *flags):
    theme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    profile = folder / f"profile-{width}-{dark}"
    command = [CHROMIUM, *FLAGS, *theme, f"--user-data-dir={profile}", f"--window-size={max(width, 500)},6000", *flags]
    return subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
