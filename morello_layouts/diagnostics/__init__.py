"""What the layouts of a program cost, and what would be better."""

from morello_layouts.diagnostics.comparison import HloComparison, compare_hlo
from morello_layouts.diagnostics.diagnosis import Diagnosis, diagnose
from morello_layouts.diagnostics.oom import OomReport, read_oom

__all__ = ["Diagnosis", "HloComparison", "OomReport", "compare_hlo", "diagnose", "read_oom"]
