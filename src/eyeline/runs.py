"""Folders of results, read and reported: `eyeline.runs.write_report("run")`."""

from eyeline.hosts.report.write import write_report
from eyeline.results.run import Run, open_run
from eyeline.results.space.read import open_space
from eyeline.results.space.space import Space
from eyeline.results.table import Table

__all__ = ["Run", "Space", "Table", "open_run", "open_space", "write_report"]
