"use strict";
// Typeset a formula: sums, products, floors and remainders of names and integers.
const MATHML = "http://www.w3.org/1998/Math/MathML";

function mathNode(tag, ...children) {
  const made = document.createElementNS(MATHML, tag);
  made.append(...children);
  return made;
}

// Return the formula as a math element, or null for a text that is not such a formula.
function typeset(text) {
  const tokens = text.match(/\d+|\w+|\/\/|\S/g) || [];
  const operator = sign => mathNode("mo", sign), row = (...parts) => mathNode("mrow", ...parts);
  const FLOOR = "floor"; // marks what needs no parentheses
  const floor = (a, b) => {
    const made = row(operator("⌊"), mathNode("mfrac", a, b), operator("⌋"));
    made.classList.add(FLOOR);
    return made;
  };
  const remainder = (a, b) => row(a, operator(" mod "), b);
  function atom() {
    const token = tokens.shift();
    if (token === "-") return row(operator("−"), atom());
    if (token === "(") {
      const inner = sum();
      if (tokens.shift() !== ")") throw new SyntaxError(text);
      return inner.classList.contains(FLOOR) || tokens[0] === "//" ? inner
        : row(operator("("), inner, operator(")"));
    }
    if (/^\d+$/.test(token)) return mathNode("mn", token);
    const [, name, index] = /^([A-Za-z_]\w*?)(\d*)$/.exec(token || "") || [];
    if (!name || tokens[0] === "(") throw new SyntaxError(text);
    const letter = mathNode("mi", name);
    return index ? mathNode("msub", letter, mathNode("mn", index)) : letter;
  }
  function product() {
    let found = atom();
    for (;;) {
      if (tokens[0] === "*") found = row(found, operator("\u2009·\u2009"), (tokens.shift(), atom()));
      else if (tokens[0] === "//") found = floor(found, (tokens.shift(), atom()));
      else if (tokens[0] === "%") found = remainder(found, (tokens.shift(), atom()));
      else return found;
    }
  }
  function sum() {
    const parts = [product()];
    while (tokens[0] === "+" || tokens[0] === "-")
      parts.push(operator(tokens.shift() === "+" ? "+" : "−"), product());
    return parts.length > 1 ? row(...parts) : parts[0];
  }
  try {
    const made = mathNode("math", sum());
    made.setAttribute("displaystyle", "true");
    return tokens.length ? null : made;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
