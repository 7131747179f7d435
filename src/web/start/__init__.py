"""The start page."""

from ..pages import PageEntry

PAGE = PageEntry(package=__name__, title="Start", path="/", icon="home", order=0)
