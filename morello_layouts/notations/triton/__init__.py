"""Triton's encodings of registers and shared memory, and its linear layouts."""

from morello_layouts.notations.triton.layout import TritonLayout

__all__ = ["TritonLayout"]
