"""Check a certificate of morello_layouts: ``python check.py FILE``. It needs nothing but Python.

A polynomial maps monomials of sizes, rounded quotients of sizes, and variables to integers. It is
at least 0 if no coefficient is negative once each of these is its least value plus, or its largest
minus, something, or a quotient ``ceil(P/n)`` gave way to ``P/n`` or ``(P+n-1)/n``. ``a // s = q``
and ``a % s = r`` if ``a = q*s + r`` and r lies in 0..s-1. A bit, in 0..1, is its own square;
``a ^ b`` is ``a + b - 2*a*b``. A variable is defined by ``v = by*high + low`` or ``name = form``.
"""

import ast
import itertools
import json
import re
import sys
from collections import Counter
from functools import cache, partial, reduce

ONE, LEFT, BITS = {(): 1}, [0], set()  # 1, the work that may still be done, variables below 2


class Refused(Exception):
    """The certificate proves nothing."""


def require(holds, *why, work=0):
    LEFT[0] -= work
    if not holds or LEFT[0] < 0:
        raise Refused(*why)


def plus(p, q, times=1):
    total = p | {m: p.get(m, 0) + times * c for m, c in q.items()}
    require(all(abs(c) >> 999 == 0 and len(m) < 99 for m, c in total.items()), work=1 + len(total))
    return {m: c for m, c in total.items() if c}


def product(p, q):
    require(True, "too much work", work=len(p) * len(q))
    total = Counter()
    for (m, c), (n, d) in itertools.product(p.items(), q.items()):
        total[tuple(sorted([*m, *(v for v in n if v not in BITS or v not in m)]))] += c * d
    return plus(total, {})


def put(p, atom, q):
    inside = {(*m[: (k := m.index(atom))], *m[k + 1 :]): c for m, c in p.items() if atom in m}
    rest = {m: c for m, c in p.items() if atom not in m}
    return plus(rest, product(put(inside, atom, q), q)) if inside else plus(p, {})


def divided(p, s):
    q, r, lead = {}, {}, max(s, key=lambda m: (len(m), m))
    while p:
        top = max(p, key=lambda m: (len(m), m))
        c, rest = p[top], Counter(top) - Counter(lead)
        k = c // s[lead] if c > 0 or not top else -(-c // s[lead])
        term = {tuple(sorted(rest.elements())): k if rest.total() == len(top) - len(lead) else 0}
        q, p = plus(q, term), plus(p, product(term, s), -1)
        r[top] = p.pop(top, 0)
    return q, plus(r, {})  # p = q*s + r


