"""Attention while a model trains: `Trainer(…, callbacks=[eyeline.training.AttentionCallback(texts)])`."""

from eyeline.measure.training.run import AttentionCallback, course_of

__all__ = ["AttentionCallback", "course_of"]
