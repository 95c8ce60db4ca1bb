"""Pages that the code writes are as it would write them now, and every command says what its options do."""

import importlib.util
from pathlib import Path

import pytest
from typer.main import get_command

from racer.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
GROUP = get_command(app)
COMMANDS = {name: GROUP.get_command(None, name) for name in GROUP.list_commands(None)}


@pytest.fixture(scope="module")
def writer():
    spec = importlib.util.spec_from_file_location("reference_writer", ROOT / "tools" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["cli", "api"])
def test_a_generated_page_is_current(writer, name):
    written = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    assert written == getattr(writer, f"{name}_page")(), "run python tools/reference.py"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_each_of_its_options_say_what_they_do(name):
    assert COMMANDS[name].help
    for one in COMMANDS[name].params:
        assert one.help, one.name


def test_the_commands_are_these():
    assert list(COMMANDS) == ["demo", "fit", "route", "evaluate", "inspect"]


def test_the_help_of_fit_names_every_method():
    from racer.methods import REGISTRY

    for name in REGISTRY:
        assert name in COMMANDS["fit"].help
