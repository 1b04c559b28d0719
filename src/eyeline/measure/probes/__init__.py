"""Classifiers that are trained on attention to find the governor of each word."""
