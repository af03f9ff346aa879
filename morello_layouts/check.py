"""Check a certificate of morello_layouts: ``python check.py FILE``. It needs nothing but Python.

A certificate states formulas of integers, and names digits. This file computes with polynomials
whose atoms, which have numbers, are sizes (N, or N/4 for a multiple of 4), rounded quotients of
sizes (ceil(P/n)), and variables (coordinates, the slot p, digits). All atoms are at least 0. A
polynomial is a dictionary from monomials, which are sorted tuples of atoms, to integers other than
0. The page docs/explanation/certificate_language.md says language and rules. Checks share nothing.
"""

import json
import re
import sys
from collections import Counter
from itertools import product
from math import gcd, prod

FORMAT = "morello-layouts certificate 2"
WORK, FILE, PAIRS, ATOMS, NESTED, ROUNDS = 1_000_000, 100_000, 10_000, 120, 50, 64
NUMBER, DEGREE, DIGITS = 10**150, 40, 150  # numbers are below, monomials and literals not longer
ONE = {(): 1}

APART = "\nNo two elements have the same offset: the one at offset p is ({inverse})."
FULL = "\nEach p in 0..({size})-1, and nothing else, is the offset of an element: ({inverse})."
INSIDE = "\nAll offsets are in 0..({size})-1"
PLACES = """
An array of the shape [{other_shape}] has as many elements. Its element ({view}) is at the place of
d, if its dimensions {other_order}, and {order} of this array, count from major to minor."""
EQUAL = "\nThe offset is equal to each of: {others}."
SHARED, SLOTS = {"format", "claim", "sizes", "shape", "offset", "digits"}, {"digits_of_slots"}
CLAIMS = {  # the keys of a certificate, and the words for what it states
    "injective": ({"inverse"}, APART),
    "surjective": ({"size", "inverse"} | SLOTS, FULL),
    "bijective": ({"size", "inverse"} | SLOTS, APART + FULL),
    "padded": (
        {"size", "inverse", "padding"},
        APART + INSIDE + "; ({padding}) numbers there are the offset of no element.",
    ),
    "equivalent": ({"others"}, EQUAL),
    "verified": (
        {"size", "end", "inverse", "others", "limits"} | SLOTS,
        APART + INSIDE + ".\np is the offset of an element exactly if 0 <= p and {limits}." + EQUAL,
    ),
    "bitcast": (
        {"view", "order", "other_shape", "other_order", "others"},
        PLACES + "\nThe offset of that element, {others} of its own d, is the same.",
    ),
    "relayout": ({"source", "others"}, "\nIf p is {others}, the offset is {source}."),
}
TEXTS = {"format", "claim", "size", "end", "offset", "padding", "source"}
OBJECTS = {"sizes", "limits", "digits"} | SLOTS  # and pairs; all other values are lists of texts
SIZE = {"name", "multiple_of", "least"}
SPLIT, NAMED, EACH = {"split", "by", "high", "low", "below"}, {"name", "is", "below"}, {"each"}
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]{0,99}")
TOKEN = re.compile(rf" *(?:([0-9]+)|({NAME.pattern})|(//|[-+*%^()]))")
OPERATORS = (("^",), ("+", "-"), ("*", "//", "%"))  # from loose to tight; all group to the left


class Refused(Exception):
    """The certificate proves nothing; the message says why."""


def require(holds, why):
    if not holds:
        raise Refused(why)


def order_of(m):
    return len(m), m


