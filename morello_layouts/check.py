"""Check a certificate of morello_layouts: ``python check.py FILE``. It needs nothing but Python.

1. A polynomial is a dictionary from monomials to integers. Its atoms are sizes, rounded quotients
   ``ceil(P/n)`` of sizes, and variables; each has a lower bound, and maybe an upper one.
2. It is at least 0 if no coefficient is negative once each atom is written from a bound: low plus,
   or high minus, something. A quotient may first give way to ``P/n`` or ``(P+n-1)/n``.
3. ``a // s = q`` and ``a % s = r`` if ``a = q*s + r`` and r lies in 0..s-1, by 2.
4. Variables are defined by ``v = by*high + low`` or ``name = form``. Formulas are equal if their
   difference is 0 in one of the ways to write it.
"""

import ast
import functools
import itertools
import json
import re
import sys
from collections import Counter
from pathlib import Path

ONE = {(): 1}
LEFT = [0]  # the work that may still be done


class Refused(Exception):
    """The certificate proves nothing."""


def require(holds, *why, work=0):
    LEFT[0] -= work
    if not holds or LEFT[0] < 0:
        raise Refused(*why)


def plus(p, q, times=1):
    total = {m: p.get(m, 0) + times * q.get(m, 0) for m in p | q}
    fits = all(abs(c) >> 999 == 0 and len(m) < 99 for m, c in total.items())
    require(fits, "too large", work=1 + len(total))
    return {m: c for m, c in total.items() if c}


def product(p, q):
    require(True, "too much work", work=len(p) * len(q))
    total = Counter()
    for (m, c), (n, d) in itertools.product(p.items(), q.items()):
        total[tuple(sorted(m + n))] += c * d
    return plus(total, {})


def put(p, atom, q):
    inside, rest = divided(p, {(atom,): 1}) if any(atom in m for m in p) else ({}, p)
    return plus(rest, product(put(inside, atom, q), q)) if inside else plus(p, {})


def divided(p, s):
    q, r, lead = {}, {}, max(s, key=lambda m: (len(m), m))
    while p:
        top = max(p, key=lambda m: (len(m), m))
        rest, c = Counter(top), p[top]
        rest.subtract(lead)
        k = c // s[lead] if c > 0 or not top else -(-c // s[lead])
        fits = k and min(rest.values(), default=0) >= 0
        term = {tuple(sorted(rest.elements())): k} if fits else {}
        q, p = plus(q, term), plus(p, product(term, s), -1)
        r[top] = p.pop(top, 0)
    return q, plus(r, {})  # p = q*s + r


class World:
    def __init__(self, sizes):
        self.low, self.high, self.names, self.rounded, self.definitions = {}, {}, {}, {}, []
        found = functools.cache(self.find_nonnegative)
        self.is_nonnegative = lambda p: found(frozenset(p.items()))
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

    def define(self, entry, limits=()):
        below = self.value(entry["below"])
        if "split" in entry:
            v, by = entry["split"], self.value(entry["by"])
            enough = plus(plus(product(by, below), ONE, -1), self.high[v], -1)
            require(all(map(self.is_nonnegative, (plus(by, ONE, -1), enough))), entry)
            self.declare(entry["low"], by)
            self.declare(entry["high"], below)
            form = plus(self.names[entry["low"]], product(self.names[entry["high"]], by))
        else:
            v, form = entry["name"], self.value(entry["is"], self.names)
            limited = [entry["is"], entry["below"]] in limits and self.is_nonnegative(form)
            require(limited or self.lies_below(form, below), entry)
            self.declare(v, below)
        self.definitions.append((v, form, "split" if "split" in entry else limited))

    def find_nonnegative(self, items):
        tried = [dict(items)]
        for one in tried:
            if self.has_no_negative(one):
                return True
            for monomial, c in one.items():
                for atom in sorted(self.rounded.keys() & set(monomial)):
                    inner, n = self.rounded[atom]
                    bound = plus(inner, {(): n - 1 if c < 0 else 0})
                    bounded = product(divided({monomial: c}, {(atom,): 1})[0], bound)
                    less = plus(bounded, plus(one, {monomial: c}, -1), n)
                    tried += [less] if less not in tried and len(tried) < 40 else []
        return False

    def has_no_negative(self, p):
        for atom in reversed(self.low):  # bounds hold earlier atoms only
            signs = {c > 0 for m, c in p.items() if atom in m}
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
            for v, form, kind in self.definitions:
                if kind != hidden:
                    way = put(way, v, form) if kind == "split" else self.renamed(way, v, form)
            yield {m: c for m, c in way.items() if not any(self.high[v] == {} for v in m)}

    def renamed(self, p, v, form):
        parts = {atom for m in form for atom in m} - self.sizes.keys() - self.rounded.keys()
        pivot = next(atom for atom in sorted(parts) if form.get((atom,)) == 1)
        k, _ = divided(p, {(pivot,): 1})
        changed = plus(p, product(k, plus(form, {(v,): 1}, -1)), -1)
        return p if any(parts & set(m) for m in changed) else changed

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

    def value(self, text, variables={}):
        def read(node):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                return plus({}, {(): node.value})
            if isinstance(node, ast.Name):
                return (variables if node.id in variables else self.sizes)[node.id]
            x = read(node.left) if isinstance(node, ast.BinOp) else {}
            y, op = read(getattr(node, "operand", None) or node.right), type(node.op)
            if op in {ast.Add, ast.Sub, ast.USub}:
                return plus(x, y, 1 if op is ast.Add else -1)
            if op is ast.Mult:
                return product(x, y)
            return self.divide(x, y)[(ast.FloorDiv, ast.Mod).index(op)]

        require(re.fullmatch(r"[\w +*/%()-]*", str(text), re.ASCII), text, work=len(str(text)))
        return read(ast.parse(str(text), mode="eval").body)


