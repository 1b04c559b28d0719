"""See what a Transformer looks at.

    import eyeline as el
    model = el.load()
    trace = model.trace("The cat sat on the mat.")

The public names stand in `__init__.pyi`. Each is imported when it is first used, so that `import eyeline` is quick and needs no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
