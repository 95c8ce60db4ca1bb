"""Writes the pages that the code can write itself.

    python tools/reference.py

`docs/reference/cli.md` from the commands' own help, `docs/reference/api.md` from signatures and docstrings. A test
fails where they are not current.
"""

import importlib
import inspect
import re
from pathlib import Path

import typer
from typer.main import get_command

import racer
from racer.cli.main import app

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"
ROOMS = (
    *("files", "routing", "evaluation", "report", "competence", "methods"),
    *("pooling", "metrics", "learning", "simulation", "checks", "errors"),
)
TOP = [name for name in racer.__all__ if not inspect.ismodule(getattr(racer, name))]


def cli_page() -> str:
    """Every command with its arguments and options."""
    group = get_command(app)
    lines = [
        "# Commands\n",
        "`racer COMMAND --help` says the same. Results go to standard output, remarks and progress to standard "
        "error.\n",
        "| exit code | when |",
        "|--:|---|",
        "| 0 | done |",
        "| 2 | a mistake in the options or the files: what, with which values, what to do; nothing was written |",
        "| 1 | a mistake of racer's, with a traceback to report |",
        "| 130 | Ctrl-C; nothing is left half-written |",
    ]
    context = typer.Context(group, info_name="racer")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        options = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
        needed = " ".join(f"{one.opts[0]} …" for one in options if one.required)
        usage = " ".join(filter(None, [f"racer {name}", *(one.name for one in arguments), needed]))
        lines += [f"\n## racer {name}\n", f"`{usage}`\n", inspect.cleandoc(command.help or ""), ""]
        lines += ["| option | default | what |", "|---|---|---|"]
        lines += [f"| `{one.name}` | required | {one.help} |" for one in arguments]
        lines += [f"| `{'`, `'.join(one.opts)}` | {_default(one)} | {one.help} |" for one in options]
    return "\n".join(lines) + "\n"


def api_page() -> str:
    """Every public name, its signature and the first line of its docstring."""
    lines = [
        "# Every public name\n",
        "Top-level names may be leaned on; the rooms behind them can still move. Examples are in the docstrings, "
        "`help(racer.Router)`, and run by the tests.\n",
        "## racer\n",
        *(_entry(f"racer.{name}", getattr(racer, name)) for name in sorted(TOP)),
    ]
    for room in ROOMS:
        module = importlib.import_module(f"racer.{room}")
        first = (module.__doc__ or "").strip().splitlines()[0]
        lines += [f"\n## racer.{room}\n", f"{first}\n"]
        lines += [_entry(f"racer.{room}.{name}", getattr(module, name)) for name in sorted(module.__all__)]
    return "\n".join(lines) + "\n"


def _default(option: object) -> str:
    if option.required:
        return "required"
    return "" if option.default is None or option.default is False else f"`{option.default}`"


def _entry(path: str, thing: object) -> str:
    said = (inspect.getdoc(thing) or "").strip().splitlines() if callable(thing) else []
    first = said[0] if said else "A constant."
    methods = ""
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        own = [
            name for name in dir(thing) if not name.startswith("_") and _is_method(inspect.getattr_static(thing, name))
        ]
        methods = f" Methods: {', '.join(f'`{name}`' for name in own)}." if own else ""
    return f"- `{path}{_signature(thing)}` {first}{methods}"


def _is_method(one: object) -> bool:
    return inspect.isfunction(one) or isinstance(one, classmethod)


def _signature(thing: object) -> str:
    if inspect.isclass(thing) and (issubclass(thing, Exception) or inspect.isabstract(thing)):
        return ""
    try:
        parameters = inspect.signature(thing).parameters.values() if callable(thing) else []
    except ValueError:
        return ""
    names = [
        re.sub(r":.*", "", str(one)) if one.default is one.empty else f"{one.name}={_short(one.default)}"
        for one in parameters
    ]
    by_name = [place for place, one in enumerate(parameters) if one.kind is one.KEYWORD_ONLY]
    if by_name and not any(one.kind is one.VAR_POSITIONAL for one in parameters):
        names.insert(by_name[0], "*")
    return f"({', '.join(names)})" if callable(thing) else ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 30 and "<" not in text else "…"


if __name__ == "__main__":
    (DOCS / "cli.md").write_text(cli_page(), encoding="utf-8")
    (DOCS / "api.md").write_text(api_page(), encoding="utf-8")
