"""The page of the deployment wargame."""

from src.web.deployment.screen import page

__all__ = ["page"]