CLAIMS = {"injective": {"inverse"}, "surjective": {"inside", "onto"}}
CLAIMS |= {"bijective": {"inverse", "inside", "onto"}, "padded": {"inverse", "inside", "padding"}}
CLAIMS |= {"equivalent": {"equal"}, "verified": {"equal", "inverse", "inside", "slots"}}
CLAIMS |= {"bitcast": {"view", "equal"}, "relayout": {"source"}}


def check(given):
    """Return the claim that a certificate proves; any exception refuses it."""
    LEFT[0] = 500_000
    world, parts = World(given["sizes"]), CLAIMS[given["claim"]]
    shape, size = [world.value(n) for n in given["shape"]], world.value(given["size"])
    end = world.value(given["end"]) if "slots" in parts else size  # from there on all is padding
    others = [world.value(n) for n in given["other_shape"]] if "view" in parts else shape
    require(all(map(world.is_nonnegative, (plus(size, end, -1), *shape, *others))), "a size")

    def slot(at, text=given["offset"]):
        return world.value(text, {f"d{k}": x for k, x in enumerate(at)})

    def same(one, other):
        require({} in world.ways(plus(one, other, -1)), "not equal", one, other)

    elements = functools.reduce(product, shape, ONE)
    same(functools.reduce(product, others, ONE), elements)
    same(plus(world.value(given["padding"]), elements) if "padding" in parts else size, size)
    if elements == {} and (end == {} or not parts & {"onto", "slots"}):
        return given["claim"]  # of an array without elements
    for k, n in enumerate([*shape, end]):
        world.declare(f"d{k}" if k < len(shape) else "p", n)
    for entry in given["digits"]:
        world.define(entry)
    d, p = [world.names[f"d{k}"] for k in range(len(shape))], world.names["p"]
    offset = slot(d)
    require("inside" not in parts or world.lies_below(offset, end), "an offset outside")
    if "inverse" in parts:  # the inverse of the offset of d is d
        for x, text in zip(d, given["inverse"], strict=True):
            same(world.value(text, {"p": offset}), x)
    e = [slot(d, text) for text in given["view"]] if "view" in parts else d
    for text in (given["others"] or [""]) if "equal" in parts else []:  # at least one
        same(slot(e, text), offset)
    if "view" in parts:  # e is the element of the other array at the same row-major position
        inside = all(world.lies_below(x, n) for x, n in zip(e, others, strict=True))
        require(inside and str(sorted(given["order"])) == str([*range(len(d))]), "outside")
        both = zip(e, others), zip(*([at[k] for k in given["order"]] for at in (d, shape)))
        same(*(functools.reduce(lambda t, x: plus(x[0], product(t, x[1])), x, {}) for x in both))
    if "source" in parts:  # the slot of d in the other buffer is filled from the slot of d
        same(world.value(given["source"], {"p": slot(d, given["others"][0])}), offset)
    if parts & {"onto", "slots"}:  # slot p, below all limits, holds the element at its inverse
        limits = given["limits"] if "slots" in parts else []
        for text, n in limits:  # no other slot holds an element
            require(world.lies_below(world.value(text, {"p": offset}), world.value(n)), "a limit")
        for entry in given["digits_of_slots"]:
            world.define(entry, limits)
        back = [world.value(text, {"p": p}) for text in given["inverse"]]
        require(all(world.lies_below(x, n) for x, n in zip(back, shape, strict=True)), "outside")
        same(slot(back), p)
    return given["claim"]


def once(pairs):  # an object with a key twice says nothing
    return dict(pairs) if len(dict(pairs)) == len(pairs) else {}


if __name__ == "__main__":
    try:
        print("proved:", check(json.loads(Path(sys.argv[1]).read_bytes(), object_pairs_hook=once)))
    except Exception as error:
        sys.exit(f"refused: {error!r}")
