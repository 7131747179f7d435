"""The outermost layer of a command: mistakes become a sentence, bugs keep their traceback."""

import os
import sys
from collections.abc import Callable, Iterator

from src.core import ranks
from src.core.errors import LabError, require

SWEEP_DIRECTORY = "hydra.sweep.dir="  # as the command line has it
MULTIRUN = {"-m", "--multirun"}
SHOWS = {"--cfg", "-c", "--info", "-i"}  # flags by which Hydra tells what would run
OURS = {  # Hydra's words for what conf/ sets up with values of its own
    "hydra/sweeper=optuna": "hparams_search=optuna",
    "hydra/launcher=joblib": "launcher=joblib",
    "hydra/launcher=ray": "launcher=ray",
    "hydra/launcher=submitit_local": "launcher=submitit_local",
    "hydra/launcher=submitit_slurm": "launcher=slurm",
}


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
        sentence = mistake(error)
        if sentence is None or wants_traceback:
            raise
        sys.exit(f"error: {sentence}" if ranks.rank() == 0 else f"error in rank {ranks.rank()}: {sentence}")


def mistake(error: BaseException) -> str | None:
    """What the user got wrong, or None where the error is a bug of ours."""
    found = list(causes(error))
    told = next((str(cause) for cause in found if isinstance(cause, LabError)), None)
    if told is None and type(found[-1]).__module__.startswith(("hydra.", "omegaconf.", "antlr4.")):
        told = "\n".join(dict.fromkeys(str(cause).strip() for cause in found))
        if "Could not find 'hydra/" in told:
            told += "\nlaunchers and sweepers come with extras: pip install -c constraints.txt -e '.[sweep,ray,slurm]'"
    if told is None and "No trials are completed yet" in str(found[0]):  # as Optuna has it
        told = "every job of the search failed: the table tells why"
    return told


def quoted(text: str) -> str:
    """A value as Hydra's command line takes it, whatever is in it."""
    return "'" + text.replace("'", "\\'") + "'"


def refuse_multirun(arguments: list[str]) -> list[str]:
    require(
        not MULTIRUN & set(arguments), "this command does one thing at a time: leave out -m and call it once for each"
    )
    return arguments


def refuse_showing_many(arguments: list[str]) -> None:
    shows = [flag for flag in (argument.split("=")[0] for argument in arguments) if flag in SHOWS]
    one = not shows or not MULTIRUN & set(arguments)
    require(one, f"{' '.join(shows)} tells of one run: leave out -m, and give one value where several are tried")


def in_our_words(arguments: list[str]) -> list[str]:
    """Hydra's own sweeper would minimise and its launchers know nothing of our jobs, so both spellings mean ours."""
    groups = {argument.split("=")[0] for argument in arguments}
    meant = ((argument, OURS.get(argument, argument)) for argument in arguments)
    return [given if ours.split("=")[0] in groups else ours for given, ours in meant]


def causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
