"""Clark et al. 2019 as one piece of work."""
