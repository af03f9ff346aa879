"""Certificates of what was proved, which anyone can check without this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from morello_layouts.api.arguments import Assuming, Shape
from morello_layouts.api.layouts import LayoutLike, formula_or_map, index_maps
from morello_layouts.checks import shown
from morello_layouts.errors import LayoutError
from morello_layouts.kernels.relayout import Relayout
from morello_layouts.lazy import importing
from morello_layouts.maps import AffineMap

if TYPE_CHECKING:
    from morello_layouts.proof.certificate_digits import Certificate

Claim: TypeAlias = Literal[
    "injective", "surjective", "bijective", "padded", "verified", "equivalent", "bitcast"
]
"""What a certificate states; the last two are about two layouts."""

_OF_TWO = ("equivalent", "bitcast")


def certificate(
    layout: LayoutLike | AffineMap | Relayout,
    other: LayoutLike | AffineMap | None = None,
    shape: Shape | None = None,
    *,
    claim: Claim | None = None,
    transpose: tuple[int, ...] | Literal["any"] | None = None,
    assuming: Assuming | None = None,
) -> Certificate:
    """Return a certificate: a statement about formulas with its proof, as JSON.

    ``morello_layouts/check.py`` checks it. That file needs nothing but Python, so a reader who
    trusts neither this package nor ISL can read it, or write another from the page about
    certificates, which is its specification.

    Args:
        layout: a layout, or a map from a formula; or a relayout, whose formula is stated to give
            the source's offset.
        other: the layout or formula that it is compared with.
        shape: the sizes, if no text carries them. They may be names.
        claim: ``"bijective"``, as by default for one layout, ``"injective"``, ``"surjective"``;
            ``"padded"``: injective, with the exact number of slots that are padding;
            ``"verified"``: formula, reference, recipe and inverse agree; without an inverse
            formula, that the other three are ``"equivalent"``. For two layouts
            ``"equivalent"``, the default, or ``"bitcast"``.
        transpose: for a bitcast, the order of the first layout's dimensions in the second; by
            default their own. ``"any"``: the one that ``is_bitcast`` finds for ``"any"``; if that
            splits tiles or one array is larger, the views that it compares are ``"equivalent"``.
        assuming: facts about symbolic sizes, as for ``index_map``.

    Raises:
        UnsupportedError: if no certificate is found: the claim is false, or digits do not prove it.
        LayoutError: if the claim is not about as many layouts as are given.

    >>> import morello_layouts as ml
    >>> from morello_layouts.check import check
    >>> found = ml.certificate("f32[M,N]{1,0:T(8,128)}", claim="padded")
    >>> found["padding"]
    '(-1)*M*N + 1024*(-((-M)//8))*(-((-N)//128))'
    >>> check(found)
    'padded'
    """
    with importing:
        from morello_layouts.proof import certificate as proofs

    if isinstance(layout, Relayout):
        return proofs.certificate_of_relayout(layout.source, layout.target, layout.expr)
    claim = claim or ("bijective" if other is None else "equivalent")
    if claim not in get_args(Claim) or (claim in _OF_TWO) != (other is not None):
        raise LayoutError(
            f"claim: expected one about {'one layout' if other is None else 'two layouts'}, "
            f"got {shown(claim)}",
            "equivalent and bitcast are about two layouts, the other claims about one",
            f"give one of {', '.join(get_args(Claim))}",
        )
    if other is None:
        return proofs.certificate_of_map(formula_or_map(layout, shape, assuming), claim)
    if isinstance(other, AffineMap):
        first = formula_or_map(layout, shape, assuming)
        return proofs.certificate_of_equality(first, other.assume(first.assumptions))
    one, two = index_maps(layout, other, shape, assuming)
    if claim == "bitcast":
        return proofs.certificate_of_bitcast(one, two, transpose or "row-major")
    return proofs.certificate_of_equality(one, two)
