"""Commands that change a model and watch its answer."""
