"""Folders of results, read and reported: `eyeline.runs.write_report("run")`; and where runs are computed: `eyeline.runs.Processes(4)`."""

from eyeline.measure.engines.processes import Processes
from eyeline.measure.engines.ray import Ray
from eyeline.measure.runs.run import Run, open_run
from eyeline.measure.runs.table import Table
from eyeline.measure.space.result import Space, open_space
from eyeline.show.report import write_report

__all__ = ["Processes", "Ray", "Run", "Space", "Table", "open_run", "open_space", "write_report"]
