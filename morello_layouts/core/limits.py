"""Every budget and limit that protects from work or text without end, by subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Expressions

#: Depth of floors and mods in an expression: each level is several Python calls.
EXPR_NESTING: Final = 100
SIZE_TERMS: Final = 500  #: Terms of a product of symbolic sizes that is multiplied out.
#: Polynomials tried as lower bounds of one with quotients: a proof needs a few at most.
SIZE_BOUNDS: Final = 32
#: Terms up to which the search for the cheapest form starts a second time, from floors.
SEARCH_TERMS: Final = 64
#: Combinations of digit choices that are tried; beyond, each operand is improved in turn.
SEARCH_COMBINATIONS: Final = 64
SEARCH_CHOICES: Final = 16  #: Ways to write the digits of one operand that are kept.
#: Floors of one operand up to which every pair of moves is tried, not only the best in turn.
SEARCH_FLOORS: Final = 6
SEARCH_MOVES: Final = 16  #: Moves in a row for an operand with more floors.
#: Pairs of floors of one operand, about, that moves look at: of more floors only neighbors.
SEARCH_PAIRS: Final = 256
#: Points of a box on which a form is compared with the affine form through its first corner.
BOX_POINTS: Final = 512
#: Elements of a view without a stride by its formula that are looked at one by one.
STRIDED_POINTS: Final = 4096
#: Values of a variable on which a form is compared with a floor beside a multiple of it.
BOX_VALUES: Final = 64
BOX_WORK: Final = 100_000  #: Terms that one search evaluates for these comparisons.
#: Operands that one search writes or simplifies; then the best form so far is the answer.
SEARCH_WORK: Final = 600

# Indexing maps

#: Characters of an indexing map: a map of ten variables and constraints has one thousand.
INDEXING_TEXT: Final = 10_000
#: Times that the constraints of an indexing map make each other tighter.
INDEXING_ROUNDS: Final = 16
#: Points that are tried for one that satisfies constraints on unused variables.
INDEXING_SEARCH: Final = 10_000
#: Different maps of one operand of a fusion: each reads it in an order of its own.
INDEXING_MAPS: Final = 64
#: Maps that are composed through one fusion, about a millisecond each.
INDEXING_COMPOSITIONS: Final = 4096
#: Fusions and calls inside each other whose maps are composed: real ones nest two or three deep.
CALL_NESTING: Final = 16
INDEXING_POINTS: Final = 1 << 22  #: Points of a domain that are enumerated: tens of megabytes.
#: Maps of chains that are kept, so that the same chain in another place is not read again.
CHAIN_MAPS: Final = 1024
CHAIN_STEPS: Final = 64  #: Moves of a program that are followed, one after the other.

# Shardings

DEVICE_IDS: Final = 1 << 16  #: Devices that a mesh lists one by one: a text of so many is 400 kB.
#: Devices for which a resharding counts elements: a second, and tens of megabytes.
RESHARD_DEVICES: Final = 1 << 22
RESHARD_PARTS: Final = 1 << 14  #: Parts along a dimension that are kept for other devices.
#: Distances of two repeated intervals that are looked at, each for all devices at once.
RESHARD_STEPS: Final = 1 << 10
#: Pairs of parts that are counted one by one if no formula for all of them is known.
RESHARD_PAIRS: Final = 1 << 14
RESHARD_STATES: Final = 2000  #: Shardings that a search for steps over single axes looks at.
RESHARD_LINES: Final = 200  #: Pairs of shardings of a log that get a plan: each takes milliseconds.
RESHARD_ROWS: Final = 1 << 14  #: Messages of a table of all devices.
SHARDING_TEXT: Final = 1 << 19  #: Characters of a sharding, which may list each device.
SHARD_SIZES: Final = 1 << 10  #: Sizes of a dimension that are tried for a border within a block.
NUMBER_JUMPS: Final = 256  #: Jumps in a formula of renumbered devices: each is a floor.

# Proofs

#: ISL operations, about one for each object made, that a question may take: about a second.
ISL_OPERATIONS: Final = 2_000_000
#: ISL operations for its opinion on what digits decide: it says so in 0.1 s, or it gives up.
ISL_OPINION: Final = 150_000
#: The largest budget of a question: ISL counts operations in a C long.
ISL_OPERATIONS_END: Final = 2**31 - 1
#: Bits of a number in a proof: ISL reads it as decimal text, in quadratic time.
ISL_BITS: Final = 10_000
#: Logical and physical axes of a map: ISL's budget does not count the making of relations.
PROOF_AXES: Final = 200
#: Axes merged into one that ISL looks at together with the steps before and after.
PROOF_MERGED: Final = 8
PROOF_SPLITS: Final = 40  #: Splits of axes in a recipe to compare: popular layouts have up to 8.
PROOF_OPEN_SIZES: Final = 8  #: Undecided sizes that are asked about one by one.
#: Small sizes at which a question undecided for all sizes is asked again.
PROOF_SAMPLES: Final = 48
#: Divisors of sizes for which a question undecided for all sizes is asked again.
PROOF_DIVISORS: Final = 6
PROOF_KINDS: Final = 128  #: Kinds of sizes that a comparison distinguishes.
#: Increments of an offset along one dimension that are looked at: real tilings have up to 1024.
PROOF_PERIOD: Final = 1 << 16
PROOF_WIDE: Final = 1 << 10  #: The same for numbers past 64 bits, in Python's integers.
#: Bits of an exclusive or that are compared one by one: offsets have fewer.
PROOF_XOR_BITS: Final = 64
#: Elements of a map without a recipe that are enumerated: tens of megabytes.
PROOF_ELEMENTS: Final = 1 << 22
#: Elements, from the first on, among which two that share an offset are looked for first.
PROOF_FIRST: Final = 1 << 18
#: Elements and slots that a proof looks at one by one where ISL is not installed.
PROOF_COUNTED: Final = 1 << 16
#: Small sizes at which a symbolic map without a recipe is enumerated.
PROOF_FORMULA_SAMPLES: Final = 200
#: Values of each such size: a collision of a wrong formula shows at small sizes.
PROOF_FORMULA_SIZE: Final = 24
#: Elements and slots at small sizes at which formulas that stay undecided are evaluated.
VERIFY_POINTS: Final = 8_000
#: Values of each name to try for a counterexample in products of sizes, by the number of names.
PROOF_VALUES: Final[Mapping[int, int]] = {1: 4096, 2: 160, 3: 24, 4: 12}
#: Digits that a certificate may define, each found by one more check.
CERTIFICATE_DIGITS: Final = 32
#: Work of all searches for a certificate's digits, as the checker counts it: half a second.
CERTIFICATE_WORK: Final = 400_000
#: Characters of a statement: longer formulas have too many digits to find.
CERTIFICATE_TEXT: Final = 6000
#: Axes in memory up to which verify looks for a certificate if ISL leaves a question open.
CERTIFICATE_AXES: Final = 12
#: Coordinates, and slots, at which verify asks the notation's document; half are corners.
OPINION_POINTS: Final = 32
#: Elements up to which the document gives all used slots, so that padding is looked up.
OPINION_ELEMENTS: Final = 256
#: Assignments of symbolic sizes at which the document is asked: the smallest, then random ones.
OPINION_SIZES: Final = 8
OPINION_REACH: Final = 1025  #: Symbolic sizes below this are asked about.
PROOF_VALUES_OF_MANY: Final = 6  #: The same for more names.
#: Transposes that are asked about if a bitcast may be any: all of 5 dimensions of one size.
BITCAST_TRANSPOSES: Final = 120
#: Slots of two buffers that are compared to find the first difference.
BITCAST_SLOTS: Final = 1 << 22

# Translation

#: Tiles of an XLA layout that a search looks for; more are constructed without a search.
TRANSLATION_TILES: Final = 5
#: Nodes of the search for each number of tiles: a layout of many packs has millions.
TRANSLATION_NODES: Final = 20_000
#: Elements at which an offset is compared with the sum of digits that was read off others.
TRANSLATION_PROBES: Final = 256
#: Small sizes at which a layout with symbolic sizes is translated.
TRANSLATION_WITNESSES: Final = 64
#: Largest tiles just above which small sizes are chosen: there padding begins.
TRANSLATION_WITNESS_TILES: Final = 3

# Code and kernels

#: Characters of an expression in code: it repeats shared parts, which may double at each step.
CODE_TEXT: Final = 1_000_000
LOOP_AXES: Final = 32  #: Loops of a nest: each takes a level of indentation.
#: Divisions of sums that more loops may remove; each loop simplifies all formulas again.
LOOP_SUMS: Final = 24
TRITON_BLOCK: Final = 1 << 20  #: Elements of a block in Triton: its compiler refuses more.
#: Elements that a proof about a nest visits one by one, if ISL does not read a coordinate.
LOOP_VISITS: Final = 1 << 16
LOOP_PARTS: Final = 64  #: Copies of a nest's body: each peeled edge doubles them.
#: Iteration domains of a kernel, each a loop nest; beyond, elements are moved one by one.
KERNEL_DOMAINS: Final = 200
#: Coordinates after which a formula repeats itself, if loops are read off its values.
KERNEL_PERIOD: Final = 1 << 12
KERNEL_BLOCK: Final = 1 << 18  #: Bytes of a staging buffer, which lies on the caller's stack.
#: Moves of one piece of a message by strides; with more, each element has its own offset.
MESSAGE_STRETCHES: Final = 4096
#: Bytes of a process that an exchange between devices uses beside both arrays, by default.
EXCHANGE_SCRATCH: Final = 1 << 26
KERNEL_THREADS: Final = 1024  #: Threads of one call.
BLOCK_STEPS: Final = 1 << 16  #: Steps of a grid whose blocks are asked for, one by one.
CONTRACT_FILE: Final = 1 << 20  #: Bytes of a file of contracts.
#: Parts that the ends of blocks cut an array into, each of which counts the blocks over it.
BLOCK_CELLS: Final = 1 << 22
#: Built kernels that are kept in memory, and sizes that a kernel for all sizes keeps.
KERNELS_KEPT: Final = 256
COMPILER_SECONDS: Final = 120  #: Time that the C compiler may take for a kernel.
COMPILER_LOG: Final = 1 << 26  #: Bytes that a TPU compiler may say: real ones say a few thousand.
COMPILER_MESSAGE: Final = 2000  #: Characters of a compiler's message that an error quotes.

# Programs: HLO and reports

#: Characters of a type that one pattern reads; the grammar is ten times as slow.
HLO_FAST_TYPE: Final = 400
HLO_TYPES: Final = 1 << 14  #: Types that are kept for other programs: megabytes.
#: Characters of a constant that are kept: dumps hold constants of megabytes.
HLO_LITERAL: Final = 1024
HLO_DIGITS: Final = 18  #: Digits of a line or an identifier: it fits 64 bits.
#: Lines that one statement may be broken over: each is scanned again with all before it.
HLO_JOINS: Final = 200
#: Different statements of an MLIR text that are asked what they move: milliseconds each.
MLIR_QUESTIONS: Final = 1000
MLIR_TYPES: Final = 4000  #: Different types of an MLIR text that are read: a millisecond each.
OOM_VALUE: Final = 1 << 16  #: Characters of a value of an out-of-memory report that are kept.
OOM_LABEL: Final = 300  #: Characters of a label or type that a table shows.
#: Messages of one log that are explained: each device of a job repeats them.
OOM_MESSAGES: Final = 50
#: Reasons that are shown for one allocation, which may be a tuple of many arrays.
OOM_REASONS: Final = 6
#: Verdicts on moves, bytes and better layouts of types that are kept for other programs, each.
VERDICTS_KEPT: Final = 1 << 14
FLEET_ROWS: Final = 200  #: Rows that are kept of one program of many: its largest costs.
#: Source lines, types or programs of a report on many programs: tens of megabytes.
FLEET_KEYS: Final = 100_000
FLEET_BLOCK: Final = 32  #: Programs that one process reads in a row, at most.
#: Blocks of programs that wait for each process, so that none is idle and few are in flight.
FLEET_WAITING: Final = 4
#: Instructions around a value that are looked at for the one that forces its layout.
FORCE_STEPS: Final = 40
ORIGIN_STEPS: Final = 32  #: Instructions that are followed back to the source line of a value.
#: Bytes' pieces times values of an allocation, up to which its use over the program is exact.
HEAP_STEPS: Final = 1 << 28
#: Columns of the chart of a heap: a program may have 100,000 instructions.
HEAP_COLUMNS: Final = 400
HEAP_MOMENTS: Final = 100  #: Parts of the chart of a heap that a click tells about.
REPORT_CHANGES: Final = 20  #: Moves, types or layouts that one table of a report lists.
REPORT_PLACES: Final = 8  #: Places of one array that a report keeps.
REPORT_PLACES_SHOWN: Final = 3  #: Places of one array or move that a table shows.
#: Dimensions of an array that layouts are suggested for: 128 foldings, each with 56 orders.
SUGGESTED_DIMENSIONS: Final = 8
#: Time that the TPU compiler may take for a program: large ones take minutes.
TPU_COMPILER_SECONDS: Final = 600
TPU_COMPILER_MEMORY: Final = 16 << 30  #: Bytes of memory that the TPU compiler's process may take.
ADVICE_COMPILATIONS: Final = 100  #: Programs that are compiled to find advice: each takes 0.3 s.
ADVICE_JOBS: Final = 4  #: Programs that are compiled at once: each takes a processor, a gigabyte.
ADVICE_KEPT: Final = 10_000  #: Programs whose figures a folder keeps: of 100 searches, 40 MiB.
ADVICE_CODE_SECONDS: Final = 60  #: Time to make code, which tells cycles; memory is known before.
ADVICE_TOGETHER: Final = 8  #: Changes that are added to the best one, one after the other.
#: Time in which a changed function is compared with the given one on the CPU.
ADVICE_CHECK_SECONDS: Final = 60
#: Bytes of arguments and results up to which they are compared.
ADVICE_CHECK_BYTES: Final = 1 << 30

# GPUs

#: Instructions of an access that are looked at, from the first on: 131,072 lanes.
ACCESS_INSTRUCTIONS: Final = 4096
#: Elements of an array whose lanes are looked at: their addresses in bits fit 64 bits.
ACCESS_ELEMENTS: Final = 2**48
#: Images of a bit that a search for a swizzle tries: a few milliseconds each hundred.
SWIZZLE_NODES: Final = 2000
#: Instructions of an access at which placements are compared; the best ones are tried at all.
SWIZZLE_SAMPLE: Final = 32
SWIZZLE_GLANCE: Final = 6  #: Instructions at which most placements are given up.
SWIZZLE_CHECKED: Final = 4  #: Placements of a kind that are tried at all instructions.
SWIZZLE_TRIED: Final = 400  #: Placements of a kind that are compared.

# Layouts

#: Elements and slots of a layout without inverse formula, looked up: tens of megabytes.
SCATTERED: Final = 1 << 22
#: Places of one element that are listed: more threads than a cluster of blocks has.
HOLDERS: Final = 1 << 16
#: Tiles or blocks inside each other: each is one more level of floors in the formula.
NESTED_TILES: Final = 100
VIEW_TEXT: Final = 200  #: Characters of the text of a number in an index: ``m["8*i":"8*i + 8"]``.
#: Characters of the layout of one array, or between its brackets: real ones have a few hundred.
MAP_TEXT: Final = 2000
#: Characters of a layout's text, which may be a tuple of many arrays: about half a second.
LAYOUT_TEXT: Final = 40_000
#: Characters of a wrong text for which a right one is sought: longer ones are pasted, not typed.
REPAIRED_TEXT: Final = 200
REPAIRS: Final = 120  #: Texts that are tried in place of a wrong one.
#: Characters of text that is read a second time, as a formula, if it is not a layout.
FORMULA_TEXT: Final = 1000
#: Bits of a number in an expression's text: powers and products grow without end.
EXPRESSION_BITS: Final = 1024
#: Digits that a mask may take: its runs of ones times the terms of what it masks; an eighth if that
#: has digits.
MASK_RUNS: Final = 32
CUTE_LEAVES: Final = 64  #: Sizes of a CuTe layout: each is one more digit of the formula.
#: Offsets that are compared if a condition of CuTe's algebra does not hold.
CUTE_COMPARED: Final = 1 << 20
#: Threads times values of a fragment: ``verify`` looks each of them up once.
FRAGMENT_PLACES: Final = 1 << 18
NESTED_TUPLES: Final = 100  #: Tuples inside tuples: reading them is recursive.

# Pictures

PICTURE_CELLS: Final = 2**17  #: Cells or slots of a picture: tens of megabytes of SVG.
#: Elements whose offsets in two layouts are compared to count those that move.
PICTURE_COMPARED: Final = 2**20
TABLE_ELEMENTS: Final = 2**24  #: Offsets in the table of an index map: 128 megabytes.
#: Characters of LaTeX of a formula that is typeset; a longer one reads no better so.
TYPESET: Final = 4000
PICTURE_PLAYED: Final = 1200  #: Cells that a browser moves smoothly in the player of a recipe.
PNG_SIDE: Final = 8000  #: Pixels along a side of a PNG: converters fail at larger images.
#: Seconds for a converter of SVG to PNG: a browser starts slowly on a busy machine.
PNG_SECONDS: Final = 60

# The explorer and the exercises

EXPLORER_TEXT: Final = 4000  #: Characters of a field: an answer to longer text is not instant.
EXPLORER_SECONDS: Final = 1.2  #: Seconds of work on one question: a person waits no longer.
#: Times as long as this may pass by the clock: on a busy machine work takes longer.
EXPLORER_WAIT: Final = 10
#: Worker processes in a row that may fail to start before the explorer stops to start them.
EXPLORER_STARTS: Final = 3
EXPLORER_COMPARED: Final = 7  #: Layouts beside the first in one picture: more would take too long.
EXPLORER_ANSWER: Final = 16 << 20  #: Bytes of an answer: a browser hangs at more.
EXPLORER_ARRAYS: Final = 200  #: Arrays of a tuple in the page's list.
#: Bytes of a request's header, which holds the question: six fields, each percent-encoded.
EXPLORER_HEADER: Final = 1 << 16
#: Connections at a time: any system lets a process open more files.
EXPLORER_CONNECTIONS: Final = 200
#: Requests at a time: one is answered, others wait for their turn, and the rest serve files.
EXPLORER_THREADS: Final = 24
#: Seconds after which a silent connection is closed: while all are silent, nobody else gets one.
EXPLORER_IDLE: Final = 2
#: Seconds that the command waits for its own server: the libraries load slowly at first.
EXPLORER_PATIENCE: Final = 60
EXERCISE_TEXT: Final = 2000  #: Characters of an answer to an exercise: real ones have a few dozen.

# The editor

#: Bytes of a message from an editor: a longer file is read where it lies, around the place asked.
EDITOR_MESSAGE: Final = 1 << 24
EDITOR_CANDIDATES: Final = 8  #: Parts of a text around a place that are tried as a layout.
EDITOR_QUESTIONS: Final = 2000  #: Different texts of a file that warnings are asked about.
EDITOR_BATCH: Final = 4  #: Of these, asked at once: a hover waits for no more.
EDITOR_PADDING: Final = 4096  #: Bytes of padding that are not warned of: one tile of a TPU.
EDITOR_PAUSE: Final = 0.4  #: Seconds without a change after which warnings are asked again.

# Explanations

#: Characters of a line of the picture in an explanation, unless a terminal says otherwise.
EXPLANATION_WIDTH: Final = 78
#: Arrays of a tuple that a notebook shows in full; the others by name.
EXPLAINED_IN_HTML: Final = 4

# Records

RECORD_TEXT: Final = 10_000  #: Characters of a record: Q4_K has 350.
RECORD_PIECES: Final = 200  #: Pieces of a record: each is compared with each.
#: Bytes of a name or a JSON text, and entries of a list, in the index of a file of weights.
RECORD_INDEX: Final = 100_000_000
RECORD_BITS: Final = 1 << 22  #: Bits of a field that are compared one by one: half a second.
RECORD_VALUES: Final = 1 << 28  #: Values of a block that are computed: 1 GiB.
RECORD_PICTURE: Final = 1024  #: Bytes of a block that a picture shows: each is up to eight boxes.
