"""Helpers of the tests: cases, judges, strategies and harnesses."""
