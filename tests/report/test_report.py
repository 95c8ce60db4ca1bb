"""The report in a real browser: complete, offline, legible in both themes and on a phone; and its files."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from evaluation.worlds import make_panel
from report.browser import CHROMIUM, measure, needs_browser, run

from racer import ClassifierConfidence, Panel, RacerKNN
from racer.evaluation import evaluate
from racer.report import REPORT_FILES, write_report

FIGURES = ("accuracy", "reliability", "competence", "evidence")
NAMES = ("actinic keratosis", "seborrheic dermatitis", "<i>&amp;</i>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    panel = make_panel(n_experts=12, n_items=150)
    write_report(evaluate(RacerKNN(k=3), panel, context_size=20, seen=panel.experts[:5]), place, NAMES)
    return place


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def seen(page, tmp_path_factory):
    needs_browser()
    place = tmp_path_factory.mktemp("browser")
    return {(w, dark): measure(page, place, w, dark) for w in (390, 1100) for dark in (False, True)}


def luminance(colour):
    red, green, blue = (int(one) / 255 for one in re.findall(r"\d+", colour)[:3])
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1100], ids=["phone", "desk"])
def test_nothing_overlaps_and_nothing_is_cut(seen, width, dark):
    found = seen[width, dark]
    assert found["width"] <= width, "the page scrolls sideways"
    assert found["overlapping"] == 0
    assert len(found["figures"]) == len(FIGURES)
    for figure in found["figures"]:
        assert figure["over"] == [] and figure["outside"] == [], figure["title"]
        assert 0 < figure["width"] <= width


def test_text_is_large_enough_on_a_phone(seen):
    for figure in seen[390, False]["figures"]:
        assert figure["smallest"] >= 7, figure["title"]


def test_every_axis_is_labelled(seen):
    labels = {
        "accuracy": ("budget: share of cases handed over", "accuracy, model and experts"),
        "reliability": ("probability given that the expert is right", "share that was right"),
        "competence": ("true class", "expert"),
        "evidence": ("effective number of similar past answers", "expert"),
    }
    for name, figure in zip(FIGURES, seen[1100, False]["figures"], strict=True):
        assert set(labels[name]) <= set(figure["texts"]), name


def test_the_themes_differ_and_both_are_legible(seen):
    light, dark = (seen[1100, theme] for theme in (False, True))
    assert luminance(light["paper"]) > 0.8 > 0.2 > luminance(dark["paper"])
    for theme in (light, dark):
        low, high = sorted((luminance(theme["paper"]), luminance(theme["ink"])))
        assert (high + 0.05) / (low + 0.05) > 7
        assert theme["unresolved"] == 0


def test_the_page_needs_no_network(seen, page):
    assert all(found["requests"] == 0 for found in seen.values())
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert not re.search(r"https?://|<script|<link|<img|@import|url\((?!#)", outside)


def test_names_are_text_not_markup(page):
    assert NAMES[2] not in page and "&lt;i&gt;&amp;amp;&lt;/i&gt;" in page


def test_figures_stand_alone_in_both_themes(folder, tmp_path):
    for name in FIGURES:
        text = (folder / f"{name}.svg").read_text(encoding="utf-8")
        assert ET.fromstring(text.encode()).tag.endswith("svg")
        assert "prefers-color-scheme: dark" in text and "#0a0b" not in text
        used = set(re.findall(r"var\(--(\w+)\)", text))
        assert used and used <= set(re.findall(r"--(\w+):", text))
    if CHROMIUM:
        pictures = []
        for dark in (False, True):
            target = tmp_path / f"{dark}.png"
            run(tmp_path, folder / "accuracy.svg", 500, dark, f"--screenshot={target}")
            pictures.append(target.read_bytes())
        assert pictures[0] != pictures[1]


def test_every_file_is_one_that_a_report_may_replace(folder):
    written = {one.name for one in folder.iterdir()}
    assert written == {"index.html", "metrics.json", *(f"{name}.svg" for name in FIGURES)}
    assert all(re.fullmatch(REPORT_FILES, name) for name in written)


def test_metrics_and_page_say_the_same(folder, page):
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["verdict"].replace("+", "&#43;") in page or metrics["verdict"] in page
    rules = metrics["groups"]["all"]["rules"]
    assert list(rules)[1:] == ["best expert", "confidence only", "random", "always the model", "oracle"]
    for rule in rules.values():
        assert f"{rule['aursac']['estimate']:.4f}" in page
        assert len(rule["curve"]["budget"]) == len(rule["curve"]["high"]) == 101


def test_the_same_evaluation_gives_the_same_bytes(tmp_path):
    panel = make_panel()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_report(evaluate(RacerKNN(k=3), panel, context_size=10), tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_a_method_without_probabilities_has_a_report(tmp_path):
    write_report(evaluate(ClassifierConfidence(), make_panel(), context_size=10), tmp_path)
    assert not (tmp_path / "reliability.svg").exists()
    assert "gives no probability" in (tmp_path / "index.html").read_text()


def test_hardly_any_cases_have_a_report(tmp_path):
    write_report(evaluate(RacerKNN(), make_panel(n_experts=1, n_items=1, share=1.0), context_size=10), tmp_path)
    assert "Too few cases" in (tmp_path / "index.html").read_text()


def test_many_experts_with_odd_names_still_fit(tmp_path):
    panel = make_panel(n_experts=60, n_items=120, n_roles=25, share=0.3)
    odd = ["$x^2$", "a\tb\x07", "Дарья Ильинична Константинопольская", "李医生", "<script>alert(1)</script>", "‮rtl"]
    names = [*odd, *(f"expert {row}" for row in range(len(odd), 60))]
    named = Panel(panel.cases, panel.label, panel.answer_matrix(), experts=names)
    write_report(evaluate(RacerKNN(k=3), named, context_size=10), tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script>" not in page
    found = measure(page, tmp_path, 390)
    for figure in found["figures"]:
        assert figure["over"] == [] and figure["outside"] == [], figure["title"]
