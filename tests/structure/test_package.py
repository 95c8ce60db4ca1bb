"""The package keeps its own rules: names, imports, sizes."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import racer

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "racer"
MODULES = ["racer", *(module.name for module in pkgutil.walk_packages(racer.__path__, "racer."))]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_it_is_and_what_is_public(name):
    module = importlib.import_module(name)
    assert module.__doc__ and module.__doc__.strip()
    for public in module.__all__:
        assert hasattr(module, public), public
        thing = getattr(module, public)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{name}.{public} has no docstring"


@pytest.mark.parametrize("name", [one for one in racer.__all__ if not inspect.ismodule(getattr(racer, one))])
def test_a_top_level_name_shows_an_example(name):
    assert ">>>" in (getattr(racer, name).__doc__ or ""), f"racer.{name} has no example"


def test_importing_racer_loads_nothing_heavy():
    heavy = ["torch", "numpy", "scipy", "sklearn", "pyarrow", "pandas", "rich", "matplotlib"]
    code = f"import racer, sys; print([one for one in {heavy} if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_user_needs_no_test_dependency():
    """Every third-party import of the package is a declared dependency."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    known = {re.split(r"[<>=\[]", one)[0] for one in declared} - {"scikit-learn"} | {"sklearn", "racer"}
    imported = set()
    for path in SOURCE.rglob("*.py"):
        imported |= set(re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.M))
    assert imported - set(sys.stdlib_module_names) <= known


def test_the_type_checkers_see_the_names_that_users_see():
    text = (SOURCE / "__init__.py").read_text()
    seen = re.findall(r"^    from [\w.]+ import (\w+) as \1$", text, re.M)
    rooms = re.findall(r"^    import racer\.(\w+) as \1$", text, re.M)
    assert sorted([*seen, *rooms]) == sorted(racer.__all__) == dir(racer)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Rooter'"):
        _ = racer.Rooter


def test_the_version_is_said_once_and_the_same():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == racer.__version__


def test_no_file_holds_two_ideas():
    long = {str(path): n for path in SOURCE.rglob("*.py") if (n := len(path.read_text().splitlines())) > 450}
    assert not long


def test_nothing_is_called_utils():
    forbidden = {"utils", "helpers", "common", "misc"}
    assert not [path for path in SOURCE.rglob("*") if path.stem in forbidden]


def test_the_reference_owes_nothing_to_what_it_checks():
    """Transcriptions import neither the package nor the libraries it computes with."""
    for path in (ROOT / "tests" / "reference").glob("*.py"):
        imported = set(re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.M))
        assert imported <= {"collections", "decimal", "fractions", "itertools", "math", "reference"}, path
