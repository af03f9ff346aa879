"""Find the Morello layout with the same offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Final

from morello_layouts.api.layouts import index_map
from morello_layouts.errors import NoTranslationError, ShapeError, TranslationNotFoundError
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.sizes import SizeExpr
from morello_layouts.maps import IndexMap
from morello_layouts.notations.morello import Dynamic, MorelloLayout, OddEven, Packed, PhysDim
from morello_layouts.notations.xla import XlaLayout
from morello_layouts.recipe import Split
from morello_layouts.recipe.digits import Digit, Digits
from morello_layouts.translate.digits import canonical_digits, probed_digits

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

_MOST_WITNESSES: Final = 64  # sizes at which a layout with symbolic sizes is looked at
_MOST_TILES: Final = 3  # sizes of tiles that these stand above


def equality(m: IndexMap, found: MorelloLayout | XlaLayout) -> Proof:
    """Whether a layout has the offsets of a map, under what is assumed of the map's sizes.

    Raises:
        ShapeError: where the layout does not fit the map's shape.

    >>> from morello_layouts.notations import parse
    >>> equality(index_map("f32[6,8]{0,1:T(4,1)}"), parse("[1, 0, 1 p(4)]")).holds
    True
    """
    from morello_layouts import proof

    other = index_map(found, m.recipe.shape, assuming=m.assumptions)
    if other.assumptions != m.assumptions:
        why = "the layout found assumes more of the sizes than the one given"
        return proof.Proof("are they equal?", None, why)
    return proof.are_equivalent(m, other)


def morello_of_known(m: IndexMap) -> MorelloLayout:
    """The Morello layout of a map of known sizes.

    Raises:
        NoTranslationError: where none exists.
        TranslationNotFoundError: where the only candidate was neither proved nor disproved.

    >>> print(morello_of_known(index_map("f32[6,8]{0,1:T(4,1)}")))
    [1, 0, 1 p(4)]
    """
    found = _candidate(m)
    answer = equality(m, found)
    if answer.holds is False:
        raise _none(
            m,
            f"its strides leave only {found}, and that has another offset at "
            f"{answer.counterexample}",
            "keep it in XLA's notation, or tile by sizes that divide one another",
        )
    if answer.holds is None:
        raise TranslationNotFoundError(
            f"no layout was proved equal to {m.source}",
            f"only {found} can be; {answer.reason}",
            f"{found} can be checked at smaller sizes",
        )
    return found


def _candidate(m: IndexMap) -> MorelloLayout:
    """The only one that can be, up to lists that come to the same.

    Raises:
        NoTranslationError: where there is none.
    """
    _require_elements(m)
    digits: Digits | str | None = canonical_digits(m.recipe)
    if digits is None:
        _require_no_gap(m)
        digits = probed_digits(m)
    if isinstance(digits, str):
        raise _none(
            m, digits, "keep it in XLA's notation, or tile by sizes that divide one another"
        )
    found = morello_of_digits(digits, m)
    if isinstance(found, str):
        raise _none(m, found, "keep it in XLA's notation")
    return found


def _require_elements(m: IndexMap) -> None:
    """Raise where a size is 0."""
    if 0 in m.recipe.shape:
        raise _none(
            m,
            "Morello's dimensions have at least one element, and here a size is 0",
            "use sizes of 1 and more",
        )


def _require_no_gap(m: IndexMap) -> None:
    """Raise where padding lies between elements."""
    from morello_layouts import proof

    onto = proof.is_surjective(m)
    if onto.holds is False and onto.counterexample < m.size - onto.padding:
        raise _none(
            m,
            f"{onto.padding} of {m.size} slots are padding, the first of them slot "
            f"{onto.counterexample}, between elements",
            "choose sizes that the tiles divide",
        )


def _none(m: IndexMap, why: str, fix: str) -> NoTranslationError:
    return NoTranslationError(f"{m.source} is no layout of Morello's: none exists", why, fix)


def morello_of_digits(digits: Digits, m: IndexMap) -> MorelloLayout | str:
    """The Morello layout with these canonical digits; where there is none, the reason.

    From the innermost on, each physical dimension takes the lowest digit that is left of its
    dimension. Only an OddEven differs: its two digits, of size 2 and above it the rest, change
    places. Neither is ever joined with a neighbour, so no other list has these digits.

    >>> m = index_map("f32[16]{0:T(2)(8,1)}")
    >>> print(morello_of_digits(canonical_digits(m.recipe), m))
    [0 oe(16)]
    """
    taken = [1] * len(m.recipe.shape)
    dims: list[tuple[int, PhysDim]] = []
    left = list(digits)
    while left:
        digit = left.pop()
        phys = _phys(digit, left[-1] if left else None, taken[digit.dim], m)
        if phys is None:
            lower = next(d for d in left if (d.dim, d.unit) == (digit.dim, taken[digit.dim]))
            return (
                f"{digit} lies inside {lower}, a lower part of the same dimension, and in Morello "
                "the lower parts lie inside the higher ones, but for the two of an OddEven"
            )
        if isinstance(phys, OddEven):
            left.pop()
        dims.append((digit.dim, phys))
        taken[digit.dim] *= _known(digit.radix) * (2 if isinstance(phys, OddEven) else 1)
    return MorelloLayout(reversed(dims))


def _phys(digit: Digit, outer: Digit | None, taken: int, m: IndexMap) -> PhysDim | None:
    """The physical dimension of a digit, perhaps together with the one outside it."""
    if digit.unit == taken:
        whole = digit.unit * digit.radix == m.recipe.shape[digit.dim]
        return Dynamic() if whole else Packed(_known(digit.radix))
    is_parity = outer is not None and (outer.dim, outer.unit, outer.radix) == (digit.dim, taken, 2)
    if is_parity and digit.unit == 2 * taken:
        return OddEven(2 * digit.radix) if isinstance(digit.radix, int) else None
    return None


def _known(size: int | SizeExpr) -> int:
    """The size where it is a number; that of a highest digit, which nothing comes after, is 1."""
    return size if isinstance(size, int) else 1


def morello_of_symbolic(m: IndexMap) -> MorelloLayout:
    """A Morello layout for all sizes: that of the steps, or of some small sizes.

    Raises:
        NoTranslationError: where none exists at some sizes.
        TranslationNotFoundError: where none was proved for all sizes.

    >>> print(morello_of_symbolic(index_map("f32[M,N]{0,1}")))
    [1, 0]
    """
    _require_elements(m)
    digits = canonical_digits(m.recipe)
    read = None if digits is None else morello_of_digits(digits, m)
    if isinstance(read, MorelloLayout) and equality(m, read).holds:
        return read
    found: dict[MorelloLayout, None] = {}
    for sizes in _witnesses(m):
        try:
            found[morello_of_known(m.at(**sizes))] = None
        except NoTranslationError as error:
            raise NoTranslationError(error.what, error.why, _remedy(m)) from None
        except TranslationNotFoundError:
            continue
    for layout in reversed(found):  # those of larger sizes say more
        try:
            if equality(m, layout).holds:
                return layout
        except ShapeError:
            continue
    raise TranslationNotFoundError(
        f"no Morello layout was found for {m.source} at all sizes",
        read
        if isinstance(read, str)
        else "at each of the small sizes that were tried there is one",
        _remedy(m),
    )


def _witnesses(m: IndexMap) -> Iterator[dict[str, int]]:
    """Some sizes that are as assumed, the smallest first: small ones, and just above each tile."""
    known = {one.name: one for one in m.assumptions}
    tiles = {t for step in m.recipe.steps if isinstance(step, Split) for t in step.tiles if t}
    names = m.recipe.names
    each = [_sizes(known.get(name, Assumption(name)), tiles) for name in names]
    grid = sorted(product(*each), key=sum)
    for sizes in (*grid[: _MOST_WITNESSES - 1], grid[-1]):
        yield dict(zip(names, sizes, strict=True))


def _sizes(one: Assumption, tiles: Iterable[int]) -> list[int]:
    """The first two sizes that are as assumed, and the first above each of the largest tiles."""
    above = (one.lo, one.lo + one.divisor, *(t + 1 for t in sorted(tiles)[-_MOST_TILES:]))
    multiples = {-(-n // one.divisor) * one.divisor for n in above}
    return sorted(n for n in multiples if one.holds_for(n))


def _remedy(m: IndexMap) -> str:
    """What to assume of symbolic sizes so that nothing is padded, where that is known."""
    from morello_layouts import proof

    onto = proof.is_surjective(m)
    if onto.holds or onto.when is None or not onto.when.startswith("exactly when"):
        return "give numbers for the sizes"
    return f"assume what leaves no padding: {onto.when.removeprefix('exactly when ')}"
