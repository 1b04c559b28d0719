"""Folders of results, read and reported: `eyeline.runs.write_report("run")`; and where runs are computed: `eyeline.runs.Processes(4)`."""

from eyeline.analyses.engines.engine import Processes
from eyeline.analyses.engines.ray import Ray
from eyeline.hosts.report.write import write_report
from eyeline.results.run import Run, open_run
from eyeline.results.space.read import open_space
from eyeline.results.space.space import Space
from eyeline.results.table import Table

__all__ = ["Processes", "Ray", "Run", "Space", "Table", "open_run", "open_space", "write_report"]
