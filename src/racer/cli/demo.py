"""`racer demo`: a whole study on real images, by the commands anyone would type."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option("--out", help="A folder for everything the demo writes.")] = Path("demo"),
) -> None:
    """Try it all on scikit-learn's handwritten digits, with readers invented for the purpose.

    Writes the files, prints each command as it runs it, and ends with a table and a report. Replace the files and run
    the same commands: that is a study of your own.
    """
    import shlex

    from racer.cli.digits import DEMO_FILES, write_demo_files
    from racer.cli.main import app
    from racer.cli.saying import say
    from racer.writing import refuse_foreign

    refuse_foreign(out.resolve(), DEMO_FILES)
    say(f"Writing cases and answers to {out}: digits, a classifier that has seen 30 of them, and readers who each know")
    say("some ways of writing them better than others. The images are real, the readers are not.")
    write_demo_files(out)
    at = shlex.quote(str(out))
    for line in (
        f"fit --cases {at}/cases.npz --annotations {at}/answers.csv --out {at}/router",
        f"inspect {at}/router",
        f"route {at}/router --cases {at}/new.npz --budget 0.2 --out {at}/decisions.csv",
        f"evaluate {at}/router --cases {at}/test.npz --annotations {at}/test.csv --out {at}/report",
    ):
        say(f"\n$ racer {line}")
        app(shlex.split(line), standalone_mode=False)
