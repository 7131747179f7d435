"""The start page."""

from src.web.pages import PageEntry

PAGE = PageEntry(package=__name__, title="Start", path="/", icon="home", order=0)
