"""The rules: the static data of a scenario, the state of N games, legal actions and their effects."""

from .actions import is_over, play, start, write_mask

__all__ = ["is_over", "play", "start", "write_mask"]
