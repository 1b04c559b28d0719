"""Models beside those that `eyeline.load` opens: `eyeline.models.reinitialised(model)` has the same network without its training."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
