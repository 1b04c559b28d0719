"""The parts of a trace, the cache that keeps traces (`eyeline.traces.TraceCache(folder)`), and translations with their cross attention."""

from eyeline.capture.layer import LayerAttention
from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace
from eyeline.capture.trace_read import open_trace
from eyeline.models.trace_cache import TraceCache
from eyeline.sample.translation.examples import sample_translation
from eyeline.text.tokenized import TokenizedText

__all__ = ["LayerAttention", "Stack", "TokenizedText", "Trace", "TraceCache", "open_trace", "sample_translation"]
