"""The documents say what is there: every error, method, check and link. Their examples are run as doctests."""

import re
from pathlib import Path

import pytest

from racer import errors
from racer.checks import CHECKS
from racer.errors import RacerError
from racer.methods import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "results").rglob("*.md")])
ERRORS = [getattr(errors, name) for name in errors.__all__ if name != "RacerError"]


def page(name):
    return (ROOT / "docs" / name).read_text()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_an_error_has_a_code_a_place_in_the_tree_and_an_anchor(error):
    assert issubclass(error, RacerError) and error is not RacerError
    assert re.search(rf"[├└]── {error.__name__} +{error.code}$", errors.__doc__, re.M)
    section = re.search(rf"^## {error.code}$\n(.*?)(?=^## |\Z)", page("reference/errors.md"), re.M | re.S)
    assert section and f"`{error.__name__}`" in section[1]


def test_no_two_errors_share_a_code():
    assert len({error.code for error in ERRORS}) == len(ERRORS)


@pytest.mark.parametrize("name", REGISTRY)
def test_a_method_is_in_the_table_of_methods(name):
    row = re.search(rf"^\| `{name}` \| `(\w+)", page("reference/methods.md"), re.M)
    assert row and row[1] == REGISTRY[name].__name__


def test_every_check_is_described_and_no_other():
    described = re.findall(r"^\| `(\w+)` \|", page("reference/checks.md"), re.M)
    assert described == [check.__name__.removeprefix("check_") for check in CHECKS]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https?:", target):
            where, _, anchor = target.partition("#")
            found = (path.parent / where) if where else path
            assert found.exists(), target
            assert not anchor or re.search(rf"^#+ {anchor}$", found.read_text(), re.M), target


def test_notation_names_files_and_names_that_exist():
    rows = re.findall(r"^\|.*\| (`[^|]+`) \| `([\w/]+\.py)`", page("explanation/notation.md"), re.M)
    assert len(rows) > 20
    for names, path in rows:
        source = (ROOT / "src" / "racer" / path).read_text()
        for name in re.findall(r"`([\w.]+)", names):
            assert re.search(rf"\b{name.split('.')[-1]}\b", source) or path.endswith("role_network.py"), (name, path)


def test_every_record_is_listed():
    records = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("0*.md"))
    assert re.findall(r"\((0\d+[^)]+)\)", page("decisions/README.md")) == records
    for record in records:
        text = page(f"decisions/{record}")
        assert "**Chosen.**" in text and "**Rejected.**" in text


def test_every_page_can_be_reached_from_the_first():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        one = waiting.pop().resolve()
        if one in reached or not one.exists() or one.suffix != ".md":
            continue
        reached.add(one)
        waiting += [
            one.parent / target for target in re.findall(r"\]\(([^)#\s]+)", one.read_text()) if ":" not in target
        ]
    assert {path.resolve() for path in PAGES} <= reached


def test_the_changelog_has_room_for_the_next_release():
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text()
