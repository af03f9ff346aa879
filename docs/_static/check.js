// A checker of certificates, written from docs/explanation/certificate_language.md alone. Its sections
// follow those of the page, which says why each rule holds. Nothing is shared between two checks.

const FORMAT = "morello-layouts certificate";
const MOST_COEFFICIENT = 10n ** 150n, MOST_WORK = 1_000_000;
const MOST_FACTORS = 40, MOST_PAIRS = 10_000, MOST_ATOMS = 120, MOST_NESTED = 50;
const MOST_CHARACTERS = 100_000;

class Refused extends Error {}

const refuse = words => { throw new Refused(words); };
const demand = (isTrue, words) => isTrue || refuse(words);

// ---- The file -------------------------------------------------------------------------------

const KEYS = ["format", "claim", "sizes", "shape", "offset", "digits"];
const KEYS_OF = {
  injective: ["inverse"],
  surjective: ["inverse", "size", "digits_of_slots"],
  bijective: ["inverse", "size", "digits_of_slots"],
  padded: ["inverse", "size", "padding"],
  equivalent: ["others"],
  verified: ["inverse", "size", "digits_of_slots", "end", "limits", "others"],
  bitcast: ["others", "view", "other_shape", "other_order", "order"],
  relayout: ["others", "source"],
};

const isText = value => typeof value === "string";
const isList = (value, of) => Array.isArray(value) && value.every(of);
const isTexts = value => isList(value, isText);
const isObject = value => typeof value === "object" && value !== null && !Array.isArray(value);
const hasKeys = (value, keys) =>
  isObject(value) && Object.keys(value).length === keys.length && keys.every(key => Object.hasOwn(value, key));
const hasTexts = (value, ...keys) => hasKeys(value, keys) && Object.values(value).every(isText);

const isSize = value => hasTexts(value, "name", "multiple_of", "least") || hasTexts(value, "name", "multiple_of", "least", "most");

function isDefinition(value, mayUse) {
  if (hasTexts(value, "split", "by", "high", "low", "below") || hasTexts(value, "each")) return true;
  const { using = [], ...others } = isObject(value) ? value : {};
  const isUsing = !isObject(value) || !Object.hasOwn(value, "using") || mayUse;
  return isUsing && isTexts(using) && hasTexts(others, "name", "is", "below");
}

const IS_VALUE = {
  sizes: value => isList(value, isSize),
  digits: value => isList(value, each => isDefinition(each, false)),
  limits: value => isList(value, pair => isTexts(pair) && pair.length === 2),
  ...Object.fromEntries(["format", "claim", "offset", "size", "padding", "end", "source"].map(key => [key, isText])),
};

/** Refuse an object with a key twice, in a text that JSON.parse has taken. */
function demandDistinctKeys(text) {
  const open = [];
  for (const [token, key] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (key !== undefined) {
      const keys = open.at(-1), name = JSON.parse(key);
      demand(!keys.has(name), `an object has the key ${JSON.stringify(name)} twice`);
      keys.add(name);
    }
  }
}

const textsIn = value => (isText(value) ? [value] : Object.values(value).flatMap(textsIn));

/** Return the certificate that a text holds, its keys and the kinds of its values as the page says. */
function parse(text) {
  demand([...text].length <= MOST_CHARACTERS, `it has more than ${MOST_CHARACTERS} characters`);
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    refuse("it is not a text of JSON");
  }
  demand(isObject(found), "it is not an object of JSON");
  demand(found.format !== `${FORMAT} 1`, `its format is "${FORMAT} 1", which is not checked any more: write it anew`);
  demand(found.format === `${FORMAT} 2`, `its format is not "${FORMAT} 2"`);
  demandDistinctKeys(text);
  demand(isText(found.claim) && Object.hasOwn(KEYS_OF, found.claim), "its claim is none of the eight");
  const { about = [], ...rest } = found, keys = [...KEYS, ...KEYS_OF[found.claim]];
  demand(isTexts(about), "about is not a list of texts");
  demand(hasKeys(rest, keys), `its keys are not those of the claim ${found.claim}: ${keys.join(", ")}`);
  for (const key of keys) {
    const isValue = key === "digits_of_slots"
      ? value => isList(value, each => isDefinition(each, found.claim === "verified"))
      : IS_VALUE[key] ?? isTexts;
    demand(isValue(found[key]), `${key} has not the form that the page gives it`);
  }
  for (const each of textsIn(rest)) {
    demand(/^[A-Za-z0-9 _+\-*/%^()]*$/.test(each), `the text ${JSON.stringify(each)} has a character that none may have`);
  }
  return found;
}

