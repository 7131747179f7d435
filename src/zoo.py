"""List trained agents, pull one by name, or publish a run: python -m src.zoo [list | pull NAME | push RUN]."""

from omegaconf import DictConfig

from .config.cli import hydra_command, zoo_arguments
from .core.errors import UserError


@hydra_command("zoo", zoo_arguments)
def run(cfg: DictConfig) -> None:
    from .config import schema
    from .config.compose import validate
    from .config.load import load_config
    from .core.package import command
    from .core.runs import zoo
    from .core.runs.console import printable

    cfg = validate(cfg, schema.Zoo)
    if cfg.action == "list":
        show()
    elif cfg.model is None:
        example = "push <run dir> name=mine address=zoo" if cfg.action == "push" else "pull minesweeper_16x16"
        raise UserError(f"{cfg.action} needs a second word, such as: {command('zoo')} {example}")
    elif cfg.action == "pull":
        path = zoo.pull(cfg.model, cfg.address, load_config)
        print(printable(f"{path}: use it as agent=trained agent.run={cfg.model}"))
    else:
        source = zoo.find_run(cfg.model)
        config = load_config(source)
        name = cfg.name or "_".join(str(config.composition[key]) for key in ("env", "algo"))
        path = zoo.push(source, name, cfg.address, load_config)
        print(printable(f"{path}: pull it by {command('zoo')} pull {name} address={path.parent}"))


def show() -> None:
    """Print the shipped models and those in the cache, and where each is."""
    from .core.runs import zoo
    from .core.runs.config_file import CONFIG
    from .core.runs.report import PlainConsole, new_table

    table = new_table("Trained agents")
    for column in ("name", "env", "algo", "MB", "where"):
        table.add_column(column, justify="right" if column == "MB" else "left")
    cached = {path.parent.name for path in zoo.cache_folder().glob(f"*/{CONFIG}")}
    for name in sorted({*zoo.models(), *cached}):
        path = zoo.local_run(name)
        model = zoo.models().get(name) or zoo.describe(zoo.cache_folder() / name)
        where = "not downloaded" if path is None else "checkout" if path.is_relative_to(zoo.CHECKOUT) else "cache"
        table.add_row(name, model["env"], model["algo"], f"{model['bytes'] / 1e6:.2f}", where)
    PlainConsole().print(table)


if __name__ == "__main__":
    run()
