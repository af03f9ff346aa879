"""What people ask, in their words, and where each answer is: command, Python, explorer, page.

The groups of the general help, the tables of the front page and of the reference, the hints of the
explorer's fields and the hints about names that do not exist come from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple


class Question(NamedTuple):
    """A question, and where it is answered."""

    asks: str  #: the question.
    ask: str  #: how to ask it, in Markdown: commands and names of Python.
    python: str  #: the public functions that answer, without ``ml.``.
    reference: str  #: their page in docs/reference, without ``.md``; empty if there is none.
    #: the pages to read, as ``title | path``, a line each; paths from the top of the project.
    pages: str
    commands: str = ""  #: the commands that answer, in the order of the general help.
    field: str = ""  #: the field of the explorer.
    words: str = ""  #: other names that people try.


QUESTIONS: Final = {
    "Layouts": (
        Question(
            "What does this layout mean?", "`mlay explain LAYOUT`, `mlay lsp`",
            "explain, parse", "layouts",
            "the notations | docs/explanation/notations.md\n"
            "reading a TPU layout | docs/tpu_layouts.md\n"
            "in the editor | docs/how_to/in_the_editor.md",
            "explain", "layout", "describe info print summary read",
        ),
        Question(
            "How does it look?", "`mlay draw LAYOUT`", "draw", "pictures",
            "pictures | docs/pictures.md",
            "draw", "", "plot show figure picture visualize visualise render svg image display",
        ),
        Question(
            "How is it written over there?", "`mlay convert LAYOUT --to cute`",
            "convert, convert_all", "layouts",
            "say it in another notation | docs/how_to/say_it_in_another_notation.md",
            "convert", "", "translate to_cute to_xla to_triton to_strides",
        ),
        Question(
            "What layout is this buffer, table or code?", "`mlay recover FILE`", "recover",
            "layouts", "what layout is this? | docs/how_to/what_layout_is_this.md",
            "recover", "", "infer detect guess find_layout",
        ),
        Question(
            "Which bits hold a packed weight?", "`mlay record q4_K`", "record, read_weights",
            "records", "packed weights | docs/how_to/packed_weights.md",
            "record", "", "gguf weights bits quantization",
        ),
        Question(
            "I have a tensor, a compiled function, a line of a dump",
            "`ml.explain(x)`, `mlay notations`", "index_map", "index_maps",
            "hand it what you have | docs/how_to/hand_it_what_you_have.md",
            "notations", "shape", "from_text layout layout_of from_jax from_torch from_numpy",
        ),
        Question(
            "Which layout does the TPU compiler choose?", "`mlay default SHAPE`",
            "tpu.default_layout, tpu.suggest", "tpu",
            "my parameter is padded | docs/how_to/my_parameter_is_padded.md",
            "default", "", "default_layout suggest waste padding",
        ),
    ),
    "Proofs": (
        Question(
            "Is my index right, for all sizes?", "`mlay prove LAYOUT`, `mlay equal A B`",
            "prove, equal, alignment", "proofs",
            "is my index right? | docs/how_to/is_my_index_right.md",
            "prove equal", "other",
            "equals equivalent is_equivalent same compare check_layout validate bijective "
            "injective surjective",
        ),
        Question(
            "Is this slice or reshape a view?",
            "`m[2:10, ::2].as_strided()`, `mlay bitcast A B`", "bitcast", "proofs",
            "views | docs/how_to/index_formula_for_my_kernel.md#views-a-part-of-the-array\n"
            "is this reshape free? | docs/how_to/is_this_reshape_free.md",
            "bitcast", "", "is_view can_view reshape view",
        ),
        Question(
            "Does the consumer find what the producer wrote?", "`mlay agree A B`", "agree",
            "proofs", "do these two agree? | docs/how_to/do_these_two_agree.md",
            "agree", "", "agrees match compatible consistent",
        ),
        Question(
            "Who notices when one of the two changes?", "`mlay check-contracts`",
            "testing.assert_agree, testing.check_contracts", "testing",
            "contracts in your tests | docs/how_to/contracts_in_your_tests.md",
            "check-contracts", "", "assert_agree contracts check_contracts",
        ),
        Question(
            "Can I trust the answer?",
            "`mlay prove LAYOUT --certificate proof.json`, `mlay check proof.json`",
            "verify, certificate", "proofs",
            "certificates | docs/explanation/certificates.md\n"
            "a checker without the package | morello_layouts/check.py",
            "check", "", "certify proof_of check_certificate",
        ),
    ),
    "Formulas and code": (
        Question(
            "Where does element (2, 3) lie?", "`mlay code LAYOUT --language cuda`",
            "code", "code",
            "a formula for my kernel | docs/how_to/index_formula_for_my_kernel.md\n"
            "code | docs/codegen.md",
            "code", "at", "offset index formula generate codegen emit",
        ),
        Question(
            "Can this index be shorter?", "`mlay simplify EXPRESSION`", "simplify, from_sympy",
            "simplifier", "the simplifier | docs/simplifier.md",
            "simplify", "assuming", "reduce shorten sympify",
        ),
        Question(
            "Which loops visit it?", "`mlay loops LAYOUT`", "loops", "code",
            "from a layout to a loop | docs/how_to/from_a_layout_to_a_loop.md",
            "loops", "", "loop nest loop_nest iterate tile",
        ),
        Question(
            "How do I move it to another layout?", "`mlay relayout A B`",
            "relayout, pack, unpack", "code",
            "kernels that move a buffer | docs/relayout_kernels.md",
            "relayout", "", "copy transpose kernel move repack transform",
        ),
    ),
    "GPUs": (
        Question(
            "Why 8-way conflicts, and what helps?", "`mlay banks LAYOUT ACCESS`",
            "banks, best_swizzle, coalescing, cache_lines, vector_width", "gpu",
            "no bank conflicts | docs/how_to/no_bank_conflicts.md",
            "banks", "access", "conflicts swizzle bank shared_memory",
        ),
        Question(
            "Which lane holds it?", "`mlay fragments`, `mlay explain NAME`",
            "fragments, register_relayout", "gpu",
            "banks and lanes | notebooks/6_banks_and_lanes.ipynb",
            "fragments", "", "lanes mma wgmma instructions fragment",
        ),
    ),
    "Devices": (
        Question(
            "Which device holds it, and what must move?",
            "`mlay shards SHARDING`, `mlay reshard A B`",
            "sharding, shards, reshard, rematerializations", "devices",
            "which device? | docs/how_to/which_device_holds_it.md\n"
            "resharding | docs/resharding.md",
            "shards reshard", "", "shard devices mesh collective",
        ),
    ),
    "Programs": (
        Question(
            "Why does this program use 4 GB?",
            "`mlay hlo DUMP`, `mlay memory DUMP`, `mlay oom LOG`",
            "hlo, memory, oom, read_hlo", "hlo",
            "out of memory | docs/how_to/out_of_memory_what_now.md\n"
            "why is this copy here? | docs/how_to/why_is_this_copy_here.md",
            "hlo memory oom", "", "dump heap report peak diagnose_hlo",
        ),
        Question(
            "What does this TTGIR or StableHLO move?", "`mlay mlir FILE`", "read_mlir", "hlo",
            "files of MLIR | docs/how_to/hand_it_what_you_have.md#files-of-mlir",
            "mlir", "", "ttgir triton stablehlo read_ttgir convert_layout",
        ),
        Question(
            "What makes my TPU program better?", "`mlay tpu-compile FILE.py:NAME --advise`",
            "tpu.diagnose, tpu.advise", "tpu", "advice on 26 programs | docs/tpu_advice.md",
            "tpu-compile", "", "compile advise optimize tpu_compile",
        ),
        Question(
            "Which elements does a fusion read?", "`mlay hlo DUMP --indexing NAME`",
            "indexing_map", "hlo", "which elements? | docs/how_to/which_elements.md",
            "", "", "indexing access_map fusion",
        ),
    ),
    "Browser and editor": (
        Question(
            "How do I learn or teach this?", "`mlay explore`", "exercises", "exercises",
            "the notebooks | notebooks/README.md\nthe recipe | docs/explanation/recipe.md\n"
            "the explorer | docs/explorer.md",
            "explore lsp", "", "explorer notebooks tutorial learn help",
        ),
    ),
}  # fmt: skip
"""The questions, by the groups of the general help."""


def every_question() -> Iterator[Question]:
    """Yield the questions of all groups."""
    for group in QUESTIONS.values():
        yield from group


def answering(name: str, *, command: bool = False) -> str:
    """Return how to ask what a name suggests, in Python or by a command, or nothing.

    >>> answering("plot")
    'draw (how does it look?)'
    """
    name = name.lower().replace("-", "_")
    for question in every_question():
        words = (*question.words.split(), *question.commands.replace("-", "_").split())
        asked = question.commands.split() if command else question.python.split(", ")
        if any(asked) and (name in words or name.removeprefix("is_") in words):
            return f"{asked[0]} ({question.asks[0].lower()}{question.asks[1:]})"
    return ""
