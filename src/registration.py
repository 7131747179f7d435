"""Register an environment in Gymnasium for every option of the group `env`."""

from .config import CONF
from .core.package import INSTALLED, ROOT, config_dirs

VERSION = 0


def env_id(name: str) -> str:
    """Return the Gymnasium id of an option of the group `env`: minesweeper_16x16 is boardlab/Minesweeper-16x16-v0."""
    words = (word[:1].upper() + word[1:] for word in name.split("_"))
    return f"{INSTALLED}/{'-'.join(words)}-v{VERSION}"


def register_envs() -> None:
    """Register all environments; the modules that they need are imported by `gymnasium.make`."""
    import gymnasium

    for path in [path for folder in (CONF, *config_dirs()) for path in sorted((folder / "env").glob("*.yaml"))]:
        name = env_id(path.stem)
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point=f"{ROOT}.api:make",
                vector_entry_point=f"{ROOT}.api:make_vec",
                disable_env_checker=True,
                kwargs={"env_id": path.stem},
            )
