class UserError(Exception):
    """Invalid input or a missing resource, reported to the user in one sentence instead of a traceback."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise UserError(message)
