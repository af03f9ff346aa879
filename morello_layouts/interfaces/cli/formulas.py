"""What the commands about formulas ask beyond one function, and how they show it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import click

import morello_layouts as ml
from morello_layouts.core.expr import Interval, fewest, readable
from morello_layouts.core.expr.simplify import Derivation
from morello_layouts.core.expr.substitution import with_floors
from morello_layouts.core.fields import plain
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.api.code import Formulable, code as code_of
from morello_layouts.interfaces.api.conversions import To, conversion
from morello_layouts.interfaces.api.formulas import Language as Reading, assumed_form
from morello_layouts.interfaces.api.layouts import Assuming, LayoutLike, Shape, index_maps, parsed
from morello_layouts.interfaces.cli.command import Tiles
from morello_layouts.interfaces.cli.terminal import Answer, error_in_options, print_error
from morello_layouts.notations import parse_bounds
from morello_layouts.outputs.codegen.targets import LoopTarget, Target
from morello_layouts.outputs.kernels import KERNEL_TARGETS
from morello_layouts.outputs.kernels.relayout import BitOrder


def simplify(
    expr: str,
    *,
    bounds: str = "",
    assuming: Assuming | None = None,
    language: Reading = "python",
    cheapest: bool = False,
    derivation: bool = False,
) -> Answer:
    """Simplify an index expression of + - * // %, min, max, comparisons and choices, or one of C.

    Args:
        expr: an expression, such as (32*i + j)//8.
        bounds: values of variables: 0..31 with both ends, 0<=i<32, range(32), or a size: i=32.
        assuming: what is known besides, such as N % 8 == 0, M <= N, i <= j.
        language: how it is read; c for C and CUDA, which round towards zero and overflow.
        cheapest: fewest operations, instead of the most readable.
        derivation: show each rule that fired.
    """
    intervals = _intervals(bounds, expr)
    form, assumed = assumed_form(expr, intervals, assuming, language)
    for name in assumed.sizes:
        if not name[0].isupper() and name not in intervals:
            print_error(f"assuming: {name} is at least 1; if it may be 0, give --bounds {name}=0..")
    steps = Derivation.of(form, lambda start: readable(start, assumed.forms))
    best = fewest(steps.end if assumed.forms else form) if cheapest else steps.end
    simplified = str(with_floors(assumed.named(best)))
    steps = steps.mapped(assumed.named)
    facts = {
        "expression": steps.start,
        "bounds": {name: [i.lo, i.hi] for name, i in intervals.items()},
        "simplified": simplified,
        "derivation": steps.steps if derivation else None,
    }
    last = f"\n= {simplified}   cheapest" if cheapest else ""
    return Answer(facts, f"{steps}{last}" if derivation else simplified)


def _intervals(bounds: str, expr: object) -> dict[str, Interval]:
    """Read bounds; say which of them are for no name, and which a smallest value makes stronger."""
    found = parse_bounds(bounds)
    words = re.findall(r"[\w.]+", f"{expr} {bounds}".replace("..", " "))
    for name, interval in found.items():
        if words.count(name) == 1:
            print_error(f"bounds: {name} is not in the expression {expr}")
        elif interval.lo is None and interval.hi is not None:
            print_error(
                f"bounds: {name} may be negative; if it is not, write 0<={name}<={interval.hi}"
            )
    return found


def code(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    names: str | None = None,
    at: Mapping[str, int] | None = None,
    target: Target = "c",
    bounds: str | None = None,
    inverse: bool = False,
    cheapest: bool = False,
    **more: Any,
) -> Answer:
    """Print the index formula of a layout as source text, in integers only.

    Args:
        layout: a layout, or with --bounds an expression.
        target: the language.
        bounds: the layout is an expression over these variables, an empty text for none.
        inverse: from an offset p to coordinates, and padding.
        language: how it is read; c for C and CUDA, which round towards zero and overflow.
        cheapest: fewest operations, instead of the most readable.
        at: numbers for the symbolic sizes.
    """
    of: Formulable = layout
    intervals = None
    if bounds is None:
        m = ml.index_map(layout, shape, assuming=assuming, names=names)
        m = m if at is None else m.at(**at)
        of = m.inverse if inverse else m
    else:
        given = {"inverse": inverse or None, "shape": shape, "assuming": assuming, "names": names}
        for name in (name for name, x in given.items() if x is not None):
            raise LayoutError(
                f"--{name} was given for an expression",
                "with --bounds, TEXT is an expression, not a layout",
                f"leave out --bounds or --{name}",
            )
        intervals = _intervals(bounds, layout)
    simplified: Any = "cheapest" if cheapest else "readable"
    found = code_of(of, target, intervals, simplified=simplified, **more)
    return Answer({"text": layout, "target": target, "code": found}, found)


def loops(
    layout: LayoutLike,
    other: LayoutLike | None = None,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    names: str | None = None,
    order: str = "physical",
    tile: Tiles | None = None,
    target: LoopTarget = "c",
    indices: Mapping[str, str] | None = None,
    function: bool = False,
    name: str = "nest",
    verify: bool = False,
    **more: Any,
) -> Answer:
    """Print loops that visit each element of a layout once.

    With OTHER, a second layout of the array, they copy a, in the first layout, to b.

    Args:
        layout: text in any notation.
        other: a second layout of the array.
        order: coordinates or loops, the outermost first, or physical: as a buffer lies.
        tile: sizes of tiles to add, 128/8 for tiles of 8 in tiles of 128.
        target: the language.
        indices: loops whose index the machine gives, in CUDA and Triton.
        function: a whole function.
        name: the name of the function.
        verify: prove it too.
    """
    from morello_layouts.interfaces.api.loops import loops as loops_of

    if other is None:
        maps: Any = ml.index_map(layout, shape, assuming=assuming)
    else:
        a, b = index_maps(layout, other, shape, assuming)
        if a.shape != b.shape:
            raise LayoutError(
                f"OTHER: expected the shape {a.shape} of LAYOUT, got {b.shape}",
                "the loops copy each element of one array",
                "give both layouts at the same shape",
            )
        maps = {"a": a, "b": b}
    ordered = order if order == "physical" else [part.strip() for part in order.split(",")]
    nest = loops_of(maps, order=ordered, names=names, tile=tile, **more)
    text = nest.code(target, function=function, name=name, indices=indices)
    facts = {"text": layout, "target": target, **plain(nest), "code": text}
    if not verify:
        return Answer(facts, text)
    proof = nest.verify()
    return Answer(facts | {"proof": proof}, f"{text}\n\n{proof}", holds=proof.holds)


Padding: TypeAlias = Literal["zero", "leave"]


def relayout(
    source: LayoutLike,
    target: LayoutLike,
    shape: Shape | None = None,
    *,
    language: Target = "c",
    element_type: str | None = None,
    padding: Padding = "zero",
    bits: int | None = None,
    bitorder: BitOrder = "little",
    name: str = "relayout",
    **more: Any,
) -> Answer:
    """Print a function that moves a buffer in the layout SOURCE to one in the layout TARGET.

    In languages without kernels it is the function for one of your own: from an offset of the
    target to that of the source, and whether it holds padding.

    Args:
        language: a kernel in c, cuda, python or triton, and in rust if elements are narrower than
            a byte; else the function from target to source.
        element_type: type of an item, NumPy's or XLA's name, if no text names it.
        padding: whether padding of the target is set to zero.
        bits: bits of an element, 1 to 7, if elements share bytes; in place of a type in a text.
        bitorder: which end of a byte comes first, if elements are narrower than one.
        name: the name of the function.
    """
    first, second = parsed(source), parsed(target)
    found = ml.relayout(first, second, shape, **more)
    is_rust = language == "rust" and element_type is None and (bits or found.bits) is not None
    if is_rust or language in KERNEL_TARGETS:
        fill = 0 if padding == "zero" else None
        of_bits: Any = {"bits": bits, "bitorder": bitorder}
        text = found.kernel(language, element_type, fill=fill, name=name, **of_bits)
    else:
        is_code = language not in ("latex", "sympy", "mlir")
        text = code_of(found, language, function=is_code, name=name if is_code else None)
    facts = {
        "source": first,
        "target": second,
        "language": language,
        "dtype": element_type or found.element_type,
        "formula": found,
        "kernel": text,
    }
    return Answer(facts, text.rstrip("\n"))


AnyNotation: TypeAlias = To | Literal["all"]


def convert(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    to: AnyNotation | None = None,
    element_type: str | None = None,
    assuming: Assuming | None = None,
) -> Answer:
    """Write a layout in another notation, proved to have the same offsets.

    Args:
        to: the notation to convert to, by default all that can say it.
        element_type: write an XLA shape or a memref of this type.
    """
    if to == "all" or (to is None and element_type is None):
        from morello_layouts.interfaces.explanations.rows import Labelled, section_lines

        found = ml.convert_all(layout, shape, assuming=assuming)
        rows = [
            Labelled(each.to, str(each.layout))
            if each.error is None
            else Labelled(each.to, f"none: {each.error.why}", is_dim=True)
            for each in found
        ]
        facts = {"text": layout, "conversions": found}
        return Answer(facts, lambda medium: section_lines(str(layout), rows, medium))
    one = conversion(layout, to or "xla", shape, element_type, assuming=assuming)
    command = click.get_current_context().command
    reason = None if one.error is None else error_in_options(one.error, command)
    facts = {"text": layout} | plain(one) | {"reason": reason}
    return Answer(facts, str(one.layout), holds=one.exists, refusal=reason)
