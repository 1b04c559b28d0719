"""What is measured of each head while a model trains."""

#: The table of a run with one row for each step that was measured and each head.
TABLE = "training"

#: What is measured of each head, as columns of that table.
MEASURES = ("entropy", "first", "previous", "induction", "max_logit")
