# The public names of this package; as at the top level, each is imported when it is first used.
from .reinitialise import reinitialised as reinitialised
