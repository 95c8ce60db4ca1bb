"""`racer`: the commands, and what becomes of errors.

Exit codes: 0; 2 for the user's mistakes, said on standard error without a traceback; 1 for ours; 130 for Ctrl-C.
Commands import the library when they run, so that `racer --help` needs no torch.
"""

import sys
import traceback

import typer

from racer.cli.demo import demo
from racer.cli.evaluate import evaluate
from racer.cli.fit import fit
from racer.cli.inspect import inspect
from racer.cli.route import route
from racer.errors import RacerError
from racer.version import VERSION

__all__ = ["app", "main"]

USER, OURS, INTERRUPTED = 2, 1, 130

app = typer.Typer(
    name="racer",
    help="Who should answer this case: the model, or which expert?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: racer demo",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"racer {VERSION}")
        raise typer.Exit()


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", help="Say the version.", callback=_version, is_eager=True),
) -> None:
    pass


for command in (demo, fit, route, evaluate, inspect):
    app.command()(command)


def main(arguments: list[str] | None = None) -> None:
    """Run one command line and end the process with its exit code."""
    try:
        code = app(args=arguments, standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)
    except RacerError as error:
        print(f"racer: {error}", file=sys.stderr)
        sys.exit(USER)
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        print("racer: interrupted; no output was left half-written.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # typer's own, about the options
            error.show() if hasattr(error, "show") else print(error, file=sys.stderr)
            sys.exit(USER)
        traceback.print_exc()
        print(
            "racer: this is a mistake of racer's, not of yours. Please report it with the lines above.", file=sys.stderr
        )
        sys.exit(OURS)
