"""Every `racer` line in a page's shell blocks is run, in order, in a folder where the demo has been run."""

import re
import shlex
from pathlib import Path

import pytest

from racer.cli import main
from racer.cli.digits import write_demo_files

ROOT = Path(__file__).resolve().parents[2]


def commands(path):
    blocks = re.findall(r"^```sh\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.startswith("racer ")]


PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if commands(path)]


def test_there_are_such_pages():
    assert {path.name for path in PAGES} >= {"README.md", "demo.md"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_commands_of_a_page_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_demo_files(Path("demo"))
    for line in commands(path):
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(line)[1:])
        assert ended.value.code == 0, (line, capsys.readouterr().err)