// ---- Polynomials ----------------------------------------------------------------------------
// A polynomial is a Map from monomials to coefficients. A monomial is a text with one letter for
// each factor, in order: the letter of atom n is the character FIRST + n.

const FIRST = 0x100;
const letter = number => String.fromCharCode(FIRST + number);
const ZERO = new Map();

const gcd = (a, b) => (b === 0n ? a : gcd(b, a % b));
const sizeOf = c => (c < 0n ? -c : c);
const floorOf = (c, n) => c / n - (c % n !== 0n && (c < 0n) !== (n < 0n) ? 1n : 0n);
const ceilOf = (c, n) => -floorOf(-c, n);
const number = n => (n === 0n ? ZERO : new Map([["", n]]));
const isNumber = p => p.size === 0 || (p.size === 1 && p.has(""));
const coefficient = (p, m) => p.get(m) ?? 0n;
const holds = (p, a) => [...p.keys()].some(m => m.includes(a));
const isLarger = (m, n) => (m.length === n.length ? m > n : m.length > n.length);
const largest = p => [...p.keys()].reduce((m, n) => (isLarger(n, m) ? n : m));
const isClear = p => [...p.values()].every(c => c > 0n);  // No coefficient is negative.
const keyOf = p => [...p].map(([m, c]) => m + c).sort().join();

function collect(p, m, c) {
  const sum = coefficient(p, m) + c;
  if (sum === 0n) p.delete(m);
  else p.set(m, sum);
}

/** Return the polynomial p, the result of a sum or product, if its coefficients are in their limits. */
function limited(p) {
  for (const c of p.values()) demand(-MOST_COEFFICIENT < c && c < MOST_COEFFICIENT, "a coefficient has more than 150 digits");
  return p;
}

/** Return the monomial m without the factors of n, or undefined if n does not divide m. */
function quotientOf(m, n) {
  for (const a of n) {
    if (!m.includes(a)) return undefined;
    m = m.replace(a, "");
  }
  return m;
}

class Arithmetic {
  constructor() {
    this.work = 0;
    this.atoms = [];         // {low, high, isVariable, isBit, inner, n}
    this.quotients = new Map();
    this.answers = new Map();
    this.definitions = [];   // {isSplit, atom, value, form, isUsing}
  }

  spend(units) {
    this.work += units;
    demand(this.work <= MOST_WORK, `it needs more work than ${MOST_WORK} units`);
  }

  // -- Sums and products --

  add(p, q, times = 1n) {
    this.spend(1 + p.size + q.size);
    const sum = new Map(p);
    for (const [m, c] of q) collect(sum, m, times * c);
    return limited(sum);
  }

  subtract(p, q) { return this.add(p, q, -1n); }

  multiply(p, q) {
    this.spend(1 + p.size * q.size);
    demand(p.size * q.size <= MOST_PAIRS, `a product has more than ${MOST_PAIRS} pairs of terms`);
    const product = new Map();
    for (const [m, c] of p) for (const [n, d] of q) collect(product, this.monomial(m + n), c * d);
    return limited(product);
  }

  monomial(letters) {
    const factors = [...letters].sort().filter((a, k, all) => a !== all[k - 1] || !this.atomOf(a).isBit);
    demand(factors.length <= MOST_FACTORS, `a monomial has more than ${MOST_FACTORS} factors`);
    return factors.join("");
  }

