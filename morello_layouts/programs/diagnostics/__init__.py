"""Reports on programs: the cost of their layouts, comparisons, out-of-memory errors."""

from typing import TYPE_CHECKING

from morello_layouts.core.lazy import loader

if TYPE_CHECKING:
    from morello_layouts.programs.diagnostics.comparison import (
        HloComparison as HloComparison,
        compare_hlo as compare_hlo,
    )
    from morello_layouts.programs.diagnostics.diagnosis import (
        Diagnosis as Diagnosis,
        diagnose as diagnose,
    )
    from morello_layouts.programs.diagnostics.fleet import (
        FleetReport as FleetReport,
        diagnose_many as diagnose_many,
        hlo as hlo,
    )
    from morello_layouts.programs.diagnostics.memory_report import (
        MemoryReport as MemoryReport,
        memory as memory,
    )
    from morello_layouts.programs.diagnostics.oom_report import OomReport as OomReport, oom as oom

__getattr__ = loader(
    __name__,
    {
        "comparison": "HloComparison compare_hlo",
        "diagnosis": "Diagnosis diagnose",
        "fleet": "FleetReport diagnose_many hlo",
        "memory_report": "MemoryReport memory",
        "oom_report": "OomReport oom",
    },
)