class World:
    def __init__(self, sizes):
        self.low, self.high, self.names, self.rounded, self.definitions = {}, {}, {}, {}, []
        found = cache(lambda items: self.has_no_negative(dict(items), [*reversed(self.low)]))
        self.is_nonnegative = lambda p: found(frozenset(p.items()))
        self.pivots = cache(lambda items: self.pivots_of(dict(items)))
        for name, (step, least, most) in sizes.items():
            low, high = max(1, -(-least // step)), None if most is None else most // step
            known = {type(n) for n in (step, least, low if most is None else most)} == {int}
            require(known and name.isidentifier() and step > 0 and (high is None or low <= high))
            self.low[name], self.high[name] = low, None if high is None else {(): high}
            self.names[name] = {(): step * low} if low == high else {(name,): step}
        self.sizes = dict(self.names)

    def declare(self, name, below):
        require(name.isidentifier() and name not in self.names, "a name", name)
        require(self.is_nonnegative(plus(below, ONE, -1)), "nothing lies below", below)
        self.low[name], self.high[name], self.names[name] = 0, plus(below, ONE, -1), {(name,): 1}
        BITS.update([name] if below == {(): 2} else [])
        return self.names[name]

    def define(self, entry, limits=()):
        below = self.value(entry["below"])
        if "split" in entry:
            v, by = entry["split"], self.value(entry["by"])
            require(self.is_nonnegative(plus(product(by, below), plus(self.high[v], ONE), -1)), v)
            low, high = self.declare(entry["low"], by), self.declare(entry["high"], below)
            form = plus(low, product(by, high))
        else:
            v, form = entry["name"], self.value(entry["is"], **self.names)
            gaps = form, plus(plus(below, ONE, -1), form, -1)
            at = entry.get("limit", [entry["is"], entry["below"]]), entry.get("also")
            known = [self.value("{1}-1-({0})".format(*x), **self.names) for x in limits if x in at]
            ways = [(k, c) for k in known for c in {1, *map(abs, k.values())}]  # c*x + c > k
            less = ([x, *(plus(plus({(): c - 1}, x, c), k, -1) for k, c in ways)] for x in gaps)
            limited = bool(known) and all(any(map(self.is_nonnegative, forms)) for forms in less)
            require(limited or self.lies_below(form, below), entry, work=len(self.names))
            self.declare(v, below)
        self.definitions.append((v, form, "split" if "split" in entry else limited))

    def has_no_negative(self, p, atoms):
        for k, atom in enumerate(atoms):  # bounds hold earlier atoms only
            found = {m: c for m, c in p.items() if atom in m}
            signs = {c > 0 for c in found.values()}
            if atom in BITS and len(signs) == 2 and len(p) < 9:
                return all(self.has_no_negative(put(p, atom, x), atoms[k:]) for x in ({}, ONE))
            if signs and atom in self.rounded:
                inner, n = self.rounded[atom]
                bounds = (plus(inner, {(): n - 1 if c < 0 else 0}) for c in found.values())
                rests = (divided({m: c}, {(atom,): 1})[0] for m, c in found.items())
                less = product(plus(p, found, -1), {(): n})
                if self.has_no_negative(reduce(plus, map(product, rests, bounds), less), atoms[k:]):
                    return True
            falls = signs == {False} and self.high[atom] is not None
            end = self.high[atom] if falls else {(): self.low[atom]}
            p = put(p, atom, plus(end, {(atom,): 1}, -1 if falls else 1)) if signs else plus(p, {})
        return all(c > 0 for c in p.values())

    def ways(self, p):
        """Yield a form, in the first variables, with all names, and twice in digits."""
        yield p
        first = named = p
        for v, form, kind in reversed(self.definitions):
            first = self.renamed(first, v, form) if kind == "split" else put(first, v, form)
            named = self.renamed(named, v, form)
        yield from (first, named)
        for hidden in (None, True):  # names for limits are in the way of digits
            way = first
            for v, form, kind in (x for x in self.definitions if x[-1] != hidden):
                way = put(way, v, form) if kind == "split" else self.renamed(way, v, form)
            yield {m: c for m, c in way.items() if not any(self.high[v] == {} for v in m)}

    def renamed(self, p, v, form):
        parts, pivots = self.pivots(frozenset(form.items()))
        for pivot, (k, rest) in pivots.items():
            changed = put(p, pivot, product(k, plus({(v,): 1}, rest, -1)))
            if (k != ONE and len(changed) < len(p)) or not parts & set().union(*changed):
                return changed
        return p

    def pivots_of(self, form):  # with their factors: 1, or for an exclusive or 1 - 2*bit
        parts = set().union(*form) - self.sizes.keys() - self.rounded.keys()
        found = {v: divided(form, {(v,): 1}) for v in sorted(parts) if form.get((v,)) == 1}
        return parts, {v: (k, rest) for v, (k, rest) in found.items() if product(k, k) == ONE}

    def same(self, one, other):
        require({} in self.ways(plus(one, other, -1)), "not equal", one, other)

    def lies_below(self, p, n):
        both = ((way, plus(plus(n, ONE, -1), way, -1)) for way in self.ways(p))
        return any(all(map(self.is_nonnegative, pair)) for pair in both)

    def divide(self, p, s):
        require(self.is_nonnegative(plus(s, ONE, -1)), "a divisor", s)
        for way in self.ways(p):
            q, r = divided(way, s)
            if self.lies_below(r, s):
                return q, r
        is_size = {atom for m in r for atom in m} <= self.sizes.keys() | self.rounded.keys()
        require(is_size and s.keys() == {()}, self, way, s)
        up, n = plus({}, r, -1), s[()]  # a size: r // n is -ceil(up / n)
        require(self.is_nonnegative(plus(up, {(): n - 1})), "a rounded size below 0", up)
        atom = f"ceil({sorted(up.items())}/{n})"
        self.low[atom] = int(self.is_nonnegative(plus(up, ONE, -1)))
        self.rounded[atom], self.high[atom] = (up, n), None
        return plus(q, {(atom,): 1}, -1), plus(r, {(atom,): n})

    def xor(self, x, y):
        if not x or not y:
            return plus(x, y)
        s = max(2, *(min(c & -c for c in z.values()) for z in (x, y)))
        (x, a), (y, b) = self.divide(x, {(): s}), self.divide(y, {(): s})
        return plus(plus(plus(a, b), product(a, b), -2), self.xor(x, y), s)  # bits, or a or b is 0

    def value(self, text, at=(), /, **variables):
        def read(node):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                return plus({}, {(): node.value})
            if isinstance(node, ast.Name):
                return (variables if node.id in variables else self.sizes)[node.id]
            x = read(node.left) if isinstance(node, ast.BinOp) else {}
            y, op = read(getattr(node, "operand", None) or node.right), type(node.op)
            less, add = partial(plus, times=-1), {ast.Add: plus, ast.Mult: product}
            found = (add | {ast.Sub: less, ast.USub: less, ast.BitXor: self.xor}).get(op)
            return found(x, y) if found else self.divide(x, y)[(ast.FloorDiv, ast.Mod).index(op)]

        variables |= {f"d{k}": x for k, x in enumerate(at)}
        require(re.fullmatch(r"[\w +*/%()^-]*", str(text), re.ASCII), text, work=len(str(text)))
        return read(ast.parse(str(text), mode="eval").body)


CLAIMS = {"injective": {"inverse"}, "surjective": {"inside", "onto"}}
CLAIMS |= {"bijective": {"inverse", "inside", "onto"}, "padded": {"inverse", "inside", "padding"}}
CLAIMS |= {"equivalent": {"equal"}, "verified": {"equal", "inverse", "inside", "slots"}}
CLAIMS |= {"bitcast": {"view", "equal"}, "relayout": {"source", "equal"}}


def check(given, make=World):
    """Return the claim that a certificate proves; any exception refuses it."""
    LEFT[0], _ = 500_000, BITS.clear()
    world, parts = make(given["sizes"]), CLAIMS[given["claim"]]
    shape, size = [world.value(n) for n in given["shape"]], world.value(given["size"])
    end = world.value(given["end"]) if "slots" in parts else size  # from there on all is padding
    others = [world.value(n) for n in given["other_shape"]] if "view" in parts else shape
    require(all(map(world.is_nonnegative, (plus(size, end, -1), *shape, *others))), "a size")
    elements = reduce(product, shape, ONE)
    world.same(reduce(product, others, ONE), elements)
    world.same(plus(world.value(given["padding"]), elements) if "padding" in parts else size, size)
    if elements == {} and (end == {} or not parts & {"onto", "slots"}):
        return given["claim"]  # of an array without elements
    d, p = [world.declare(f"d{k}", n) for k, n in enumerate(shape)], world.declare("p", end)
    list(map(world.define, given["digits"]))
    offset = world.value(given["offset"], d)
    for x, text in zip(d, given["inverse"], strict=True) if "inverse" in parts else []:
        world.same(world.value(text, p=offset), x)  # the inverse of the offset of d is d
    e = [world.value(text, d) for text in given["view"]] if "view" in parts else d
    for text in (given["others"] or [""]) if "equal" in parts else []:  # at least one
        found = world.value(text, e)
        world.same(world.value(given["source"], p=found) if "source" in parts else found, offset)
    if "view" in parts:  # e is the element of the other array at the same row-major position
        require(all(world.lies_below(x, n) for x, n in zip(e, others, strict=True)), "outside")
        orders = given["order"], given.get("other_order", [*range(len(e))])
        sides = [*zip(orders, ((d, shape), (e, others)))]
        require(all(str(sorted(o)) == str([*range(len(x))]) for o, (x, _) in sides), "an order")
        at = (zip(*([x[k] for k in order] for x in both)) for order, both in sides)
        world.same(*(reduce(lambda t, x: plus(x[0], product(x[1], t)), x, {}) for x in at))
    require("inside" not in parts or world.lies_below(offset, end), "outside")
    if parts & {"onto", "slots"}:  # slot p, below all limits, holds the element at its inverse
        limits = given["limits"] if "slots" in parts else []
        for text, n in limits:  # no other slot holds an element
            gap = plus(plus(world.value(n), ONE, -1), world.value(text, p=offset), -1)
            require(any(map(world.is_nonnegative, world.ways(gap))), "a limit")
        list(map(world.define, given["digits_of_slots"], itertools.repeat(limits)))
        back = [world.value(text, p=p) for text in given["inverse"]]
        require(all(world.lies_below(x, n) for x, n in zip(back, shape, strict=True)), "outside")
        world.same(world.value(given["offset"], back), p)
    return given["claim"]


def once(pairs):  # an object with a key twice says nothing
    return dict(pairs) if len(dict(pairs)) == len(pairs) else {}


if __name__ == "__main__":
    try:
        print("proved:", check(json.load(open(sys.argv[1]), object_pairs_hook=once)))  # noqa: SIM115
    except Exception as error:
        sys.exit(f"refused: {error!r}")
