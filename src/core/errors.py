class LabError(Exception):
    """A mistake in what was asked for, told to the user in one sentence instead of a traceback."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise LabError(message)