class Checker:
    """What is known of one certificate: atoms, names, definitions, and the work that is left."""

    def __init__(self):
        self.left, self.low, self.high, self.rounded = WORK, [], [], {}
        self.bits, self.known, self.quotients, self.signs = set(), set(), {}, {}
        self.sizes, self.variables, self.definitions = {}, {}, []

    def work(self, units):
        self.left -= units
        require(self.left >= 0, "it takes too much work")

    # Polynomials

    def plus(self, p, q, times=1):
        self.work(1 + len(p) + len(q))
        total = dict(p)
        for m, c in q.items():
            total[m] = total.get(m, 0) + times * c
        return self.within_limits(total)

    def minus(self, p, q):
        return self.plus(p, q, -1)

    def product(self, p, q):
        require(len(p) * len(q) <= PAIRS, "a product has too many terms")
        self.work(1 + len(p) * len(q))
        total = {}
        for m, c in p.items():
            for n, d in q.items():  # a bit is its own square
                both = tuple(sorted([*m, *(a for a in n if a not in self.bits or a not in m)]))
                total[both] = total.get(both, 0) + c * d
        return self.within_limits(total)

    def within_limits(self, p):
        require(all(-NUMBER < c < NUMBER for c in p.values()), "a number is too large")
        require(all(len(m) <= DEGREE for m in p), "a monomial is too long")
        return {m: c for m, c in p.items() if c}

    def parts(self, p, a):
        """Return k and rest with p = k*a + rest, where no monomial of rest holds the atom a."""
        self.work(1 + len(p))
        k = {(*m[: (at := m.index(a))], *m[at + 1 :]): c for m, c in p.items() if a in m}
        return k, {m: c for m, c in p.items() if a not in m}

    def put(self, p, a, q):
        """Return p with q in place of the atom a."""
        k, rest = self.parts(p, a)
        return self.plus(rest, self.product(self.put(k, a, q), q)) if k else p

    def divided(self, p, s):
        """Return q and r with p = q*s + r: take out what the leading monomial of s divides."""
        lead, q, r = max(s, key=order_of), {}, {}
        while p:
            self.work(len(p))
            top = max(p, key=order_of)
            c, over = p[top], Counter(top)
            over.subtract(lead)
            k = c // s[lead] if c > 0 or not top else -(-c // s[lead])
            if k and min(over.values(), default=0) >= 0:
                term = {tuple(sorted(over.elements())): k}
                q, p = self.plus(q, term), self.minus(p, self.product(term, s))
            if top in p:
                r[top] = p[top]
                p = {m: x for m, x in p.items() if m != top}
        return q, r

    # Signs

    def is_nonnegative(self, p):
        """Return whether the bounds of the atoms show that p is at least 0."""
        self.work(1 + len(p))
        key = frozenset(p.items())
        if key not in self.signs:
            self.signs[key] = self.has_no_negative(p, len(self.low) - 1)
        return self.signs[key]

    def has_no_negative(self, p, last):
        for a in range(last, -1, -1):  # the bounds of an atom hold earlier atoms only
            if all(c > 0 for c in p.values()):
                return True
            k, rest = self.parts(p, a)
            rises, falls = any(c > 0 for c in k.values()), any(c < 0 for c in k.values())
            if a in self.bits and rises and falls and len(p) <= 8:
                return all(self.has_no_negative(self.put(p, a, x), a - 1) for x in ({}, ONE))
            for g in sorted({1, gcd(*k.values())}) if k and a in self.rounded else ():
                inner, n = self.rounded[a]  # inner <= n*a <= inner + n - 1; n*(p/g) > -n suffices
                less = self.plus({(): n - 1}, {m: c // g for m, c in rest.items()}, n)
                for m, c in k.items():
                    bound = inner if c > 0 else self.plus(inner, {(): n - 1})
                    less = self.plus(less, self.product({m: c // g}, bound))
                if self.has_no_negative(less, a):
                    return True
            if falls and not rises and self.high[a] is not None:
                p = self.put(p, a, self.minus(self.high[a], {(a,): 1}))
            elif k and self.low[a]:
                p = self.put(p, a, {(a,): 1, (): self.low[a]})
        return all(c > 0 for c in p.values())

    def lies_below(self, p, n):
        """Return whether p is shown to be in 0..n-1."""
        last, sign = self.minus(n, ONE), self.is_nonnegative
        return any(sign(way) and sign(self.minus(last, way)) for way in self.ways(p))

    def same(self, p, q, why):
        require({} in self.ways(self.minus(p, q)), why)

    # Atoms and definitions

    def is_size(self, p):
        return all(a in self.known for m in p for a in m)

    def atom(self, low, high, group):
        """Return a new atom, and put its number in a group: known sizes, bits, or neither."""
        require(len(self.low) < ATOMS, "there are too many atoms")
        group.add(len(self.low))
        self.low.append(low)
        self.high.append(high)
        return {(len(self.low) - 1,): 1}

    def fresh(self, name):
        is_free = NAME.fullmatch(name) and not re.fullmatch(r"p|d[0-9]+", name)
        require(is_free and name not in {*self.sizes, *self.variables}, f"name {name!r}: not free")
        return name

    def add_size(self, given):
        name, step = self.fresh(given["name"]), number(given["multiple_of"])
        low = number(given["least"])
        high = number(given["most"]) // step if "most" in given and step else None
        require(step >= 1 and low >= 1, f"size {name}: a size and its step are at least 1")
        low = -(-low // step)
        require(high is None or low <= high, f"size {name}: there is no such number")
        last = None if high is None else {(): high}
        atom = {(): low} if low == high else self.atom(low, last, self.known)
        self.sizes[name] = self.product(atom, {(): step})

    def declare(self, name, below):
        """Declare a variable in 0..below-1; if that is 0 only, it is the number 0."""
        high = self.minus(below, ONE)
        require(self.is_nonnegative(high), f"{name}: perhaps it has no value")
        group = self.bits if high == ONE else set()
        self.variables[name] = self.atom(0, high, group) if high else {}
        return self.variables[name]

    def define(self, entry, limits=()):
        below = self.value(entry["below"])
        if "split" in entry:
            v, by = self.variables.get(entry["split"]), self.value(entry["by"])
            can = v and () not in v
            require(can, f"{entry['split']!r} is not a variable that can be split")
            ((a,),) = v
            room = self.minus(self.product(by, below), self.plus(self.high[a], ONE))
            require(self.is_nonnegative(room), f"split {entry['split']}: the digits are too short")
            low = self.declare(self.fresh(entry["low"]), by)
            high = self.declare(self.fresh(entry["high"]), below)
            self.definitions.append(("split", v, self.plus(low, self.product(by, high))))
        else:
            name, form = self.fresh(entry["name"]), self.value(entry["is"], self.variables)
            facts = [self.fact(limits, k) for k in entry.get("using", ())]
            gaps = form, self.minus(self.minus(below, ONE), form)
            holds = facts and all(self.follows(x, facts) for x in gaps)
            require(holds or self.lies_below(form, below), f"name {name}: perhaps not below")
            kind = "using" if "using" in entry else "name"
            self.definitions.append((kind, self.declare(name, below), form))

    def cases(self, entries, own, limits=()):
        """Define entries, then yield: once, or for each value of those of its own taken singly."""
        names = [one["each"] for one in entries if "each" in one]
        others = [one for one in entries if "each" not in one]
        known, variables, counts = len(self.definitions), self.variables, []
        for name in names:
            require(name in own, f"each {name}: not one of {', '.join(own)}")
            v = variables[name]
            high = self.high[next(iter(v))[0]] if v else v
            require(high.keys() <= {()}, f"each {name}: its values have no known number")
            counts.append(high.get((), 0) + 1)
            self.work(len(names) * prod(counts))
        for values in product(*map(range, counts)):
            taken = {name: {(): x} if x else {} for name, x in zip(names, values)}
            self.variables = {**variables, **taken}
            del self.definitions[known:]
            for one in others:
                self.define(one, limits)
            yield

    def fact(self, limits, k):
        """Return what is at least 0 because slot p holds an element."""
        require(k in map(str, range(len(limits))), f"using: there is no limit {k!r}")
        text, n = limits[int(k)]
        last = self.minus(self.value(n), ONE)
        return self.minus(last, self.value(text, {"p": self.variables["p"]}))

    def follows(self, x, facts):
        """Return whether x >= 0: c*x + c - 1 is at least a fact for some c > 0."""
        tries = ((c, fact) for fact in facts for c in sorted({1, *map(abs, fact.values())}))
        gaps = (self.minus(self.plus({(): c - 1}, x, c), fact) for c, fact in tries)
        return self.is_nonnegative(x) or any(map(self.is_nonnegative, gaps))

    # Ways to write a polynomial

    def ways(self, p):
        """Yield p; p in first variables; with all names; and, in two ways, in digits."""
        yield p
        first = named = p
        for kind, v, form in reversed(self.definitions):
            if kind == "split":
                first = self.folded(first, v, form)
            elif v:
                first = self.put(first, *next(iter(v)), form)
        yield first
        for _, v, form in reversed(self.definitions):
            named = self.folded(named, v, form)
        yield named
        yield self.in_digits(first, {"name", "using"})
        yield self.in_digits(first, {"name"})

    def in_digits(self, p, kinds):
        """Return p with digits in place of what was split, and names in place of their forms."""
        for kind, v, form in self.definitions:
            if kind == "split":
                p = self.put(p, *next(iter(v)), form)
            elif kind in kinds:
                p = self.folded(p, v, form)
        return p

    def folded(self, p, v, form):
        """Return p with v in place of the form, if it is shorter or the form is gone."""
        own = {a for m in form for a in m} - self.known
        for a in sorted(own):
            k, rest = self.parts(form, a)
            if k.get(()) == 1 and self.product(k, k) == ONE:  # form = v, so a = k*(v - rest)
                changed = self.put(p, a, self.product(k, self.minus(v, rest)))
                if len(changed) < len(p) or not own & {a for m in changed for a in m}:
                    return changed
        return p

    # Texts

    def divide(self, p, s):
        """Return p // s and p % s."""
        require(self.is_size(s), "a divisor is not a size")
        require(self.is_nonnegative(self.minus(s, ONE)), "a divisor may be below 1")
        for way in self.ways(p):
            q, r = self.divided(way, s)
            if self.lies_below(r, s):
                return q, r
        require(self.is_size(r) and s.keys() == {()}, "a remainder is not clear")
        up, n = self.minus({}, r), s[()]  # r // n is -ceil(up / n)
        key = frozenset(up.items()), n
        if key not in self.quotients:
            is_size = self.is_nonnegative(self.plus(up, {(): n - 1}))
            require(is_size, "a rounded size may be below 0")
            least = int(self.is_nonnegative(self.minus(up, ONE)))
            self.quotients[key] = self.atom(least, None, self.known)
            self.rounded[len(self.low) - 1] = up, n
        ceiling = self.quotients[key]
        return self.minus(q, ceiling), self.plus(r, ceiling, n)

    def xor(self, x, y, rounds=ROUNDS):
        if not x or not y:
            return self.plus(x, y)
        require(rounds > 0, "an exclusive or has too many bits")
        s = max(2, *(min(c & -c for c in z.values()) for z in (x, y)))
        (x, a), (y, b) = self.divide(x, {(): s}), self.divide(y, {(): s})  # bits, or one is 0
        low = self.plus(self.plus(a, b), self.product(a, b), -2)
        return self.plus(low, self.xor(x, y, rounds - 1), s)

    def value(self, text, variables=None):
        """Return the polynomial of a text in sizes, and in variables if they are given."""
        self.work(len(text))
        names, tokens, at, nested = {**self.sizes, **(variables or {})}, [], 0, 0
        while text[at:].strip(" "):
            found = TOKEN.match(text, at)
            require(found, f"not a formula: {text[at : at + 40]!r}")
            tokens.append(found.groups())
            at = found.end()
        tokens.append((None, None, None))
        tokens.reverse()

        def read(level):
            if level == len(OPERATORS):
                return operand()
            x = read(level + 1)
            while (op := tokens[-1][2]) in OPERATORS[level]:
                tokens.pop()
                y = read(level + 1)
                if op in {"^", "*"}:
                    x = self.xor(x, y) if op == "^" else self.product(x, y)
                elif op in {"+", "-"}:
                    x = self.plus(x, y, 1 if op == "+" else -1)
                else:
                    x = self.divide(x, y)[op == "%"]
            return x

        def operand():
            nonlocal nested
            digits, name, op = tokens.pop()
            if op in {"-", "("}:
                nested += 1
                require(nested <= NESTED, "a formula is nested too deep")
                x = self.minus({}, operand()) if op == "-" else read(0)
                require(op == "-" or tokens.pop()[2] == ")", "a formula lacks a parenthesis")
                nested -= 1
                return x
            require(digits or name, f"a formula lacks an operand: {text[:40]!r}")
            require(digits or name in names, f"name {name!r}: it means nothing here")
            return self.plus({}, {(): number(digits)}) if digits else names[name]

        found = read(0)
        require(len(tokens) == 1, f"not a formula: {text[:40]!r}")
        return found


def number(text):
    require(re.fullmatch(rf"[0-9]{{1,{DIGITS}}}", text), f"not a number: {text[:40]!r}")
    return int(text)


def require_keys(given, what, *allowed):
    """Refuse what is not an object with exactly one of the allowed sets of keys."""
    require(isinstance(given, dict), f"{what}: not an object")
    keys = min(allowed, key=lambda keys: len(keys ^ given.keys()))
    require(given.keys() <= keys, f"{what}: unknown key {sorted(given.keys() - keys)}")
    require(keys <= given.keys(), f"{what}: no key {sorted(keys - given.keys())}")


def require_texts(given, what, letters=r"[A-Za-z0-9_ +*/%()^-]*"):
    require(isinstance(given, list), f"{what}: not a list")
    is_text = all(isinstance(x, str) and re.fullmatch(letters, x) for x in given)
    require(is_text, f"{what}: not a text of formulas")


def require_form(given):
    """Refuse a certificate that lacks a key or has another one, or what is not a text in it."""
    require(isinstance(given, dict), "not an object")
    found, claim = given.get("format"), given.get("claim")
    require(found == FORMAT, f"format: {found!r}, but this checker reads {FORMAT!r}; write it anew")
    require(isinstance(claim, str) and claim in CLAIMS, f"claim: {claim!r} is not known")
    keys = SHARED | CLAIMS[claim][0]
    require_keys(given, "certificate", keys, keys | {"about"})
    require_texts(given.get("about", []), "about", r"(?s).*")
    for key in sorted(given.keys() - {"about"} - OBJECTS - TEXTS):
        require_texts(given[key], key)
    require_texts([given[key] for key in sorted(given.keys() & TEXTS)], "values of the certificate")
    for key in sorted(given.keys() & OBJECTS):
        require(isinstance(given[key], list), f"{key}: not a list")
        allowed = (SIZE, SIZE | {"most"}) if key == "sizes" else (SPLIT, NAMED, EACH)
        if key == "digits_of_slots" and claim == "verified":
            allowed = (*allowed, NAMED | {"using"})
        for one in given[key]:
            if key == "limits":
                require_texts(one, key)
                require(len(one) == 2, "limits: not a list of pairs")
            else:
                require_keys(one, key, *allowed)
                require_texts([x for at, x in one.items() if at != "using"], key)
                require_texts(one.get("using", []), "using")


def check(given, make=Checker):
    """Return the claim that a certificate proves; Refused says why it proves none."""
    require_form(given)
    c, claim = make(), given["claim"]
    for one in given["sizes"]:
        c.add_size(one)
    shape = [c.value(n) for n in given["shape"]]
    others = [c.value(n) for n in given.get("other_shape", given["shape"])]
    size = c.value(given.get("size", "0"))
    end = c.value(given["end"]) if claim == "verified" else size
    counts = [*shape, *others, end, c.minus(size, end)]
    require(
        all(map(c.is_nonnegative, counts)), "a size of an array may be below 0, or end above size"
    )
    elements, total = ONE, ONE
    for n in shape:
        elements = c.product(elements, n)
    for n in others:
        total = c.product(total, n)
    c.same(total, elements, "perhaps the other array has more or fewer elements")
    if claim == "padded":
        padding = c.minus(size, elements)
        c.same(c.value(given["padding"]), padding, "perhaps another number of slots is padding")
    if "0" in given["shape"]:  # the formulas are about nothing
        require(not end or not given.keys() & SLOTS, "slots without an element")
        return claim
    names = [f"d{k}" for k in range(len(shape))]
    for name, n in zip(names, shape):
        c.declare(name, n)
    for _ in c.cases(given["digits"], names):
        d = {name: c.variables[name] for name in names}
        check_elements(c, given, d, (shape, others), end)
    if given.keys() & SLOTS:  # slot p, below all limits, holds the element at its inverse
        c.declare("p", end)
        for _ in c.cases(given["digits_of_slots"], ["p"], given.get("limits", [])):
            p = c.variables["p"]
            back = [c.value(text, {"p": p}) for text in given["inverse"]]
            inside = all(c.lies_below(x, n) for x, n in zip(back, shape))
            require(inside, "inverse: perhaps no element")
            found = c.value(given["offset"], dict(zip(names, back)))
            c.same(found, p, "inverse: perhaps an element of another offset")
    return claim


def check_elements(c, given, d, shapes, end):
    """Check what is claimed of the elements d, with the definitions that are made."""
    claim = given["claim"]
    offset = c.value(given["offset"], d)
    require(len(given.get("inverse", d)) == len(d), "inverse: not as long as shape")
    if "inverse" in given and claim != "surjective":
        for x, text in zip(d.values(), given["inverse"]):
            c.same(c.value(text, {"p": offset}), x, f"inverse {text[:80]}: perhaps another element")
    if "size" in given:
        require(c.lies_below(offset, end), "offset: perhaps outside")
    e = viewed(c, given, d, *shapes) if claim == "bitcast" else d
    formulas = given.get("others", [])
    require("others" not in given or formulas, "others: no formula")
    require(len(formulas) < 2 or claim not in {"bitcast", "relayout"}, "others: two formulas")
    for text in formulas:
        found = c.value(text, e)
        found = c.value(given["source"], {"p": found}) if claim == "relayout" else found
        c.same(found, offset, f"others: {text[:80]}: perhaps another offset")
    for text, n in given.get("limits", []):
        gap = c.minus(c.minus(c.value(n), ONE), c.value(text, {"p": offset}))
        require(any(map(c.is_nonnegative, c.ways(gap))), f"limit {text[:80]}: perhaps not of all")


def viewed(c, given, d, shape, others):
    """Return the coordinates in the other array, which is shown to hold them at the same place."""
    require(len(given["view"]) == len(others), "view: not as long as other_shape")
    e = [c.value(text, d) for text in given["view"]]
    require(all(c.lies_below(x, n) for x, n in zip(e, others)), "view: perhaps outside")
    places = []
    for at, sizes, key in (([*d.values()], shape, "order"), (e, others, "other_order")):
        is_order = sorted(given[key]) == sorted(map(str, range(len(sizes))))
        require(is_order, f"{key}: not an order of the dimensions")
        place = {}
        for k in map(int, given[key]):
            place = c.plus(at[k], c.product(sizes[k], place))
        places.append(place)
    c.same(*places, "view: perhaps another element")
    return {f"d{k}": x for k, x in enumerate(e)}


def statement(given):
    """Return what a certificate states, in words; it is proved if ``check`` accepts it."""
    shape = f"an array of the shape [{', '.join(given['shape'])}]"
    if "0" in given["shape"]:
        return f"{given['claim']}, because {shape} has no elements. Its formulas say nothing."
    lines = [f"{given['claim']}. In {shape}, for all integers (//, %, ^ as in Python)"]
    for one in given["sizes"]:
        most = f", at most {one['most']}" if "most" in one else ""
        step = f", a multiple of {one['multiple_of']}" if int(one["multiple_of"]) > 1 else ""
        lines.append(f"  size {one['name']}, at least {one['least']}{most}{step}")
    names = [f"d{k}" for k in range(len(given["shape"]))]
    lines += [f"  {d} in 0..({n})-1" for d, n in zip(names, given["shape"])]
    lines.append(f"the element ({', '.join(names)}) has the offset {given['offset']}.")
    fields = {key: ", ".join(x) for key, x in given.items() if key not in OBJECTS | TEXTS}
    fields |= {key: x for key, x in given.items() if key in TEXTS}
    if given["claim"] == "verified":
        limits = [["p", given["end"]], *given["limits"]]
        fields["limits"] = " and ".join(f"({text}) < ({n})" for text, n in limits)
    return "\n".join(lines) + CLAIMS[given["claim"]][1].format(**fields)


def once(pairs):
    require(len(dict(pairs)) == len(pairs), "a key is twice in an object")
    return dict(pairs)


def read(text):
    """Return the certificate that a text holds, in JSON."""
    require(len(text) <= FILE, f"the file has more than {FILE} characters")
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Refused(f"not JSON: {error}") from None


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            certificate = read(file.read(FILE + 1))
        check(certificate)
        print("proved:", statement(certificate))
    except (Refused, OSError, UnicodeError) as error:
        sys.exit(f"refused: {error}")
