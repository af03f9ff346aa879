"""The TPU compiler without a TPU: programs compiled ahead of time, and advice that was tried."""

from morello_layouts.programs.tpu_compiler.advice import Advice, Advised
from morello_layouts.programs.tpu_compiler.advise import advise
from morello_layouts.programs.tpu_compiler.compilation import Compilation, Figures, diagnose
from morello_layouts.programs.tpu_compiler.process import Compiler

__all__ = ["Advice", "Advised", "Compilation", "Compiler", "Figures", "advise", "diagnose"]
