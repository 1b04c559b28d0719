"""Which head finds the antecedent of a mention."""
