"""Fragments: which lane and register of a matrix instruction holds an element of an operand."""

from morello_layouts.notations.fragments.layout import FragmentLayout

__all__ = ["FragmentLayout"]