  /** Return k and rest of p = k*a + rest. */
  part(p, a) {
    this.spend(1 + p.size);
    const k = new Map(), rest = new Map();
    for (const [m, c] of p) (m.includes(a) ? k : rest).set(m.replace(a, ""), c);
    return [k, rest];
  }

  substitute(p, a, q) {
    const [k, rest] = this.part(p, a);
    return k.size ? this.add(rest, this.multiply(this.substitute(k, a, q), q)) : rest;
  }

  // -- Atoms --

  atomOf(a) { return this.atoms[a.charCodeAt(0) - FIRST]; }

  atom(properties) {
    demand(this.atoms.length < MOST_ATOMS, `there are more than ${MOST_ATOMS} atoms`);
    this.atoms.push(properties);
    return new Map([[letter(this.atoms.length - 1), 1n]]);
  }

  variablesOf(p) {
    return [...new Set([...p.keys()].join(""))].sort().filter(a => this.atomOf(a).isVariable);
  }

  declare(n) {
    const high = this.subtract(n, number(1n));
    demand(this.isNonnegative(high), "perhaps it has no value: what it is below may be less than 1");
    if (high.size === 0) return ZERO;
    return this.atom({ low: 0n, high, isVariable: true, isBit: isNumber(high) && coefficient(high, "") === 1n });
  }

  // -- Division with rest --

  divide(p, s) {
    const top = largest(s), l = s.get(top), rest = new Map();
    let quotient = ZERO;
    for (p = new Map(p); p.size;) {
      this.spend(p.size);
      const m = largest(p), c = p.get(m), over = quotientOf(m, top);
      const k = (c > 0n || m === "" ? floorOf : ceilOf)(c, l);
      if (over !== undefined && k !== 0n) {
        const step = new Map([[over, k]]);
        quotient = this.add(quotient, step);
        p = this.subtract(p, this.multiply(step, s));
      }
      if (p.has(m)) rest.set(m, p.get(m));
      p.delete(m);
    }
    return [quotient, rest];
  }

  // -- Nonnegative --

  isNonnegative(p) {
    this.spend(1 + p.size);
    const key = keyOf(p);
    if (!this.answers.has(key)) this.answers.set(key, this.staysNonnegative(p, this.atoms.length - 1));
    return this.answers.get(key);
  }

  /** Whether the rules, from the atom `first` down, show that p is nonnegative. */
  staysNonnegative(p, first) {
    this.spend(1 + p.size);
    for (let index = first; index >= 0 && !isClear(p); index--) {
      const a = letter(index), { low, high, isBit, inner, n } = this.atoms[index];
      const signs = [...p].filter(([m]) => m.includes(a)).map(([, c]) => c > 0n);
      if (signs.length === 0) continue;
      if (isBit && new Set(signs).size === 2 && p.size <= 8) {
        return [0n, 1n].every(bit => this.staysNonnegative(this.substitute(p, a, number(bit)), index - 1));
      }
      if (inner) {
        const [k, rest] = this.part(p, a), wide = this.add(inner, number(n - 1n));
        for (const g of new Set([1n, [...k.values()].map(sizeOf).reduce(gcd)])) {
          const shared = new Map([...rest].map(([m, c]) => [m, floorOf(c, g)]));
          let scaled = this.add(number(n - 1n), shared, n);
          for (const [m, c] of k) {
            scaled = this.add(scaled, this.multiply(new Map([[m, c / g]]), c > 0n ? inner : wide));
          }
          if (this.staysNonnegative(scaled, index)) return true;
        }
      }
      const self = new Map([[a, 1n]]);
      if (high && !signs.includes(true)) p = this.substitute(p, a, this.subtract(high, self));
      else if (low !== 0n) p = this.substitute(p, a, this.add(self, number(low)));
    }
    return isClear(p);
  }

  // -- Definitions and ways --

  define(isSplit, value, form, isUsing = false) {
    this.definitions.push({ isSplit, value, form, isUsing, atom: [...value.keys()][0] });
  }

