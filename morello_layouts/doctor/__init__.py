"""What the layouts of a program cost, and what would be better."""

from morello_layouts.doctor.diagnosis import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
