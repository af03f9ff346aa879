"""The commands: a row each, and what the command line says otherwise than Python.

A row has what a function does not say itself: its name on the command line, examples, and which of
its verdicts decide the exit status. Arguments, options and help are those of the signature and the
docstring, and the list of JSON keys follows from the type that it returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

NAME: Final = "morello-layouts"


class Row(NamedTuple):
    """A function on the command line."""

    name: str  #: the command.
    does: str  #: what it does, in the general help.
    #: the public functions that answer. Their docstrings explain the parameters, and the first has
    #: the parameters that ``**more`` stands for.
    python: str
    examples: tuple[str, ...]  #: the arguments of one example each.
    #: what is called, as ``module:name`` in this package; by default the first of the public
    #: functions.
    function: str = ""
    verdicts: tuple[str, ...] = ()  #: the attributes of the answer that decide the exit status.
    saves: str = ""  #: what writes the answer to a file, a key of ``SAVES``.
    then: str = ""  #: what makes of the answer, and of the file it is written to, what is printed.
    #: the keys of answers, by the words after "JSON": ``key``, ``key=module:Type``, or
    #: ``*module:Type`` for the keys of a type; by default those of the function's own type.
    json: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()  #: more paragraphs of the help.


PROVED: Final = "Exit status: 0 proved, 1 disproved, 2 bad input, 3 undecided."

AGREED: Final = (
    "Exit status: 0 offsets agree, all fits, and all that is read is written; 1 one of these is "
    "disproved; 2 bad input; 3 undecided."
)

ROWS: Final = {row.name: row for row in (
    Row("explain", "Explain a layout: parts, sizes, formula, proof, picture.", "explain", (
        '"bf16[10,200]{1,0:T(8,128)(2,1)}"',
        '"[1, 0, 1 p(4)]" --shape 6x8 --derivation',
        '"(f32[8,128], s32[])" --json',
        '"add.1 = bf16[8,1280]{1,0:T(8,128)(2,1)} add(a, b)"',
        '"q4_K[B]"',
    ), then="layouts:with_options", json={
        "": "*interfaces.explanations.rows:Explanation",
        " of a record": "record=programs.records:Record, proof=programs.records.judge:RecordProof"},
        notes=("The exit status does not depend on the proofs; those of prove and equal do.",)),
    Row("draw", "Draw a layout, or two side by side.", "draw", (
        '"f32[3,5]{1,0:T(2,2)}"',
        '"[1, 0, 1 p(4)]" --shape 6x8 -o packed.svg',
        '"f32[3,5]{1,0:T(2,2)}" "{1,0}" -o both.html',
        '"bf16[32,256]{1,0:T(8,128)(2,1,1,1)}" --colour word -o words.svg',
        '"f32[M,N]{1,0:T(2,2)}" --at M=3,N=5',
        "SM80_16x8x16_F32F16F16F32_TN -o lanes.html",
        '"bf16[8,8]{1,0:T(2,4)(2,1,1,1)}" --mark 6,5 -o dot.png',
        "q4_K -o q4_K.svg",
    ), saves="picture", then="layouts:drawing",
        json={"": "file, panels=outputs.picture.panel:Panel",
              " of a record": "file, record=programs.records:Record"},
        notes=("Without -o the picture goes to the terminal.",)),
    Row("convert", "Write a layout in another notation, proved equal.",
        "convert, convert_all", (
        '"bf16[64,256]{1,0:T(8,128)(2,1)}"',
        '"[1, 0, 1 p(4)]" --shape M,N --to xla --type f32',
        "nChw16c --shape N,C,H,W --to xla",
        '"f32[M,N]{1,0:T(8,128)}" --assuming "M % 8 == 0, N % 128 == 0"',
    ), "formulas:convert", ("holds",),
        json={"": "text, *interfaces.api.conversions:Conversion",
              " of all notations": "text, conversions=interfaces.api.conversions:Conversion"},
        notes=("Exit status: 0 converted, 1 none exists, 2 bad input, 3 none was found.",)),
    Row("recover", "Find the layout of offsets, a buffer or code.", "recover", (
        "pack.py:pack --shape 16x64 --shape 48x128",
        "offsets.npy",
        "offsets.csv --shape 64x64 --json",
        "dump.bin --type u2 --array weights.npy",
        '"0,1=1 1,0=128 8,0=4096" --shape 64x512',
    ), "programs:recover", ("holds",), json={
        "": "*outputs.recover:Recovered", " of none": "why, nearest, unlike"},
        notes=("Exit status: 1 if no layout and no few boxes have the offsets.",)),
    Row("record", "Say what a packed format or a file of weights holds, bit by bit.",
        "record, read_weights", (
        '"q4_K[B]"',
        "q4_0 --language c -o decode.c",
        "awq_128 --sizes G=1,N=1 --language c --stores",
        "q4_K --picture -o q4_K.svg",
        'mxfp4 --reader "r: 17 bytes { e: u8 at byte 0; qs: u4[32] at byte 1 }"',
        "model.gguf --tensor blk.0.attn_q.weight --coordinate 3,700",
        "--formats",
    ), "programs:record", ("holds",), "output", json={
        "": "record=programs.records:Record, proof=programs.records.judge:RecordProof",
        " with --reader": "record, agreement=programs.records.judge:RecordAgreement",
        " with --language": "record, code",
        " with --picture": "record, picture",
        " of a file": "file=programs.records.files:WeightsFile",
        " with --tensor": "tensor=programs.records.files:Tensor, record, block, value, bits",
        " with --formats": "formats"},
        notes=("Exit status: 1 if fields overlap, leave the block, or are read elsewhere.",)),
    Row("notations", "List the notations that texts are read in.", "", (
        "cute",
        "--json",
    ), "layouts:notation_list", ("holds",), json={"": "notations"},
        notes=("Exit status: 1 if none has the name.",)),
    Row("default", "Name the layout that the TPU compiler chooses.",
        "tpu.default_layout, tpu.suggest", (
        '"bf16[8,1,1280,1000]" --tpu v5e',
        '"s32[8388608,8,4]" --tpu v5e --alternatives 3',
        '"f32[16,3,128]" --tpu tpu7x --json',
    ), "interfaces.explanations.defaults:default_report"),
    Row("prove", "Prove that a layout is bijective.",
        "prove, is_bijective, is_injective, is_surjective, verify", (
        '"[1, 0, 1 p(4)]" --shape 6x8',
        '--injective "f32[3,5]{1,0:T(2,2)}"',
        '--surjective "bf16[M,N]{1,0:T(8,128)(2,1)}"',
    ), verdicts=("holds",), saves="certificate", notes=(PROVED,)),
    Row("equal", "Prove that two layouts are equivalent.", "equal", (
        '"f32[6,8]{1,0:T(6,4)}" "[1, 0, 1 p(4)]"',
        '"[0, 1]" "{1,0}" --shape 6x8',
        '"f32[M,N]{1,0:T(2,128)}" "f32[M,N]{1,0:T(8,128)}"',
    ), verdicts=("holds",), saves="certificate", notes=(PROVED,)),
    Row("bitcast", "Prove that the same bytes serve two layouts.", "bitcast", (
        '"f32[4,6]{1,0}" "f32[2,2,3,2]{3,2,1,0}"',
        '"f32[2,3]{1,0}" "f32[3,2]{0,1}" --transpose 1,0',
        '"bf16[64,64]{1,0:T(8,128)(2,1)}" "bf16[64,64]{0,1:T(8,128)(2,1)}" --any',
    ), "layouts:bitcast", ("holds",), "certificate", notes=(PROVED,)),
    Row("agree", "Prove that a consumer finds what a producer wrote.", "agree", (
        '"[0, 1, 0 p(4)]" "[0, 1]" --shape 16x8',
        '"[0, 1, 0 p(4)]" "[0, 1]" --shape T,S',
        "mx128x4 mx128x4 --shape M,K --reads buffer",
        'mx128x4 mx128x4 --shape M,K --producer-bytes "M*4*ceil(K/4)"',
        '"[0, 1]" "[0, 1, 1 oe(8)]" --shape 16x64 --element-bits 4',
    ), verdicts=("holds", "fits", "covers"), notes=(AGREED,)),
    Row("check-contracts", "Check the contracts of *.layouts.toml files.",
        "testing.check_contracts", (
        "",
        "kernels.layouts.toml tests --json",
    ), "programs:contracts", ("holds",),
        json={"": "outcomes=interfaces.testing.contracts:Outcome"},
        notes=(PROVED,)),
    Row("check", "Check a certificate that prove, equal or bitcast wrote.", "check.check", (
        "proof.json",
    ), "programs:check", ("holds",), json={"": "holds, claim, statement, why, not_checked"},
        notes=("Exit status: 0 the certificate proves its claim, 1 it does not, 2 bad input.",
               "Without the package: python check.py proof.json (morello_layouts/check.py).",)),
    Row("simplify", "Simplify an index expression.", "simplify", (
        '"(32*i + j)//8" --bounds i=0..31,j=0..31',
        '"(N*i + j)//N" --bounds i=0..M-1,j=0..N-1',
        '"floor(i/8)*8 + Mod(i, 8)" --bounds i=0.. --derivation',
        '"(tid & 7)*64 + tid / 8" --bounds tid=0..127 --language c',
        '"min(8*i + 7, 63) // 8 + max(M, N)" --bounds i=0..31 --assuming "M <= N"',
    ), "formulas:simplify", json={
        "": "expression, bounds, simplified, derivation=core.expr.simplify:RewriteStep"}),
    Row("code", "Print the index formula of a layout as source text.", "code, index_map", (
        '"bf16[10,200]{1,0:T(8,128)(2,1)}"',
        '"[1, 0, 1 p(4)]" --shape 6x8 --language rust --function',
        '"f32[3,5]{1,0:T(2,2)}" --inverse --language python',
        '"f32[M,N]{1,0:T(8,128)}" --language cuda --function --shift',
        '"f32[M,N]{1,0:T(8,128)}" --assuming "N % 128 == 0"',
        '"(32*i + j)//8" --bounds i=0..31,j=0..31 --language mlir',
    ), "formulas:code", saves="output", json={"": "text, target, code"}),
    Row("loops", "Print loops that visit each element of a layout once.",
        "loops, index_map", (
        '"f32[M,N]{1,0:T(8,128)}" --order physical --edges peel --language rust',
        "nChw16c --shape 2x20x3x3 --names n,c,h,w --order n,h,w,c",
        '"f32[M,N]{1,0}" --names i,j --tile i=64,j=64/8 --edges guards',
        '"f32[M,N]{1,0}" "f32[M,N]{0,1:T(8,128)}" --of b --language mlir --function',
        '"f32[M,N]{1,0:T(8,128)}" --names i,j --body "f({i}, {j}, x[{x}]);"',
    ), "formulas:loops", ("holds",), "output", json={
        "": "text, target, *outputs.loop_nests:LoopNest",
        " with --verify also": "proof=proof:Proof"}),
    Row("relayout", "Print a function that moves a buffer to another layout.", "relayout", (
        '"f32[1000,1000]{1,0}" "{1,0:T(8,128)}" -o tile.c',
        "NCHW NHWC --shape 8x64x56x56 --type float32 --language cuda",
        '"[0, 1]" "[1, 0]" --shape 6x8 --type bf16 --language python',
        '"f32[60,64]{1,0}" "{1,0:T(8,128)}" --language triton',
    ), "formulas:relayout", saves="output", json={
        "": "source, target, language, dtype, formula, kernel"}),
    Row("banks", "Count the bank conflicts of accesses; find a swizzle.",
        "banks, best_swizzle, coalescing, cache_lines", (
        '"f32[32,32]" row column',
        '"(64,64):(72,1)" --bits 16 row.b128 ldmatrix',
        '"(64,64):(64,1)" --bits 16 "SM80_16x8x16_F32F16F16F32_TN A"',
        '"f32[M,LD]" column',
        '--best "f16[64,64]" row.b128 ldmatrix',
        '--in global "f32[64,64]" column',
    ), "layouts:banks", ("holds",),
        json={"": "answers=machines.gpu:BankConflicts|machines.gpu:BankFormula"
                  "|machines.gpu.phases:Coalescing|machines.gpu.phases:CacheLines",
              " with --best": "*machines.gpu.swizzle:BestSwizzle"},
        notes=("Exit status: 1 if an access has bank conflicts.",)),
    Row("fragments", "List the known operands of matrix instructions.", "fragments", (
        "SM80_16x8x16",
        "v_mfma_f32 --json",
    ), verdicts=("holds",), then="layouts:fragment_list", json={"": "fragments"},
        notes=("Exit status: 1 if none begins so.",)),
    Row("shards", "Say what each device holds of a sharded array.", "shards", (
        '"f32[10,16]{1,0:T(8,128)}, sharding={devices=[4,2]<=[8]}"',
        "\"f32[M,N], mesh={'x': 8}, spec=P('x', None)\"",
        "\"bf16[K], mesh={'x': 8}, spec=P('x')\" --blocks 32",
        '"f32[1000], placements=[Shard(0)], mesh=(16)" --coordinate 999 --json',
        '"f32[61,8], (GEN_BLOCK(14,15,16,16), BLOCK) ONTO (4, 2)" --device 5',
    ), "layouts:shards", json={
        "": "*interfaces.explanations:Shards", " with --coordinate also": "places",
        " with --device": "*interfaces.explanations:DevicePart"}),
    Row("reshard", "Say what must move between two shardings.", "reshard, rematerializations", (
        """"f32[16,16], mesh={'x': 2, 'y': 4}, spec=P('x', 'y')" \\
    "f32[16,16], mesh={'x': 2, 'y': 4}, spec=P(('x', 'y'), None)\"""",
        '--shape 16x16x16 "{devices=[2,1,4]<=[4,2]T(1,0)}" "{devices=[1,8,1]<=[8]}" --device 5',
        '"f32[64], (BLOCK) ONTO 4" "f32[64], (CYCLIC) ONTO 4" --limit 200 --device 1',
        "--log training.log",
    ), "layouts:reshard", ("holds",), json={
        "": "*machines.resharding.plan:Plan", " with --limit": "*machines.resharding:Schedule",
        " with --device or --table": "messages=machines.resharding:Message",
        " with --log": "pairs=machines.resharding.plan:Rematerialization",
    }),
    Row("hlo", "Report the cost of the layouts of a program.",
        "hlo, diagnose, compare_hlo, diagnose_many", (
        "module.after_optimizations.txt",
        "dump.txt --top 3 --tpu v5e --html report.html",
        "before.txt after.txt",
        "dump.txt --indexing fusion.3",
        "dump.txt --tree",
        "dumps/ --jobs 8 --html fleet.html",
    ), "programs:hlo", saves="html", json={
        "": "*programs.diagnostics:Diagnosis",
        " of two dumps": "*programs.diagnostics:HloComparison",
        " of --indexing": "*programs.indexing:InstructionIndexing",
        " of many dumps": "*programs.diagnostics:FleetReport",
    }),
    Row("mlir", "Say what TTGIR, StableHLO or other MLIR moves: conversions, conflicts.",
        "read_mlir", (
        "kernel.ttgir",
        "step.mlir --json",
        "~/.triton/cache --html kernels.html",
    ), "programs:mlir", saves="html", json={
        "": "*programs.mlir:MlirReport", " of a folder": "*programs.mlir:MlirFolder",
    }),
    Row("memory", "Report the memory of a program: its peak, and who is alive.", "memory", (
        "module.oom_intermediate_module.txt",
        "module.after_optimizations-buffer-assignment.txt --html heap.html",
        "assignment.txt program.txt --top 30 --json",
    ), "programs:memory", saves="html"),
    Row("oom", "Explain an out-of-memory report.", "oom", (
        "log.txt",
        "log.txt --tpu v3 --html report.html",
    ), "programs:oom", saves="html"),
    Row("tpu-compile", "Compile a JAX function for a TPU, and report on it.",
        "tpu.diagnose, tpu.advise", (
        'model.py:step --shapes "f32[64,512], f32[512,512]"',
        "model.py:step --arguments example --tpu v6e --advise",
        'model.py:step --shapes "f32[8,128]{0,1}" --dumps dumps',
    ), "programs:tpu_compile", saves="html", json={
        "": "*programs.tpu_compiler.compilation:Compilation",
        " of --advise": "*programs.tpu_compiler.advise:Advice",
    }),
    Row("explore", "Start the interactive explorer in a browser.", "", (
        "--check",
        '--check --port 0 "bf16[10,200]{1,0:T(8,128)(2,1)}"',
        '--check "[1, 0, 1 p(4)]" --shape 6x8 --compare "{1,0}"',
    ), "programs:explore", json={" of --check": "url, answered, milliseconds"},
        notes=("Only this machine can open the page, on 127.0.0.1; Ctrl-C ends it.",)),
    Row("lsp", "Serve an editor: hovers, warnings, links to the explorer.", "", ("",),
        "programs:lsp", json={"": "nothing"},
        notes=('It needs pygls: pip install "morello_layouts[editor]".',)),
)}  # fmt: skip
"""The commands by name; ``interfaces/questions.py`` has their groups."""

SAID: Final = {
    "at: Sequence[int]": "coordinate",  # --at is for sizes
    "function: File": "FILE.py:FUNCTION",
    "texts: Sequence[str]": "[LAYOUT] ACCESS...",
    "boxes": "box",
    "dots": "mark",
    "dtype": "type",
    "element_bits": "bits",
    "element_type": "type",
    "generation": "tpu",
    "in_any_way": "any",
    "max_columns": "columns",
    "max_rows": "rows",
    "max_slices": "slices",
    "max_slots": "slots",
    "memory": "in",
    "target": "language",
}
"""What is not called as its parameter: one name for one thing in all commands."""

ALIASES: Final = {
    "color": "colour",
    "dtype": "type",
    "element-bits": "bits",
    "target": "language",
}
"""Other spellings of options, which the help does not list."""

LEFT_OUT: Final = {
    "correspondence": "--transpose and --any say it",
    "simplified": "--cheapest says it",
    "vector": "only for an access that is a Python function",
    "over": "the command takes layouts, not several maps by name",
    "progress": "a terminal shows it",
    "compiler": "the options --seconds and --gibibytes bound it",
    "cost": "a value of Python",
}
"""Parameters of functions that no option stands for, and why."""
