"""One drawing for two themes: matplotlib draws in placeholder colours, which become CSS variables.

A figure inside the page takes the page's colours; one that stands alone brings its own, light or dark as the reader's
system asks for.
"""

import re
import warnings
from io import StringIO
from typing import Any

import matplotlib
from matplotlib.figure import Figure

__all__ = ["COLOURS", "RC", "VARIABLES", "inline_svg", "standalone_svg"]

LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "muted": "#5d6670", "grid": "#dfe3e8", "method": "#0b62c4",
    "best": "#b3500b", "confidence": "#08775a", "random": "#7d848c", "oracle": "#7446b0",
}  # fmt: skip
DARK = {
    "paper": "#14171b", "ink": "#e8ebee", "muted": "#a3adb8", "grid": "#333a42", "method": "#63adff",
    "best": "#f29a5c", "confidence": "#43cfa3", "random": "#9aa2ab", "oracle": "#bd9bf7",
}  # fmt: skip
COLOURS = {name: f"#0a0b{row:02x}" for row, name in enumerate(LIGHT, start=16)}
"""Placeholders: colours that nobody would choose, so that replacing them replaces nothing else."""
RC: Any = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and read aloud
    "svg.hashsalt": "racer",
    "text.parse_math": False,  # an expert may be called $ada
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.titlecolor": COLOURS["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS["grid"],
    "text.color": COLOURS["ink"],
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
VARIABLES = "\n".join(
    [
        ":root { color-scheme: light dark; " + " ".join(f"--{name}: {value};" for name, value in LIGHT.items()) + " }",
        "@media (prefers-color-scheme: dark) { :root { "
        + " ".join(f"--{name}: {value};" for name, value in DARK.items())
        + " } }",
    ]
)
"""The colours of both themes, as CSS."""


def inline_svg(figure: Figure, name: str, title: str) -> str:
    """The figure to stand inside the page; ids are made the figure's own."""
    text = StringIO()
    with matplotlib.rc_context(RC), warnings.catch_warnings():
        # a name in letters that matplotlib's own font lacks: the browser has them
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->\n?", "", svg, flags=re.S)
    svg = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{name}-", svg)
    for colour, placeholder in COLOURS.items():
        svg = svg.replace(placeholder, f"var(--{colour})")
    svg = re.sub(r'<svg\b([^>]*?) width="[^"]*"', r"<svg\1", svg, count=1)
    svg = re.sub(r'<svg\b([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


def standalone_svg(inline: str) -> str:
    """The same figure as a file of its own."""
    head, tail = inline.split(">", 1)
    style = f"<style>{VARIABLES}\nsvg {{ background: var(--paper); }}</style>"
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}>{style}{tail}'
