"""Views of a trace: head, model, neuron, sentence and the graph of its attention; the page, the notebook cell and still pictures."""
