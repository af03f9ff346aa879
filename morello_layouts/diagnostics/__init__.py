"""What the layouts of a program cost, and what would be better."""

from morello_layouts.diagnostics.comparison import Comparison, compare_hlo
from morello_layouts.diagnostics.diagnosis import Diagnosis, diagnose
from morello_layouts.diagnostics.oom import OomReport, read_oom

__all__ = ["Comparison", "Diagnosis", "OomReport", "compare_hlo", "diagnose", "read_oom"]
