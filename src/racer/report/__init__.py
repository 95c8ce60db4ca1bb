"""An evaluation to look at: one page that needs no network, and its figures."""

from racer.report.write import REPORT_FILES as REPORT_FILES
from racer.report.write import write_report as write_report

__all__ = ["REPORT_FILES", "write_report"]
