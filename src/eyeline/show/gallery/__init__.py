"""Every head of a model, as pages."""
