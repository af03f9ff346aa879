"""What all reports have in common: they are a summary and tables, shown in several ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from morello_layouts.doctor.page import fragment, page
from morello_layouts.doctor.table import Summary, Table
from morello_layouts.doctor.text import text_of

__all__ = ["Report"]


class Report(ABC):
    """A report. ``print`` it, or let a notebook show it."""

    __slots__ = ()

    @abstractmethod
    def summary(self) -> Summary:
        """What stands above the tables."""

    @abstractmethod
    def tables(self) -> Iterable[Table]:
        """The tables, in the order that they are shown."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The report as JSON takes it; null for what is not known."""

    def html(self) -> str:
        """A page that needs nothing else: tables that sort, a picture of each wasteful layout."""
        return page(self.summary(), self.tables())

    def _repr_html_(self) -> str:
        return fragment(self.summary(), self.tables())

    def text(self, width: int | None = None) -> str:
        """The report as text; what is said below rows is wrapped to a width, if one is given."""
        return text_of(self.summary(), self.tables(), width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary().title}>"
