"""Every budget and limit that protects from work or text without end, by subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Expressions

EXPR_NESTING: Final = 100  #: Depth of floors and mods: each level is several Python calls.
SIZE_TERMS: Final = 500  #: Terms of a product of symbolic sizes that is multiplied out.
SIZE_BOUNDS: Final = 32  #: Polynomials tried as lower bounds of one with quotients: few are needed.
#: Terms up to which the search for the cheapest form starts a second time, from floors.
SEARCH_TERMS: Final = 64
SEARCH_COMBINATIONS: Final = 64  #: Choices of digits tried together; then each operand in turn.
SEARCH_CHOICES: Final = 16  #: Ways to write the digits of one operand that are kept.
SEARCH_FLOORS: Final = 6  #: Floors of an operand up to which each pair of moves is tried.
SEARCH_MOVES: Final = 16  #: Moves in a row for an operand with more floors.
SEARCH_PAIRS: Final = 256  #: Pairs of floors of an operand, about; of more floors only neighbors.
BOX_POINTS: Final = 512  #: Points of a box at which a form is compared with an affine one.
STRIDED_POINTS: Final = 4096  #: Elements looked at one by one if no formula gives a view's stride.
BOX_VALUES: Final = 64  #: Values of a variable at which floors beside a multiple are compared.
BOX_WORK: Final = 100_000  #: Terms that one search evaluates for these comparisons.
SEARCH_WORK: Final = 600  #: Operands that a search writes; then the best form so far is the answer.

# Indexing maps

INDEXING_TEXT: Final = 10_000  #: Characters of an indexing map: ten variables take a thousand.
INDEXING_ROUNDS: Final = 16  #: Times that the constraints of a map make each other tighter.
INDEXING_SEARCH: Final = 10_000  #: Points tried to satisfy constraints on unused variables.
INDEXING_MAPS: Final = 64  #: Maps of one operand of a fusion: each reads it in an order of its own.
INDEXING_COMPOSITIONS: Final = 4096  #: Maps composed through one fusion, about a millisecond each.
CALL_NESTING: Final = 16  #: Fusions and calls inside each other: real ones nest two or three deep.
INDEXING_POINTS: Final = 1 << 22  #: Points of a domain that are enumerated: tens of megabytes.
CHAIN_MAPS: Final = 1024  #: Maps of chains that are kept, for the same chain in another place.
CHAIN_STEPS: Final = 64  #: Moves of a program that are followed, one after the other.

# Shardings

DEVICE_IDS: Final = 1 << 16  #: Devices that a mesh lists one by one: a text of so many is 400 kB.
RESHARD_DEVICES: Final = 1 << 22  #: Devices whose elements are counted: a second, tens of MB.
RESHARD_PARTS: Final = 1 << 14  #: Parts along a dimension that are kept for other devices.
RESHARD_STEPS: Final = 1 << 10  #: Distances of two repeated intervals, each for all devices.
RESHARD_PAIRS: Final = 1 << 14  #: Pairs of parts counted one by one where no formula is known.
RESHARD_STATES: Final = 2000  #: Shardings that a search for steps over single axes looks at.
RESHARD_LINES: Final = 200  #: Pairs of shardings of a log that get a plan: each takes milliseconds.
RESHARD_ROWS: Final = 1 << 14  #: Messages of a table of all devices.
SHARDING_TEXT: Final = 1 << 19  #: Characters of a sharding, which may list each device.
SHARD_SIZES: Final = 1 << 10  #: Sizes of a dimension that are tried for a border within a block.
NUMBER_JUMPS: Final = 256  #: Jumps in a formula of renumbered devices: each is a floor.

# Proofs

ISL_OPERATIONS: Final = 2_000_000  #: ISL's operations, about one an object, for a question: 1 s.
ISL_OPINION: Final = 150_000  #: ISL's operations on what digits decide: 0.1 s, or it gives up.
ISL_QUOTIENTS: Final = 100  #: The part of it for quotients of sizes by name: each takes longer.
ISL_OPERATIONS_END: Final = 2**31 - 1  #: The largest budget: ISL counts operations in a C long.
ISL_BITS: Final = 10_000  #: Bits of a number in a proof: ISL reads decimal text, in quadratic time.
PROOF_AXES: Final = 200  #: Axes of a map: ISL's budget does not count the making of relations.
PROOF_MERGED: Final = 8  #: Axes merged into one that ISL sees with the steps before and after.
PROOF_SPLITS: Final = 40  #: Splits of axes in a recipe to compare: popular layouts have up to 8.
PROOF_OPEN_SIZES: Final = 8  #: Undecided sizes that are asked about one by one.
PROOF_SAMPLES: Final = 48  #: Small sizes at which what is undecided for all sizes is asked again.
PROOF_DIVISORS: Final = 6  #: Divisors of sizes for which it is asked again.
PROOF_KINDS: Final = 128  #: Kinds of sizes that a comparison distinguishes.
PROOF_PERIOD: Final = 1 << 16  #: Increments along a dimension: real tilings have up to 1024.
PROOF_WIDE: Final = 1 << 10  #: The same for numbers past 64 bits, in Python's integers.
PROOF_XOR_BITS: Final = 64  #: Bits of an exclusive or compared one by one: offsets have fewer.
PROOF_ELEMENTS: Final = 1 << 22  #: Elements enumerated of a map without a recipe: tens of MB.
PROOF_FIRST: Final = 1 << 18  #: First elements, among which two of one offset are sought first.
PROOF_COUNTED: Final = 1 << 16  #: Elements and slots looked at singly where ISL is not installed.
PROOF_FORMULA_SAMPLES: Final = 200  #: Small sizes at which a map without a recipe is enumerated.
PROOF_FORMULA_SIZE: Final = 24  #: Values of each such size: wrong formulas collide at small ones.
VERIFY_POINTS: Final = 8_000  #: Elements at small sizes at which undecided formulas are evaluated.
#: Values of each name to try for a counterexample in products of sizes, by the number of names.
PROOF_VALUES: Final[Mapping[int, int]] = {1: 4096, 2: 160, 3: 24, 4: 12}
CERTIFICATE_DIGITS: Final = 32  #: Digits that a certificate defines, each found by one more check.
CERTIFICATE_WORK: Final = 400_000  #: Work of searches for digits, as the checker counts it: 0.5 s.
CERTIFICATE_TEXT: Final = 6000  #: Characters of a statement: more have too many digits to find.
CERTIFICATE_AXES: Final = 12  #: Axes in memory up to which verify seeks a certificate.
OPINION_POINTS: Final = 32  #: Coordinates and slots to ask the document about; half are corners.
OPINION_ELEMENTS: Final = 256  #: Elements up to which the document is asked for all slots.
OPINION_SIZES: Final = 8  #: Choices of sizes at which it is asked: the smallest, then random ones.
OPINION_REACH: Final = 1025  #: Symbolic sizes below this are asked about.
PROOF_VALUES_OF_MANY: Final = 6  #: The same for more names.
BITCAST_TRANSPOSES: Final = 120  #: Transposes that a bitcast may be: all of 5 equal dimensions.
BITCAST_SLOTS: Final = 1 << 22  #: Slots of two buffers compared to find the first difference.

# Translation

TRANSLATION_TILES: Final = 5  #: Tiles of an XLA layout to search for; more need no search.
TRANSLATION_NODES: Final = 20_000  #: Nodes of a search for some tiles: many packs have millions.
#: Elements at which an offset is compared with the sum of digits that was read off others.
TRANSLATION_PROBES: Final = 256
TRANSLATION_WITNESSES: Final = 64  #: Small sizes at which a layout of named sizes is translated.
TRANSLATION_WITNESS_TILES: Final = 3  #: Largest tiles above which they are: padding begins there.

# Code and kernels

CODE_TEXT: Final = 1_000_000  #: Characters of an expression: shared parts may double at each step.
LOOP_AXES: Final = 32  #: Loops of a nest: each takes a level of indentation.
LOOP_SUMS: Final = 24  #: Divisions of sums that loops may remove, each simplifying all formulas.
TRITON_BLOCK: Final = 1 << 20  #: Elements of a block in Triton: its compiler refuses more.
LOOP_VISITS: Final = 1 << 16  #: Elements that a proof visits where ISL does not read a coordinate.
LOOP_PARTS: Final = 64  #: Copies of a nest's body: each peeled edge doubles them.
KERNEL_DOMAINS: Final = 200  #: Nests of a kernel; beyond, elements are moved one by one.
KERNEL_PERIOD: Final = 1 << 12  #: Period of a formula up to which loops are read off its values.
KERNEL_BLOCK: Final = 1 << 18  #: Bytes of a staging buffer, which lies on the caller's stack.
MESSAGE_STRETCHES: Final = 4096  #: Moves of a piece; with more, each element has an offset.
EXCHANGE_SCRATCH: Final = 1 << 26  #: Bytes that an exchange uses beside both arrays, by default.
KERNEL_THREADS: Final = 1024  #: Threads of one call.
BLOCK_STEPS: Final = 1 << 16  #: Steps of a grid whose blocks are asked for, one by one.
CONTRACT_FILE: Final = 1 << 20  #: Bytes of a file of contracts.
BLOCK_CELLS: Final = 1 << 22  #: Parts that ends of blocks cut an array into: tens of MB.
KERNELS_KEPT: Final = 256  #: Built kernels that are kept, and sizes that one for all sizes keeps.
COMPILER_SECONDS: Final = 120  #: Time that the C compiler may take for a kernel.
COMPILER_LOG: Final = 1 << 26  #: Bytes that a TPU compiler may say: real ones say a few thousand.
COMPILER_MESSAGE: Final = 2000  #: Characters of a compiler's message that an error quotes.

# Programs: HLO and reports

#: Characters of a type that one pattern reads; the grammar is ten times as slow.
HLO_FAST_TYPE: Final = 400
HLO_TYPES: Final = 1 << 14  #: Types that are kept for other programs: megabytes.
HLO_LITERAL: Final = 1024  #: Characters of a constant that are kept: dumps hold megabytes.
HLO_DIGITS: Final = 18  #: Digits of a line or an identifier: it fits 64 bits.
HLO_JOINS: Final = 200  #: Lines of one broken statement: each is scanned again with all before it.
MLIR_QUESTIONS: Final = 1000  #: Statements of an MLIR text asked what they move: milliseconds each.
MLIR_TYPES: Final = 4000  #: Different types of an MLIR text that are read: a millisecond each.
OOM_VALUE: Final = 1 << 16  #: Characters of a value of an out-of-memory report that are kept.
OOM_LABEL: Final = 300  #: Characters of a label or type that a table shows.
OOM_MESSAGES: Final = 50  #: Messages of a log that are explained: each device repeats them.
OOM_REASONS: Final = 6  #: Reasons shown for one allocation, which may be a tuple of many arrays.
VERDICTS_KEPT: Final = 1 << 14  #: Verdicts on moves, bytes and types kept for other programs, each.
FLEET_ROWS: Final = 200  #: Rows that are kept of one program of many: its largest costs.
FLEET_KEYS: Final = 100_000  #: Lines, types or programs of one report: tens of megabytes.
FLEET_BLOCK: Final = 32  #: Programs that one process reads in a row, at most.
FLEET_BYTES: Final = 4_000_000  #: Bytes of dumps, half a second, for which a process is started.
FLEET_WAITING: Final = 4  #: Blocks of programs that wait for each process, so that none is idle.
FORCE_STEPS: Final = 40  #: Instructions around a value among which one forces its layout.
ORIGIN_STEPS: Final = 32  #: Instructions that are followed back to the source line of a value.
HEAP_STEPS: Final = 1 << 28  #: Pieces times values of an allocation up to which its use is exact.
HEAP_COLUMNS: Final = 400  #: Columns of the chart of a heap: programs have 100,000 instructions.
HEAP_MOMENTS: Final = 100  #: Parts of the chart of a heap that a click tells about.
REPORT_CHANGES: Final = 20  #: Moves, types or layouts that one table of a report lists.
REPORT_PLACES: Final = 8  #: Places of one array that a report keeps.
REPORT_PLACES_SHOWN: Final = 3  #: Places of one array or move that a table shows.
SUGGESTED_DIMENSIONS: Final = 8  #: Dimensions to suggest layouts for: 128 foldings of 56 orders.
TPU_COMPILER_SECONDS: Final = 600  #: Time of the TPU compiler: large programs take minutes.
TPU_COMPILER_MEMORY: Final = 16 << 30  #: Bytes of memory that the TPU compiler's process may take.
ADVICE_COMPILATIONS: Final = 100  #: Programs that are compiled to find advice: each takes 0.3 s.
ADVICE_JOBS: Final = 4  #: Programs that are compiled at once: each takes a processor, a gigabyte.
ADVICE_KEPT: Final = 10_000  #: Programs whose figures a folder keeps: of 100 searches, 40 MiB.
ADVICE_CODE_SECONDS: Final = 60  #: Time to make code, which tells cycles; memory is known before.
ADVICE_TOGETHER: Final = 8  #: Changes that are added to the best one, one after the other.
ADVICE_CHECK_SECONDS: Final = 60  #: Time to compare a changed function with the given one.
ADVICE_CHECK_BYTES: Final = 1 << 30  #: Bytes of arguments and results that are compared.

# GPUs

ACCESS_INSTRUCTIONS: Final = 4096  #: Instructions of an access that are looked at: 131,072 lanes.
ACCESS_ELEMENTS: Final = 2**48  #: Elements of an array of lanes: addresses in bits fit 64 bits.
SWIZZLE_NODES: Final = 2000  #: Images of a bit that a search tries: milliseconds each hundred.
SWIZZLE_SAMPLE: Final = 32  #: Instructions at which placements are compared; the best see all.
SWIZZLE_GLANCE: Final = 6  #: Instructions at which most placements are given up.
SWIZZLE_CHECKED: Final = 4  #: Placements of a kind that are tried at all instructions.
SWIZZLE_TRIED: Final = 400  #: Placements of a kind that are compared.

# Layouts

SCATTERED: Final = 1 << 22  #: Elements and slots looked up where no formula inverts: tens of MB.
HOLDERS: Final = 1 << 16  #: Places of one element that are listed: more threads than a cluster has.
NESTED_TILES: Final = 100  #: Tiles or blocks inside each other: each is a level of floors more.
VIEW_TEXT: Final = 200  #: Characters of the text of a number in an index: ``m["8*i":"8*i + 8"]``.
MAP_TEXT: Final = 2000  #: Characters of one array's layout: real ones have a few hundred.
LAYOUT_TEXT: Final = 40_000  #: Characters of a layout, perhaps a tuple of many arrays: 0.5 s.
REPAIRED_TEXT: Final = 200  #: Characters of a wrong text to mend: longer ones are not typed.
REPAIRS: Final = 120  #: Texts that are tried in place of a wrong one.
FORMULA_TEXT: Final = 1000  #: Characters of a text read again as a formula if it is not a layout.
EXPRESSION_BITS: Final = 1024  #: Bits of a number in an expression: powers grow without end.
#: Digits that a mask may take: its runs of ones times the terms of what it masks; an eighth if that
#: has digits.
MASK_RUNS: Final = 32
CUTE_LEAVES: Final = 64  #: Sizes of a CuTe layout: each is one more digit of the formula.
CUTE_COMPARED: Final = 1 << 20  #: Offsets compared if a condition of CuTe's algebra does not hold.
FRAGMENT_PLACES: Final = 1 << 18  #: Threads times values of a fragment: ``verify`` looks at each.
NESTED_TUPLES: Final = 100  #: Tuples inside tuples: reading them is recursive.

# Pictures

PICTURE_CELLS: Final = 2**17  #: Cells or slots of a picture: tens of megabytes of SVG.
PICTURE_COMPARED: Final = 2**20  #: Elements compared in two layouts to count those that move.
TABLE_ELEMENTS: Final = 2**24  #: Offsets in the table of an index map: 128 megabytes.
TYPESET: Final = 4000  #: Characters of LaTeX that are typeset; a longer formula reads no better so.
PICTURE_PLAYED: Final = 1200  #: Cells that a browser moves smoothly in the player of a recipe.
PNG_SIDE: Final = 8000  #: Pixels along a side of a PNG: converters fail at larger images.
PNG_SECONDS: Final = 60  #: Seconds for a converter of SVG to PNG: browsers start slowly.

# The explorer and the exercises

EXPLORER_TEXT: Final = 4000  #: Characters of a field: an answer to longer text is not instant.
EXPLORER_SECONDS: Final = 1.2  #: Seconds of work on one question: a person waits no longer.
EXPLORER_WAIT: Final = 10  #: Times as long as this may pass by the clock: a busy machine is slower.
EXPLORER_STARTS: Final = 3  #: Workers in a row that may fail to start before the explorer gives up.
EXPLORER_COMPARED: Final = 7  #: Layouts beside the first in one picture: more would take too long.
EXPLORER_ANSWER: Final = 16 << 20  #: Bytes of an answer: a browser hangs at more.
EXPLORER_ARRAYS: Final = 200  #: Arrays of a tuple in the page's list.
EXPLORER_HEADER: Final = 1 << 16  #: Bytes of a request's header: a question of six encoded fields.
EXPLORER_CONNECTIONS: Final = 200  #: Connections at a time: any system lets a process open more.
EXPLORER_THREADS: Final = 24  #: Requests at a time: one is answered, others wait, or serve files.
EXPLORER_IDLE: Final = 2  #: Seconds until a silent connection is closed, so that others get one.
EXPLORER_PATIENCE: Final = 60  #: Seconds that the command waits for its own server, slow at first.
EXERCISE_TEXT: Final = 2000  #: Characters of an answer to an exercise: real ones have a few dozen.

# The editor

EDITOR_MESSAGE: Final = 1 << 24  #: Bytes of a message; of a longer file the place asked is read.
EDITOR_CANDIDATES: Final = 8  #: Parts of a text around a place that are tried as a layout.
EDITOR_QUESTIONS: Final = 2000  #: Different texts of a file that warnings are asked about.
EDITOR_BATCH: Final = 4  #: Of these, asked at once: a hover waits for no more.
EDITOR_PADDING: Final = 4096  #: Bytes of padding that are not warned of: one tile of a TPU.
EDITOR_PAUSE: Final = 0.4  #: Seconds without a change after which warnings are asked again.

# Explanations

EXPLANATION_WIDTH: Final = 78  #: Characters of a picture's line, unless a terminal says otherwise.
EXPLAINED_IN_HTML: Final = 4  #: Arrays of a tuple shown in full; the others by name.

# Records

RECORD_TEXT: Final = 10_000  #: Characters of a record: Q4_K has 350.
RECORD_PIECES: Final = 200  #: Pieces of a record: each is compared with each.
RECORD_INDEX: Final = 100_000_000  #: Bytes of a name or text, and entries of a list, in an index.
RECORD_BITS: Final = 1 << 22  #: Bits of a field that are compared one by one: half a second.
RECORD_VALUES: Final = 1 << 28  #: Values of a block that are computed: 1 GiB.
RECORD_PICTURE: Final = 1024  #: Bytes of a block that a picture shows: each is up to eight boxes.
