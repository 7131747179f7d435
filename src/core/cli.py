"""The outermost layer of a command: mistakes become a sentence, bugs keep their traceback."""

import os
import sys
from collections.abc import Callable, Iterator

from src.core.errors import LabError


def launch(main: Callable[[], object], rewrite: Callable[[list[str]], list[str]] = lambda arguments: arguments) -> None:
    """Run a Hydra entry point over the rewritten command line."""
    wants_traceback = os.environ.setdefault("HYDRA_FULL_ERROR", "") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra prints the traceback itself and exits
    try:
        sys.argv[1:] = rewrite(sys.argv[1:])
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
    except Exception as error:
        mistake = next((str(cause) for cause in _causes(error) if isinstance(cause, LabError)), None)
        if mistake is None and type(error).__module__.startswith(("hydra.", "omegaconf.")):
            mistake = "\n".join(dict.fromkeys(str(cause).strip() for cause in _causes(error)))
        if mistake is None or wants_traceback:
            raise
        sys.exit(f"error: {mistake}")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
