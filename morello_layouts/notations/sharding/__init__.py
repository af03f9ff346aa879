"""Shardings: which device holds which part of an array, as layouts with an axis ``device``."""

from morello_layouts.notations.sharding.sharding import Digit, Level, Mesh, Sharding

__all__ = ["Digit", "Level", "Mesh", "Sharding"]
