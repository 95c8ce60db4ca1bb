"""Cases and answers as files: what a spreadsheet and a classifier leave behind."""

from racer.files.case_file import CaseFile as CaseFile
from racer.files.case_file import read_cases as read_cases
from racer.files.case_file import write_cases as write_cases
from racer.files.named_panel import NamedPanel as NamedPanel
from racer.files.named_panel import read_panel as read_panel

__all__ = ["CaseFile", "NamedPanel", "read_cases", "read_panel", "write_cases"]
