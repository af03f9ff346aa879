"""Records: arrays that share one buffer bit by bit, packed formats by name, files of weights."""

from morello_layouts.programs.records.files import WeightsFile, read_weights
from morello_layouts.programs.records.records import Record, formats, record

__all__ = ["Record", "WeightsFile", "formats", "read_weights", "record"]