  fold(p, { value, form }) {
    const variables = this.variablesOf(form);
    for (const a of variables) {
      const [k, rest] = this.part(form, a);
      if (coefficient(k, "") !== 1n || keyOf(this.multiply(k, k)) !== keyOf(number(1n))) continue;
      const folded = this.substitute(p, a, this.multiply(k, this.subtract(value, rest)));
      if (folded.size < p.size || !variables.some(each => holds(folded, each))) return folded;
    }
    return p;
  }

  put(p, { atom, form }) {
    return atom === undefined ? p : this.substitute(p, atom, form);
  }

  *ways(p) {
    const down = [...this.definitions].reverse();
    yield p;
    const spread = down.reduce((w, one) => (one.isSplit ? this.fold(w, one) : this.put(w, one)), p);
    yield spread;
    yield down.reduce((w, one) => this.fold(w, one), p);
    for (const isLast of [false, true]) {
      yield this.definitions.reduce((w, one) => {
        if (one.isSplit) return this.put(w, one);
        return isLast && one.isUsing ? w : this.fold(w, one);
      }, spread);
    }
  }

  someWay(p, isTrue) {
    for (const way of this.ways(p)) if (isTrue(way)) return true;
    return false;
  }

  isSame(p, q) { return this.someWay(this.subtract(p, q), way => way.size === 0); }

  isBelow(p, n) {
    const most = this.subtract(n, number(1n));
    return this.someWay(p, way => this.isNonnegative(way) && this.isNonnegative(this.subtract(most, way)));
  }

  // -- Operators --

  divmod(p, s) {
    demand(this.variablesOf(s).length === 0, "a divisor holds a coordinate, p or a digit");
    demand(this.isNonnegative(this.subtract(s, number(1n))), "a divisor may be less than 1");
    let quotient, rest;
    for (const way of this.ways(p)) {
      [quotient, rest] = this.divide(way, s);
      if (this.isBelow(rest, s)) return [quotient, rest];
    }
    demand(this.variablesOf(rest).length === 0 && isNumber(s), "a quotient or a remainder is not known");
    const n = coefficient(s, ""), inner = this.multiply(rest, number(-1n)), key = `${keyOf(inner)}/${n}`;
    if (!this.quotients.has(key)) {
      demand(this.isNonnegative(this.add(inner, number(n - 1n))), "a rounded size may be negative");
      const low = this.isNonnegative(this.subtract(inner, number(1n))) ? 1n : 0n;
      this.quotients.set(key, this.atom({ low, inner, n }));
    }
    const rounded = this.quotients.get(key);
    return [this.subtract(quotient, rounded), this.add(rest, rounded, n)];
  }

  xor(x, y, rounds = 64) {
    if (x.size === 0 || y.size === 0) return this.add(x, y);
    demand(rounds > 0, "an exclusive or has more than 64 bits");
    const powers = [x, y].map(p => [...p.values()].reduce((m, n) => m | n)).map(bits => bits & -bits);
    const s = number([2n, ...powers].reduce((m, n) => (m > n ? m : n)));
    const [highX, a] = this.divmod(x, s), [highY, b] = this.divmod(y, s);
    const low = this.subtract(this.add(a, b), this.multiply(number(2n), this.multiply(a, b)));
    return this.add(low, this.multiply(s, this.xor(highX, highY, rounds - 1)));
  }
}

// ---- The language ---------------------------------------------------------------------------

