"""The parts of a trace, the cache that keeps traces (`eyeline.traces.TraceCache(folder)`), and translations with their cross attention."""

from eyeline.look.sample import sample_translation
from eyeline.look.stack import Stack
from eyeline.look.trace import Trace, open_trace
from eyeline.look.trace_cache import TraceCache
from eyeline.models.attention import AttentionCall, LayerAttention
from eyeline.text.tokenized import TokenizedText

__all__ = ["AttentionCall", "LayerAttention", "Stack", "TokenizedText", "Trace", "TraceCache", "open_trace", "sample_translation"]
