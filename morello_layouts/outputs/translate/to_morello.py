"""Find the Morello layout with the same offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from morello_layouts import proof
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import SizeExpr, round_up
from morello_layouts.core.limits import TRANSLATION_WITNESS_TILES, TRANSLATION_WITNESSES
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import Split, has_inverse
from morello_layouts.core.recipe.digits import AxisDigit, Digits
from morello_layouts.errors import NoTranslationError, ShapeError, TranslationNotFoundError
from morello_layouts.notations.morello import Dynamic, MorelloLayout, OddEven, Packed, PhysDim
from morello_layouts.outputs.translate.source import Source, have_same_offsets
from morello_layouts.proof.verdict import sizes_text


def morello_layout_of(source: Source) -> MorelloLayout:
    """Return the Morello layout with the offsets of a layout, proved equal."""
    if 0 in source.shape:
        raise source.none(
            "a size is 0, and Morello's dimensions have at least one element", "use sizes from 1"
        )
    return _for_all_sizes(source) if source.m.recipe.names else _at_numbers(source)


def _at_numbers(source: Source) -> MorelloLayout:
    """The Morello layout of a map without symbolic sizes."""
    digits = source.dense
    if isinstance(digits, str):
        _require_no_gap(source)
    found = digits if isinstance(digits, str) else morello_of_digits(digits, len(source.shape))
    if isinstance(found, str):
        raise source.none(found, _KEEP_OR_TILE)
    answer = have_same_offsets(source.m, found)
    if answer.holds is False:
        raise source.none(
            f"its strides admit only {found}, which has another offset at {answer.counterexample}",
            _KEEP_OR_TILE,
        )
    if answer.holds is None:
        raise source.not_found(
            f"only {found} can be; {answer.reason}", f"check {found} at smaller sizes"
        )
    return found


def _require_no_gap(source: Source) -> None:
    """Raise if padding lies between elements."""
    m = source.m
    if not has_inverse(m.recipe):
        return
    surjective = proof.is_surjective(m)
    if surjective.holds is False and surjective.counterexample < m.size - surjective.padding:
        raise source.none(
            f"{surjective.padding} of {m.size} slots are padding, and the first, slot "
            f"{surjective.counterexample}, lies between elements",
            "choose sizes that the tiles divide",
        )


_KEEP_OR_TILE = "keep the layout in XLA's notation, or tile by sizes that divide one another"


def morello_of_digits(digits: Digits, rank: int) -> MorelloLayout | str:
    """Return the Morello layout with these canonical digits, or the reason why none has them.

    From the innermost on, each physical dimension takes the lowest remaining digit of its
    dimension. Only an OddEven differs: its two digits, of radix 2 and above it the rest, change
    places. Neither is ever joined with a neighbour, so no other list has these digits.

    >>> print(morello_of_digits((AxisDigit(0, 1, 2, modulus=2), AxisDigit(0, 2, 8)), 1))
    [0 oe(16)]
    """
    taken = [1] * rank
    dims: list[tuple[int, PhysDim]] = []
    left = list(digits)
    while left:
        digit = left.pop()
        phys = _phys(digit, left[-1] if left else None, taken[digit.dim])
        if phys is None:
            lower = next(d for d in left if (d.dim, d.unit) == (digit.dim, taken[digit.dim]))
            return (
                f"{digit} lies inside {lower}, a lower part of the same dimension; in Morello the "
                "lower parts lie inside the higher ones, but for the two of an OddEven"
            )
        if isinstance(phys, OddEven):
            left.pop()
        dims.append((digit.dim, phys))
        taken[digit.dim] *= _known(digit.radix) * (2 if isinstance(phys, OddEven) else 1)
    return MorelloLayout(reversed(dims))


def _phys(digit: AxisDigit, outer: AxisDigit | None, taken: int) -> PhysDim | None:
    """The physical dimension of a digit, or of it and the one outside it; None if none has it."""
    if digit.unit == taken:
        return Dynamic() if digit.modulus is None else Packed(digit.modulus)
    is_parity = outer is not None and (outer.dim, outer.unit, outer.radix) == (digit.dim, taken, 2)
    if is_parity and digit.unit == 2 * taken and isinstance(digit.radix, int):
        return OddEven(2 * digit.radix)
    return None


def _known(radix: int | SizeExpr) -> int:
    """The radix if it is a number; 1 for that of a highest digit, which no digit follows."""
    return radix if isinstance(radix, int) else 1


def _for_all_sizes(source: Source) -> MorelloLayout:
    """A Morello layout for all sizes: that of the steps, or of some small sizes."""
    m, digits = source.m, source.dense
    read = digits if isinstance(digits, str) else morello_of_digits(digits, len(source.shape))
    if isinstance(read, MorelloLayout) and have_same_offsets(m, read).holds:
        return read
    found: dict[MorelloLayout, None] = {}
    for sizes in _witnesses(m):
        try:
            found[_at_numbers(Source(m.at(**sizes), source.title))] = None
        except NoTranslationError as error:
            why = f"at {sizes_text(sizes)}: {error.why}"
            raise NoTranslationError(error.what, why, _remedy(m)) from None
        except (TranslationNotFoundError, ShapeError):  # or the sizes do not fit the strides
            continue
    for layout in reversed(found):  # those of larger sizes distinguish more
        try:
            if have_same_offsets(m, layout).holds:
                return layout
        except ShapeError:
            continue
    raise source.not_found(
        read if isinstance(read, str) else "one exists at each of the small sizes that were tried",
        _remedy(m),
    )


def _witnesses(m: IndexMap) -> Iterator[dict[str, int]]:
    """Yield some sizes within the assumptions, smallest first: small ones and just above tiles."""
    assumed = {one.name: one for one in m.assumptions}
    tiles = {t for step in m.recipe.steps if isinstance(step, Split) for t in step.numbers if t}
    names = m.recipe.names
    each = [_sizes(assumed.get(name, Assumption(name)), tiles) for name in names]
    grid = sorted(product(*each), key=sum)
    for sizes in (*grid[: TRANSLATION_WITNESSES - 1], grid[-1]):
        yield dict(zip(names, sizes, strict=True))


def _sizes(one: Assumption, tiles: Iterable[int]) -> list[int]:
    """The first two sizes within an assumption, and the first above each of the largest tiles."""
    above = (t + 1 for t in sorted(tiles)[-TRANSLATION_WITNESS_TILES:])
    small = (one.lo, one.lo + one.divisor, *above)
    multiples = {round_up(n, one.divisor) for n in small}
    return sorted(n for n in multiples if one.holds_for(n))


def _remedy(m: IndexMap) -> str:
    """The assumptions about symbolic sizes under which nothing is padded, if they are known."""
    condition = proof.is_surjective(m).condition
    if condition is None or condition.expr is None or not condition.depends:
        return "give numbers for the sizes"
    return f"assume that {condition}: then nothing is padded"