/** Compute the polynomial of a text; `meaning` gives that of a name, or undefined. */
function read(arithmetic, text, meaning) {
  arithmetic.spend(text.length);
  demand(!/[0-9]{151}/.test(text), "it has a number of more than 150 digits");
  demand(!/[A-Za-z_][A-Za-z0-9_]{100}/.test(text), "it has a name of more than 100 characters");
  const tokens = text.match(/[A-Za-z_][A-Za-z0-9_]*|[0-9]+|\/\/|[^ ]/g) ?? [];
  let next = 0;
  const take = (...wanted) => (wanted.includes(tokens[next]) ? tokens[next++] : undefined);

  function row(operand, ...operators) {
    return nested => {
      let left = operand(nested);
      for (let sign; (sign = take(...operators)) !== undefined;) left = compute(sign, left, operand(nested));
      return left;
    };
  }
  function compute(sign, x, y) {
    switch (sign) {
      case "+": return arithmetic.add(x, y);
      case "-": return arithmetic.subtract(x, y);
      case "*": return arithmetic.multiply(x, y);
      case "^": return arithmetic.xor(x, y);
      default: return arithmetic.divmod(x, y)[sign === "//" ? 0 : 1];
    }
  }
  function factor(nested) {
    const sign = take("-", "(");
    if (sign) {
      demand(nested < MOST_NESTED, `more than ${MOST_NESTED} signs and parentheses stand in each other`);
      if (sign === "-") return arithmetic.multiply(factor(nested + 1), number(-1n));
      const value = xor(nested + 1);
      demand(take(")"), "a parenthesis is not closed");
      return value;
    }
    const token = tokens[next++] ?? "";
    if (/^[0-9]/.test(token)) return number(BigInt(token));
    demand(/^[A-Za-z_]/.test(token), `a number or a name is expected, not "${token}"`);
    return meaning(token) ?? refuse(`the name ${token} has no meaning here`);
  }
  const xor = row(row(row(factor, "*", "//", "%"), "+", "-"), "^");

  const value = xor(0);
  demand(next === tokens.length, `"${tokens[next]}" is not expected`);
  return value;
}

// ---- The proof ------------------------------------------------------------------------------

const coordinates = list => new Map(list.map((value, k) => [`d${k}`, value]));
const slot = value => new Map([["p", value]]);

class Proof {
  constructor(certificate) {
    this.certificate = certificate;
    this.arithmetic = new Arithmetic();
    this.sizes = new Map();
    this.variables = new Map();
    this.at = "";  // Where the checker is, for its reason.
  }

  text(where, text, values = new Map()) {
    this.at = `${where}, ${JSON.stringify(text.length > 200 ? `${text.slice(0, 200)} …` : text)}`;
    return read(this.arithmetic, text, name => this.sizes.get(name) ?? values.get(name));
  }

  texts(key, values) {
    return (this.certificate[key] ?? []).map((text, k) => this.text(`${key} ${k}`, text, values));
  }

