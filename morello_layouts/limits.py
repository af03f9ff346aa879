"""Every budget and limit that protects from work or text without end, by subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Expressions

EXPR_NESTING: Final = 100
"""Depth of floors and mods in an expression: each level is several Python calls."""

SIZE_TERMS: Final = 500
"""Terms of a product of symbolic sizes that is multiplied out."""

SIZE_BOUNDS: Final = 32
"""Polynomials tried as lower bounds of one with quotients: a proof needs a few at most."""

SEARCH_TERMS: Final = 64
"""Terms up to which the search for the cheapest form starts a second time, from floors."""

SEARCH_COMBINATIONS: Final = 64
"""Combinations of digit choices that are tried; beyond, each operand is improved in turn."""

SEARCH_CHOICES: Final = 16
"""Ways to write the digits of one operand that are kept."""

SEARCH_FLOORS: Final = 4
"""Floors of one operand up to which every pair of moves is tried, not only the best in turn."""

SEARCH_MOVES: Final = 16
"""Moves in a row for an operand with more floors."""

SEARCH_PAIRS: Final = 256
"""Pairs of floors of one operand, about, that moves look at: of more floors only neighbors."""

# Proofs

ISL_OPERATIONS: Final = 2_000_000
"""ISL operations that one question may take by default: about a second."""

ISL_OPERATIONS_END: Final = 2**31 - 1
"""The largest budget of a question: ISL counts operations in a C long."""

ISL_BITS: Final = 10_000
"""Bits of a number in a proof: ISL reads it as decimal text, in quadratic time."""

PROOF_AXES: Final = 200
"""Logical and physical axes of a map: ISL's budget does not count the making of relations."""

PROOF_SPLITS: Final = 40
"""Splits of axes in a recipe to compare: popular layouts have up to 8."""

PROOF_OPEN_SIZES: Final = 8
"""Undecided sizes that are asked about one by one."""

PROOF_SAMPLES: Final = 48
"""Small sizes at which a question undecided for all sizes is asked again."""

PROOF_DIVISORS: Final = 6
"""Divisors of sizes for which a question undecided for all sizes is asked again."""

PROOF_DIVISOR_SECONDS: Final = 1.0
"""Processor time after which no further divisor is asked about."""

PROOF_KINDS: Final = 128
"""Kinds of sizes that a comparison distinguishes."""

PROOF_KIND_SECONDS: Final = 1.5
"""Processor time for all kinds of sizes: ISL's budget does not bound operations on sets."""

PROOF_ELEMENTS: Final = 1 << 22
"""Elements of a map without a recipe that are enumerated: tens of megabytes."""

PROOF_FORMULA_SAMPLES: Final = 500
"""Small sizes at which a symbolic map without a recipe is enumerated."""

PROOF_FORMULA_SIZE: Final = 6
"""Values of each such size: a collision of a wrong formula shows at small sizes."""

PROOF_VALUES: Final[Mapping[int, int]] = {1: 4096, 2: 160, 3: 24, 4: 12}
"""Values of each name to try for a counterexample in products of sizes, by the number of names."""

PROOF_VALUES_OF_MANY: Final = 6
"""The same for more names."""

BITCAST_TRANSPOSES: Final = 120
"""Transposes that are asked about if a bitcast may be any: all of 5 dimensions of one size."""

BITCAST_SLOTS: Final = 1 << 22
"""Slots of two buffers that are compared to find the first difference."""

# Translation

TRANSLATION_TILES: Final = 5
"""Tiles of an XLA layout that a search looks for; more are constructed without a search."""

TRANSLATION_NODES: Final = 20_000
"""Nodes of the search for each number of tiles: a layout of many packs has millions."""

TRANSLATION_WITNESSES: Final = 64
"""Small sizes at which a layout with symbolic sizes is translated."""

TRANSLATION_WITNESS_TILES: Final = 3
"""Largest tiles just above which small sizes are chosen: there padding begins."""

# Programs: HLO and reports

HLO_FAST_TYPE: Final = 400
"""Characters of a type that one pattern reads; the grammar is ten times as slow."""

HLO_FAST_TUPLES: Final = 20
"""Nested tuples that are read recursively; the grammar takes deeper ones."""

HLO_LITERAL: Final = 1024
"""Characters of a constant that are kept: dumps hold constants of megabytes."""

HLO_DIGITS: Final = 18
"""Digits of a line or an identifier: it fits 64 bits."""

HLO_JOINS: Final = 200
"""Lines that one statement may be broken over: each is scanned again with all before it."""

OOM_VALUE: Final = 1 << 16
"""Characters of a value of an out-of-memory report that are kept."""

OOM_LABEL: Final = 300
"""Characters of a label or type that a table shows."""

OOM_REASONS: Final = 6
"""Reasons that are shown for one allocation, which may be a tuple of many arrays."""

REPORT_CHANGES: Final = 20
"""Moves, types or layouts that one table of a report lists."""

REPORT_PLACES: Final = 8
"""Places of one array that a report keeps."""

REPORT_PLACES_SHOWN: Final = 3
"""Places of one array or move that a table shows."""

SUGGESTED_DIMENSIONS: Final = 8
"""Dimensions of an array that layouts are suggested for: 128 foldings, each with 56 orders."""
