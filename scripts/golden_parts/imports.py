"""What the golden and `files_entered.py` import from eyeline beyond its public names: where modules move, this file alone changes."""

from eyeline.errors import EyelineError
from eyeline.figures import available as available_figures
from eyeline.look.views.view import View
from eyeline.measure.compare.result import Comparison
from eyeline.measure.gallery import measure_heads
from eyeline.measure.heads.profile import notable_heads, open_measured, profile_of
from eyeline.measure.runs.facts import RunFacts
from eyeline.measure.runs.trained import TrainedProbes
from eyeline.models.reinitialise import reinitialised
from eyeline.show.app.kit.address import pack, unpack
from eyeline.show.app.kit.settings import Settings, use
from eyeline.show.app.shell import PAGES
from eyeline.show.app.shell import run as run_app
from eyeline.show.cli.main import app as commands
from eyeline.show.cli.main import main as command_line
from eyeline.show.gallery.pages import write_gallery
from eyeline.words import LANGUAGES
from eyeline.words import Words as Say

__all__ = [
    "LANGUAGES", "PAGES", "Comparison", "EyelineError", "RunFacts", "Say", "Settings", "TrainedProbes", "View",
    "available_figures", "command_line", "commands", "measure_heads", "notable_heads", "open_measured", "pack",
    "profile_of", "reinitialised", "run_app", "unpack", "use", "write_gallery",
]  # fmt: skip