  name(name, names, value) {
    demand(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name), `${JSON.stringify(name)} is not a name`);
    demand(!/^(p|d[0-9]+)$/.test(name), `${name} is kept for a coordinate or the slot`);
    demand(!this.sizes.has(name) && !this.variables.has(name), `the name ${name} is taken`);
    names.set(name, value());
  }

  size({ name, ...numbers }) {
    this.at = `size ${name}`;
    for (const each of Object.values(numbers)) demand(/^[0-9]{1,150}$/.test(each), `${JSON.stringify(each)} is not a number`);
    const step = BigInt(numbers.multiple_of), least = BigInt(numbers.least);
    demand(step >= 1n && least >= 1n, "multiple_of and least must be at least 1");
    const low = ceilOf(least, step);
    const high = numbers.most === undefined ? undefined : floorOf(BigInt(numbers.most), step);
    demand(high === undefined || high >= low, "it has no value");
    const { arithmetic } = this;
    this.name(name, this.sizes, () => (low === high
      ? arithmetic.multiply(number(step), number(low))
      : arithmetic.multiply(number(step), arithmetic.atom({ low, high: high && number(high) }))));
  }

  /** Call `then` with the definitions of a list: once, or for each value of what is taken singly. */
  inEachCase(key, own, facts, then) {
    const { arithmetic, variables } = this, { definitions } = arithmetic;
    const each = this.certificate[key].filter(one => one.each !== undefined).map(one => one.each);
    const counts = each.map(name => {
      this.at = `${key}, each ${name}`;
      demand(own.has(name), "it cannot be taken singly here");
      return this.count(own.get(name));
    });
    arithmetic.spend(Number(counts.reduce((n, count) => (n > MOST_WORK ? n : n * count), BigInt(each.length))));
    for (let values = counts.map(() => 0n); values;) {
      this.variables = new Map([...variables, ...each.map((name, k) => [name, number(values[k])])]);
      arithmetic.definitions = [...definitions];
      this.define(key, facts);
      then();
      const k = values.findLastIndex((x, at) => x + 1n < counts[at]);
      values = k < 0 ? undefined : values.map((x, at) => (at < k ? x : at === k ? x + 1n : 0n));
    }
  }

  /** Return the number of values that a variable may have. */
  count(value) {
    const high = value.size ? this.arithmetic.atomOf([...value.keys()][0]).high : ZERO;
    demand(isNumber(high), "the number of its values is not known");
    return coefficient(high, "") + 1n;
  }

  /** Take the definitions of a list, in order; `facts` gives those of the slot, by number. */
  define(key, facts) {
    const { arithmetic } = this;
    for (const one of this.certificate[key].filter(one => one.each === undefined)) {
      const where = `${key}, ${one.split === undefined ? `name ${one.name}` : `split ${one.split}`}`;
      const below = this.text(where, one.below);
      if (one.split !== undefined) {
        const by = this.text(where, one.by), value = this.variables.get(one.split);
        this.at = where;
        demand(value?.size && !value.has(""), "it is not a variable that can be split");
        const { high } = arithmetic.atomOf([...value.keys()][0]);
        const spare = arithmetic.subtract(arithmetic.subtract(arithmetic.multiply(by, below), high), number(1n));
        demand(arithmetic.isNonnegative(spare), "the digits may be too small for all its values");
        this.name(one.low, this.variables, () => arithmetic.declare(by));
        this.name(one.high, this.variables, () => arithmetic.declare(below));
        const form = arithmetic.add(this.variables.get(one.low), arithmetic.multiply(by, this.variables.get(one.high)));
        arithmetic.define(true, value, form);
      } else {
        const form = this.text(where, one.is, this.variables);
        const known = one.using && facts(one.using);
        this.at = where;
        const spare = arithmetic.subtract(arithmetic.subtract(below, number(1n)), form);
        demand(arithmetic.isBelow(form, below) || (known && this.follows(form, known) && this.follows(spare, known)),
          "it may be outside of what it is below");
        this.name(one.name, this.variables, () => arithmetic.declare(below));
        arithmetic.define(false, this.variables.get(one.name), form, known !== undefined);
      }
    }
  }

  follows(y, facts) {
    const { arithmetic } = this;
    return arithmetic.isNonnegative(y) || facts.some(fact =>
      [1n, ...fact.values()].map(sizeOf).some(c => arithmetic.isNonnegative(
        arithmetic.subtract(arithmetic.add(arithmetic.multiply(number(c), y), number(c - 1n)), fact))));
  }

  demandAsMany(list, shape) {
    this.at = list;
    demand(this.certificate[list].length === this.certificate[shape].length, `it has not as many texts as ${shape}`);
  }

  place(shape, coordinates, order) {
    const { arithmetic } = this;
    const found = new Set(order);
    demand(order.length === shape.length && found.size === shape.length && shape.every((_, k) => found.has(String(k))), "it does not hold each dimension once");
    return order.reduce((place, k) => arithmetic.add(arithmetic.multiply(place, shape[k]), coordinates[k]), ZERO);
  }

  /** Check all, in the order of the page; ends without an error if the claim is proved. */
  check() {
    const { certificate: given, arithmetic } = this;
    const product = list => list.reduce((p, q) => arithmetic.multiply(p, q), number(1n));

    given.sizes.forEach(size => this.size(size));

    const shape = this.texts("shape"), otherShape = given.other_shape ? this.texts("other_shape") : this.texts("shape");
    const size = given.size === undefined ? ZERO : this.text("size", given.size);
    const end = given.end === undefined ? size : this.text("end", given.end);
    this.at = "shape";
    for (const each of [...shape, ...otherShape, end, arithmetic.subtract(size, end)]) {
      demand(arithmetic.isNonnegative(each), "a size may be negative, or the end above the size");
    }
    demand(arithmetic.isSame(product(otherShape), product(shape)), "the other array may have more or fewer elements");

    if (given.padding !== undefined) {
      const padding = this.text("padding", given.padding);
      demand(arithmetic.isSame(padding, arithmetic.subtract(size, product(shape))), "it may be another number");
    }

    if (given.shape.includes("0")) {
      demand(!given.digits_of_slots || end.size === 0, "the array is empty, and its end is not 0");
      return;
    }

    this.at = "shape";
    shape.forEach((each, k) => this.variables.set(`d${k}`, arithmetic.declare(each)));
    this.inEachCase("digits", new Map(this.variables), undefined, () => this.checkElements(shape, otherShape, end));

    if (given.digits_of_slots) {
      this.demandAsMany("inverse", "shape");
      this.at = "end";
      this.variables.set("p", arithmetic.declare(end));
      const facts = using => using.map(k => {
        demand(/^(0|[1-9][0-9]*)$/.test(k) && BigInt(k) < given.limits.length, `there is no limit ${k}`);
        return this.fact(given.limits[k], this.variables.get("p"));
      });
      this.inEachCase("digits_of_slots", slot(this.variables.get("p")), facts, () => this.checkSlots(shape));
    }
  }

  /** Return what is at least 0 if the slot p holds an element, by a limit. */
  fact([x, n], p) {
    const { arithmetic } = this, below = this.text("limits", n);
    return arithmetic.subtract(arithmetic.subtract(below, number(1n)), this.text("limits", x, slot(p)));
  }

  /** Steps 7 to 12, with the definitions that are made. */
  checkElements(shape, otherShape, end) {
    const { certificate: given, arithmetic } = this;
    const d = coordinates(shape.map((_, k) => this.variables.get(`d${k}`)));
    const offset = this.text("offset", given.offset, d);

    if (given.inverse && given.claim !== "surjective") {
      this.demandAsMany("inverse", "shape");
      given.inverse.forEach((text, k) => {
        const found = this.text(`inverse ${k}`, text, slot(offset));
        demand(arithmetic.isSame(found, d.get(`d${k}`)), "it may be another coordinate");
      });
    }

    if (given.size !== undefined) {
      this.at = "offset";
      demand(arithmetic.isBelow(offset, end), "it may be outside of the slots");
    }

    let e = d;
    if (given.view) {
      this.demandAsMany("view", "other_shape");
      const view = this.texts("view", d);
      view.forEach((each, k) => demand(arithmetic.isBelow(each, otherShape[k]), `coordinate ${k} may be outside of the other array`));
      this.at = "order";
      const place = this.place(shape, [...d.values()], given.order);
      this.at = "other_order";
      demand(arithmetic.isSame(place, this.place(otherShape, view, given.other_order)), "the view may count other elements before it");
      e = coordinates(view);
    }

    this.at = "others";
    const isOne = ["bitcast", "relayout"].includes(given.claim);
    demand(!given.others || (isOne ? given.others.length === 1 : given.others.length > 0), `there must be ${isOne ? "exactly" : "at least"} one formula`);
    for (const [k, text] of (given.others ?? []).entries()) {
      let other = this.text(`others ${k}`, text, e);
      if (given.source !== undefined) other = this.text("source", given.source, slot(other));
      demand(arithmetic.isSame(other, offset), "it may be another offset");
    }

    for (const limit of given.limits ?? []) {
      demand(arithmetic.someWay(this.fact(limit, offset), way => arithmetic.isNonnegative(way)), "an element may be outside of it");
    }
  }

  /** What step 13 says of the slot p, with the definitions that are made. */
  checkSlots(shape) {
    const { certificate: given, arithmetic } = this, p = this.variables.get("p");
    const found = this.texts("inverse", slot(p));
    found.forEach((each, k) => demand(arithmetic.isBelow(each, shape[k]), `coordinate ${k} may be outside of the array`));
    const back = this.text("offset", given.offset, coordinates(found));
    demand(arithmetic.isSame(back, p), "the offset of its element may be another slot");
  }
}

