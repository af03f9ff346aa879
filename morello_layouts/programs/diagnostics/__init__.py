"""Reports on programs: the cost of their layouts, comparisons, out-of-memory errors."""

from morello_layouts.programs.diagnostics.comparison import HloComparison, compare_hlo
from morello_layouts.programs.diagnostics.diagnosis import Diagnosis, diagnose
from morello_layouts.programs.diagnostics.fleet import FleetReport, diagnose_many, hlo
from morello_layouts.programs.diagnostics.memory_report import MemoryReport, memory
from morello_layouts.programs.diagnostics.oom_report import OomReport, oom

__all__ = [
    "Diagnosis",
    "FleetReport",
    "HloComparison",
    "MemoryReport",
    "OomReport",
    "compare_hlo",
    "diagnose",
    "diagnose_many",
    "hlo",
    "memory",
    "oom",
]
