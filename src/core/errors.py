class LabError(Exception):
    """A mistake in what was asked for, told to the user in one sentence instead of a traceback."""