// ---- The statement --------------------------------------------------------------------------

/** Say in words what an accepted certificate states. */
function statement(given) {
  const { claim, inverse, size, end, others, limits, view } = given;
  const list = texts => `(${texts.join(", ")})`, box = texts => `[${texts.join(", ")}]`;
  const slots = text => `0..(${text})-1`;
  const coordinates = shape => list(shape.map((_, k) => `d${k}`));
  const lines = [`In an array of the shape ${box(given.shape)}, for all integers (//, %, ^ as in Python)`];
  for (const { name, multiple_of, least, most } of given.sizes) {
    const facts = [`at least ${BigInt(least)}`];
    if (most !== undefined) facts.push(`at most ${BigInt(most)}`);
    if (BigInt(multiple_of) > 1n) facts.push(`a multiple of ${BigInt(multiple_of)}`);
    lines.push(`  size ${name}, ${facts.join(", ")}`);
  }
  if (given.shape.includes("0")) {
    lines.push("there is no element, so that the formulas say nothing.");
    if (given.digits_of_slots) lines.push(`The number of slots, ${end ?? size}, is 0.`);
    if (claim === "padded") lines.push(`The size ${size} is all padding: ${given.padding}.`);
    if (view) lines.push(`An array of the shape ${box(given.other_shape)} has no element either.`);
    return lines.join("\n");
  }
  given.shape.forEach((each, k) => lines.push(`  d${k} in ${slots(each)}`));
  lines.push(`the element ${coordinates(given.shape)} has the offset ${given.offset}.`);
  if (inverse && claim !== "surjective") {
    lines.push(`No two elements have the same offset: the one at offset p is ${list(inverse)}.`);
  }
  if (claim === "surjective" || claim === "bijective") {
    lines.push(`Each p in ${slots(size)}, and nothing else, is the offset of an element: ${list(inverse)}.`);
  }
  if (claim === "padded") lines.push(`Each offset is in ${slots(size)}, where ${given.padding} slots are padding.`);
  if (claim === "equivalent" || claim === "verified") {
    for (const other of others) lines.push(`The offset is equal to ${other}.`);
  }
  if (claim === "verified") {
    const facts = limits.map(([x, n]) => `${x} < ${n}`).join(" and ");
    lines.push(`Each offset is in ${slots(end)}; the end ${end} is at most the size ${size}.`);
    lines.push(`Each p in ${slots(end)} is the offset of an element${facts && ` exactly if ${facts}`}.`);
  }
  if (claim === "bitcast") {
    lines.push(`An array of the shape ${box(given.other_shape)} has as many elements. The element e = ${list(view)} of it`);
    lines.push(`has as many before it as d: from major to minor, d in the order ${list(given.order)} of its dimensions, e in ${list(given.other_order)}.`);
    lines.push(`If e is called ${coordinates(view)}, then ${others[0]} is equal to the offset of d.`);
  }
  if (claim === "relayout") lines.push(`If p is ${others[0]}, then ${given.source} is equal to the offset.`);
  return lines.join("\n");
}

/**
 * Check the text of a certificate.
 *
 * Returns {verdict, statement}, where the verdict is the claim and the statement says in words what
 * is proved; or {verdict: "refused", reason, isWork}, where isWork tells that only the limit of work
 * stood in the way.
 */
export function check(text) {
  let proof;
  try {
    proof = new Proof(parse(text));
    proof.check();
    return { verdict: proof.certificate.claim, statement: statement(proof.certificate), work: proof.arithmetic.work };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const isWork = proof !== undefined && proof.arithmetic.work > MOST_WORK;
    return { verdict: "refused", reason: proof?.at ? `${proof.at}: ${error.message}` : error.message, isWork };
  }
}
