"""Matrices over F2, the field of two elements, as plain integers.

A matrix is the sequence of its columns: bit i of column j is the entry in row i. It takes a vector,
an integer too, to the sum (exclusive or) of the columns that the vector's bits choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def bits_of(vector: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, the lowest first.

    >>> list(bits_of(0b1010))
    [1, 3]
    """
    while vector:
        lowest = vector & -vector
        yield lowest.bit_length() - 1
        vector ^= lowest


def apply(columns: Sequence[int], vector: int) -> int:
    """Return the matrix times a vector.

    >>> apply((0b01, 0b11), 0b11)
    2
    """
    total = 0
    for bit in bits_of(vector):
        total ^= columns[bit]
    return total


def compose(outer: Sequence[int], inner: Sequence[int]) -> tuple[int, ...]:
    """Return the product of two matrices: the inner one acts first.

    >>> compose((0b10, 0b01), (0b01, 0b11))
    (2, 3)
    """
    return tuple(apply(outer, column) for column in inner)


def transposed(columns: Sequence[int], rows: int) -> tuple[int, ...]:
    """Return the rows of a matrix of so many rows: the columns of its transpose.

    >>> transposed((0b01, 0b11), 2)
    (3, 2)
    """
    return tuple(
        sum((column >> row & 1) << k for k, column in enumerate(columns)) for row in range(rows)
    )


class Span:
    """The vectors that are sums of given ones.

    >>> plane = Span([0b011, 0b110, 0b101])    # the third is the sum of the others
    >>> plane.rank, 0b101 in plane, 0b001 in plane, plane.relations
    (2, True, False, (7,))
    """

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self._basis: list[tuple[int, int]] = []
        self._count = 0
        self.relations: tuple[int, ...] = ()
        """Sums of given vectors that are zero: bit k of a relation stands for vector k."""
        for vector in vectors:
            self.add(vector)

    @property
    def rank(self) -> int:
        """The number of independent vectors."""
        return len(self._basis)

    @property
    def basis(self) -> tuple[int, ...]:
        """Independent vectors of the same span, the highest first."""
        return tuple(member for member, _ in self._basis)

    def add(self, vector: int) -> bool:
        """Add a vector; return whether the span grows."""
        rest, used = self.reduced(vector)
        used ^= 1 << self._count
        self._count += 1
        if rest:
            self._basis.append((rest, used))
            self._basis.sort(reverse=True)
        else:
            self.relations += (used,)
        return bool(rest)

    def reduced(self, vector: int) -> tuple[int, int]:
        """Return the least vector that differs by one of the span, and the sum that differs.

        The sum is a number whose bit k stands for the k-th vector given. The least vector is the
        same for all that differ by a vector of the span: it names their class in the quotient.
        """
        used = 0
        for member, sources in self._basis:
            if vector ^ member < vector:
                vector ^= member
                used ^= sources
        return vector, used

    def __contains__(self, vector: int) -> bool:
        return self.reduced(vector)[0] == 0


def rank(vectors: Iterable[int]) -> int:
    """Return how many of the vectors are independent.

    >>> rank((0b011, 0b110, 0b101))
    2
    """
    return Span(vectors).rank


def kernel(columns: Iterable[int]) -> tuple[int, ...]:
    """Return independent vectors that the matrix takes to zero, and that sum to all such vectors.

    >>> kernel((0b01, 0b01, 0b10))
    (3,)
    """
    return Span(columns).relations


def inverse(columns: Sequence[int]) -> tuple[int, ...] | None:
    """Return the inverse of a square matrix; None if it has none.

    >>> inverse((0b01, 0b11))
    (1, 3)
    """
    span = Span(columns)
    if span.rank < len(columns) or max(columns, default=0) >> len(columns):
        return None
    return tuple(span.reduced(1 << k)[1] for k in range(len(columns)))


def plu(columns: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Return ``(order, lower, upper)`` of an invertible matrix; None if it has no inverse.

    The matrix is ``upper``, then ``lower``, then a reordering that puts bit k at ``order[k]``.
    Both triangles have ones on the diagonal, so each entry beside it is one exclusive or of bits:
    ``upper`` adds higher bits to lower ones, and ``lower`` lower bits to higher ones.

    >>> plu((0b10, 0b01))    # the matrix swaps two bits
    ((1, 0), (1, 2), (1, 2))
    """
    size = len(columns)
    if max(columns, default=0) >> size:
        return None
    rows = list(transposed(columns, size))
    order = list(range(size))
    below = [0] * size
    for k in range(size):
        pivots = [i for i in range(k, size) if rows[i] >> k & 1]
        if not pivots:
            return None
        pivot = min(pivots, key=lambda i: rows[i].bit_count())  # a lighter row gives fewer sums
        for values in (rows, order, below):
            values[k], values[pivot] = values[pivot], values[k]
        for i in range(k + 1, size):
            if rows[i] >> k & 1:
                rows[i] ^= rows[k]
                below[i] |= 1 << k
    lower = transposed([row | 1 << i for i, row in enumerate(below)], size)
    return tuple(order), lower, transposed(rows, size)
