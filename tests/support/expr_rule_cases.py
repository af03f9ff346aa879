"""Nodes and examples for every rule of the simplifier.

The nodes of the makers in ``fires`` must be rewritten to an equal and smaller form; the nodes of
those in ``stays``, one past the edge, must be left alone. The tests, the mutants and the
documentation of the rules read this one table.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from morello_layouts.core.expr import AffineExpr, Call, Digit, digit, variable
from morello_layouts.core.expr.affine import call, xor
from morello_layouts.core.expr.choices import Rule
from morello_layouts.core.expr.rules import DIGIT_RULES, RULES_OF_CALLS
from tests.support import expr_rule_makers as make
from tests.support.expr_judges import as_form, differences
from tests.support.expr_measure import measure

Node: TypeAlias = "Digit | Call | AffineExpr"
Maker: TypeAlias = "Callable[[Callable[[int, int], int]], Node]"


@dataclass(frozen=True, slots=True)
class Example:
    """A form on which a rule fires, and one on which it must not.

    Attributes:
        fires: a form that the rule rewrites.
        becomes: the result as text.
        stays: a form past the edge of the condition.
        why: the reason why the rule must not fire there.
        loose: the result of the rule without its condition; None if that result is right, but
            rewriting would not end or would leave work of another rule undone.
    """

    fires: AffineExpr
    becomes: str
    stays: AffineExpr
    why: str
    loose: AffineExpr | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule's makers of nodes, the example for the documentation, and further examples."""

    fires: tuple[Maker, ...]
    stays: tuple[Maker, ...]
    example: Example
    more: tuple[tuple[AffineExpr, str], ...] = ()

    @property
    def examples(self) -> tuple[tuple[AffineExpr, str], ...]:
        """Forms that the rule rewrites, each with the result as text."""
        return ((self.example.fires, self.example.becomes), *self.more)


def rules_in(*modules: types.ModuleType) -> dict[str, Rule[Any]]:
    """Return the rules of every table of some modules, mutated or not, by name."""
    tables = [t for m in modules for name, t in vars(m).items() if name.endswith("_RULES")]
    return {rule.name: rule for table in tables for rule in table}


def check_fires(rule: Rule[Any], node: Node) -> None:
    """Assert that the rule rewrites the node to something smaller, equal at every value."""
    before, after = as_form(node), rule.apply(node)
    assert after is not None, f"{rule.name} leaves {before}"
    assert differences(before, after) is None, f"{rule.name}: {before} is not {after}"
    assert measure(after) < measure(before), f"{rule.name}: {after} is not smaller than {before}"


def check_stays(rule: Rule[Any], node: Node) -> None:
    """Assert that the rule leaves the node alone."""
    after = rule.apply(node)
    assert after is None, f"{rule.name} makes {after} of {as_form(node)}"


def check_statement(rule: Rule[Any]) -> None:
    """Assert that the statement is an identity with its condition, and nothing else."""
    assert " = " in rule.statement
    assert rule.name == "identity" or "If " in rule.statement or "For any " in rule.statement
    assert rule.statement.endswith(".")
    assert "tinygrad" not in rule.statement


def check_examples(rule: Rule[Any]) -> None:
    """Assert that the rule rewrites the examples of its entry as written there."""
    entry = ENTRIES[rule.name]
    for form, becomes in entry.examples:
        node = node_of(rule, form)
        check_fires(rule, node)
        assert str(rule.apply(node)) == becomes
    check_stays(rule, node_of(rule, entry.example.stays))


def node_of(rule: Rule[Any], form: AffineExpr) -> Node:
    """Return the node of a form that a rule looks at: its atom, or the sum itself."""
    # By name: a mutated module has rules of its own.
    of_atoms: list[Rule[Any]] = [*DIGIT_RULES]
    of_atoms += [one for some in RULES_OF_CALLS.values() for one in some]
    is_for_atoms = rule.name in [str(one.name) for one in of_atoms]
    atom = form.as_atom() if is_for_atoms else form
    assert isinstance(atom, Digit | Call | AffineExpr)
    return atom


i = variable("i", 0, 31)
j = variable("j", 0, 3)
x, y = variable("x"), variable("y")
d0, d1, d2 = (variable(f"d{k}", 0, 9) for k in range(3))


def number(n: int) -> AffineExpr:
    return AffineExpr((), n)


def _least(*parts: AffineExpr) -> AffineExpr:
    return call("min", *parts)


def _most(*parts: AffineExpr) -> AffineExpr:
    return call("max", *parts)


def _ge(form: AffineExpr) -> AffineExpr:
    return call(">=", form)


def _choice(form: AffineExpr, one: AffineExpr, other: AffineExpr) -> AffineExpr:
    """Return the choice of one form where another is at least 0."""
    return call("select", _ge(form), one, other)


ENTRIES = {
    "identity": Entry(
        (make.identity_mod_one, make.identity_group),
        (make.identity_mod_two, make.identity_half),
        Example(digit(x, 1, 1), "0", digit(x, 1, 2), "the modulus is 2", AffineExpr((), 0)),
        ((digit(x, 3, 1), "0"), (digit(x + 2, 1, None), "x + 2")),
    ),
    "constant": Entry(
        (make.constant_of_floor, make.constant_of_digit),
        (make.constant_past, make.constant_past_digit),
        Example(
            variable("i", 8, 11) // 4,
            "2",
            variable("i", 8, 12) // 4,
            "one value more, and the quotient has two",
            AffineExpr((), 2),
        ),
        ((digit(variable("i", -8, -5), 4, 3), "1"),),
    ),
    "drop-mod": Entry(
        (make.drop_mod_block,),
        (make.drop_mod_past, make.drop_mod_astride, make.drop_mod_without_mod),
        Example(
            digit(i, 8, 4),
            "i//8",
            digit(variable("i", 0, 32), 8, 4),
            "i // 8 reaches 4, in the next block",
            variable("i", 0, 32) // 8,
        ),
        ((variable("d0", 53, 71) % 42, "d0 - 42"), (variable("d0", -5, -1) % 5, "d0 + 5")),
    ),
    "flatten-nested": Entry(
        (
            make.flatten_nested_in_floor,
            make.flatten_nested_floor_in_digit,
            make.flatten_nested_smaller_mod,
            make.flatten_nested_larger_mod,
        ),
        (
            make.flatten_nested_no_divisor,
            make.flatten_nested_neither_divides,
            make.flatten_nested_not_alone,
            make.flatten_nested_variable,
        ),
        Example((x % 12) // 2, "(x//2)%6", (x % 13) // 2, "2 does not divide 13", digit(x, 2, 6)),
        (
            (x // 4 // 8, "x//32"),
            (x % 32 // 4, "(x//4)%8"),
            (x % 12 % 4, "x%4"),
            (digit(x % 12, 2, 18), "(x//2)%6"),
        ),
    ),
    "extract-multiples": Entry(
        (
            make.extract_factor,
            make.extract_const,
            make.extract_factor_under_mod,
            make.extract_const_under_mod,
        ),
        (make.extract_next_factor, make.extract_factor_of_floor_only),
        Example(
            (16 * x + j) // 8,
            "2*x + j//8",
            (15 * x + j) // 8,
            "8 does not divide 15",
            2 * x + j // 8,
        ),
        (
            ((16 * d0 + 4 * d1 + d2) // 8, "2*d0 + (4*d1 + d2)//8"),
            ((16 * d0 + 4 * d1 + d2) % 8, "(4*d1 + d2)%8"),
            ((x - 1) // 4, "(x + 3)//4 - 1"),
        ),
    ),
    "drop-remainder": Entry(
        (make.drop_remainder_block, make.drop_remainder_const, make.drop_remainder_of_two),
        (
            make.drop_remainder_past,
            make.drop_remainder_astride,
            make.drop_remainder_no_divisor,
            make.drop_remainder_of_mod,
        ),
        Example(
            (4 * x + j) // 16,
            "x//4",
            (4 * x + variable("j", 0, 4)) // 16,
            "j reaches 4, which is carried into 4·x",
            x // 4,
        ),
        ((digit(8 * x + 4 * y + j - 4, 12, 5), "((2*x + y - 1)//3)%5"),),
    ),
    "split-remainder": Entry(
        (make.split_remainder_block,),
        (
            make.split_remainder_past,
            make.split_remainder_astride,
            make.split_remainder_finer,
            make.split_remainder_without_mod,
        ),
        Example(
            (4 * x + j) % 12,
            "4*(x%3) + j",
            (4 * x + variable("j", 0, 4)) % 12,
            "j reaches 4, which is carried into 4·x",
            4 * (x % 3) + variable("j", 0, 4),
        ),
        ((digit(4 * x + j, 2, 6), "2*(x%3) + j//2"),),
    ),
    "affine-on-box": Entry(
        (make.affine_floor, make.affine_mod, make.affine_digit),
        (make.affine_past, make.affine_of_low_part, make.affine_of_names, make.affine_constant),
        Example(
            (13 * variable("i", 0, 2) + 8) // 16,
            "i",
            (13 * variable("i", 0, 3) + 8) // 16,
            "47 // 16 is 2",
            variable("i", 0, 3),
        ),
        (
            ((11 * variable("i", 0, 2) + 12) % 16, "-5*i + 12"),
            ((d0 * 16 - 13 * variable("v", 0, 1)) // 16, "d0 - v"),
            ((variable("v", 0, 1) + 3) // 4, "v"),
        ),
    ),
    "drop-inner-mod": Entry(
        (make.drop_inner_mod_period,),
        (make.drop_inner_mod_part, make.drop_inner_mod_in_floor, make.drop_inner_mod_of_floor),
        Example(
            (2 * (x % 6) + y) % 4,
            "(2*x + y)%4",
            (2 * (x % 5) + y) % 4,
            "4 does not divide 2·5",
            (2 * x + y) % 4,
        ),
        ((digit(3 * (x % 4) + y, 2, 6), "((3*x + y)//2)%6"),),
    ),
    "flatten-inner-div": Entry(
        (make.flatten_inner_div_once,),
        (make.flatten_inner_div_scaled, make.flatten_inner_div_of_digit),
        Example(
            (y + x // 4) // 2,
            "(4*y + x)//8",
            (y + 3 * (x // 4)) // 2,
            "the floor has a factor: 3·(x // 4) is not (3·x) // 4",
            (4 * y + 3 * x) // 8,
        ),
        ((digit(y + x // 4, 2, 3), "((4*y + x)//8)%3"), ((y + x // 4) // 5, "(4*y + x)//20")),
    ),
    "push-into-xor": Entry(
        (make.push_digit,),
        (make.push_other_numbers, make.push_not_alone, make.push_of_digit),
        Example(
            (i ^ j) // 4,
            "(i//4 ^ j//4)",
            (i ^ j) // 3,
            "3 is not a power of two, and cuts bits apart",
            (i // 3) ^ (j // 3),
        ),
        ((digit(i ^ j, 2, 4), "((i//2)%4 ^ (j//2)%4)"),),
    ),
    "xor-nested": Entry(
        (make.xor_in_xor,),
        (make.xor_of_multiples,),
        Example(
            xor(i ^ j, d0),
            "(d0 ^ i ^ j)",
            xor(2 * (i ^ j), d0),
            "the inner one has a factor",
            xor(i, j, d0),
        ),
    ),
    "xor-equal": Entry(
        (make.xor_twice,),
        (make.xor_once,),
        Example(xor(i, d0, i), "d0", xor(i, d0, i + 1), "i and i + 1 differ", d0),
        ((i ^ i, "0"), (xor(i, i, i), "i"), (xor(i, i, j, j), "0")),
    ),
    "xor-numbers": Entry(
        (make.xor_two_numbers, make.xor_zero),
        (make.xor_one_number,),
        Example(i ^ 0, "i", i ^ 1, "the bits of 1 change those of i", i),
        (
            (xor(i, AffineExpr((), 5), AffineExpr((), 6)), "(i ^ 3)"),
            (xor(i, AffineExpr((), 5), AffineExpr((), 5)), "i"),
        ),
    ),
    "xor-split": Entry(
        (make.split_disjoint, make.split_high_part, make.split_low_part, make.split_factor),
        (
            make.split_past,
            make.split_both,
            make.split_odd_factor,
            make.split_of_unit,
            make.split_of_shifted,
        ),
        Example(
            (8 * i) ^ variable("r", 0, 7),
            "8*i + r",
            (8 * i) ^ variable("r", 0, 8),
            "r reaches 8, a bit that 8·i may have too",
            8 * i + variable("r", 0, 8),
        ),
        (
            ((64 * i + variable("r", 0, 63)) ^ (8 * j), "64*i + (8*j ^ r)"),
            ((8 * i) ^ (8 * j + 8), "8*(i ^ j + 1)"),
            ((8 * i + 3) ^ (8 * j), "8*(i ^ j) + 3"),
        ),
    ),
    "extremum-nested": Entry(
        (make.extremum_in_extremum,),
        (make.extremum_in_another, make.extremum_without_common),
        Example(
            _most(i, _most(d0, d1)),
            "max(d0, d1, i)",
            _most(i, _least(d0, d1)),
            "the inner one is a min",
            _most(i, d0, d1),
        ),
    ),
    "extremum-decided": Entry(
        (make.extremum_apart, make.extremum_same),
        (make.extremum_overlapping,),
        Example(_most(i, number(-1)), "i", _most(i, number(1)), "i may be 0", i),
        ((_least(8 * j + 7, number(31)), "8*j + 7"), (_most(x + 1, x), "x + 1")),
    ),
    "join-shifted": Entry(
        (make.shifted_digits,),
        (
            make.shifted_by_part,
            make.unshifted_digits,
            make.shifted_other_factor,
            make.shifted_other_divisor,
            make.shifted_of_other,
        ),
        Example(
            8 * digit(x + 16, 8, 6) + x % 8,
            "(x + 16)%48",
            8 * digit(x + 12, 8, 6) + x % 8,
            "8 does not divide 12",
            (x + 12) % 48,
        ),
    ),
    "turn-floor": Entry(
        (make.turned_floor, make.turned_without_ends),
        (make.turned_by_one_less, make.turned_mod, make.turned_and_not),
        Example(
            (3 - x) // 4,
            "-(x//4)",
            (2 - x) // 4,
            "x = 3 gives -1, and 3 // 4 is 0",
            -(x // 4),
        ),
    ),
    "extremum-bit": Entry(
        (make.extremum_of_bit,),
        (make.extremum_of_two, make.extremum_of_sum_and_number),
        Example(
            _most(variable("r", -9, 1), number(0)),
            "(r >= 1)",
            _most(variable("r", -9, 2), number(0)),
            "r may be 2",
            _ge(variable("r", -9, 2) - 1),
        ),
        ((_least(13 - 2 * variable("r", 0, 7), number(0)), "-(2*r >= 14)"),),
    ),
    "extremum-cancel": Entry(
        (make.extremum_less_part,),
        (make.extremum_less_other,),
        Example(
            4 * _least(2 * i, number(13)) - 8 * i,
            "4*min(0, -2*i + 13)",
            4 * _least(2 * i, number(13)) - 7 * i,
            "i does not cancel",
            4 * _least(number(0), 13 - 2 * i),
        ),
    ),
    "extremum-shift": Entry(
        (make.extremum_with_common, make.extremum_of_sum_and_number),
        (make.extremum_without_common,),
        Example(
            _least(i + x, d0 + x),
            "x + min(d0, i)",
            _least(i + x, d0 + 2 * x),
            "the factors of x differ",
            _least(i, d0) + x,
        ),
        ((_least(8 * i + 7, number(63)), "min(8*i, 56) + 7"),),
    ),
    "extremum-scale": Entry(
        (make.extremum_of_multiples, make.extremum_of_negatives),
        (make.extremum_of_coprimes,),
        Example(
            _least(8 * i, number(56)),
            "8*min(i, 7)",
            _least(8 * i, number(55)),
            "8 does not divide 55",
            8 * _least(i, number(6)),
        ),
        ((_most(-i, -d0), "-min(d0, i)"),),
    ),
    "push-into-choice": Entry(
        (make.push_extremum, make.push_select),
        (make.push_two_divisions, make.push_extremum_of_mod),
        Example(
            _least(8 * i, d0) // 8,
            "min(d0//8, (8*i)//8)",
            _least(8 * i, d0) % 8,
            "a remainder may be smaller for a larger number",
            _least(8 * i % 8, d0 % 8),
        ),
        ((_choice(d0 - 4, 8 * i, j) % 8, "((8*i)%8 if d0 >= 4 else j%8)"),),
    ),
    "compare-decided": Entry(
        (make.compare_known,),
        (make.compare_unknown,),
        Example(_ge(i), "1", _ge(i - 1), "i may be 0", number(1)),
        ((_ge(-i - 1), "0"),),
    ),
    "compare-bit": Entry(
        (make.compare_of_bit,),
        (make.compare_of_three,),
        Example(
            _ge(variable("r", 0, 1) - 1),
            "r",
            _ge(variable("r", 0, 2) - 1),
            "r may be 2",
            variable("r", 0, 2),
        ),
    ),
    "compare-scale": Entry(
        (make.compare_multiples,),
        (make.compare_past_multiples, make.compare_of_bit),
        Example(
            _ge(4 * i + j - 16),
            "(i >= 4)",
            _ge(4 * i + variable("k", 0, 4) - 16),
            "k reaches 4, a multiple of its own",
            _ge(i - 4),
        ),
    ),
    "compare-floor": Entry(
        (make.compare_of_floor,),
        (make.compare_of_two_floors, make.compare_of_mod),
        Example(
            _ge(i // 4 - 3),
            "(i >= 12)",
            _ge(i % 4 - 3),
            "a remainder does not grow with i",
            _ge(i - 12),
        ),
        ((_ge(3 - i // 4), "(i <= 15)"),),
    ),
    "equal-decided": Entry(
        (make.equal_known,),
        (make.equal_unknown,),
        Example(call("==", i + 1), "0", call("==", i), "i may be 0", number(0)),
        ((call("!=", i + 1), "1"),),
    ),
    "equal-bit": Entry(
        (make.equal_of_bit,),
        (make.equal_of_three,),
        Example(
            call("==", variable("r", 0, 1)),
            "-r + 1",
            call("==", variable("r", 0, 2)),
            "r may be 2",
            1 - variable("r", 0, 2),
        ),
    ),
    "equal-scale": Entry(
        (make.equal_multiples, make.equal_between),
        (make.equal_past_multiples,),
        Example(
            call("==", 4 * i - 12),
            "(i == 3)",
            call("==", 4 * i + j - 12),
            "j may be 0",
            number(0),
        ),
        ((call("==", 4 * i - 13), "0"),),
    ),
    "select-decided": Entry(
        (make.select_known,),
        (make.select_unknown,),
        Example(
            call("select", variable("r", 1, 2), x, y),
            "x",
            call("select", variable("r", 0, 2), x, y),
            "r may be 0",
            x,
        ),
    ),
    "select-equal": Entry(
        (make.select_of_same,),
        (make.select_of_next,),
        Example(_choice(i - 4, x, x), "x", _choice(i - 4, x, y), "x and y differ", x),
    ),
    "select-extremum": Entry(
        (make.select_larger,),
        (make.select_shifted,),
        Example(
            _choice(i - d0, i, d0),
            "max(d0, i)",
            _choice(i - d0, i, d0 + 2),
            "where i is d0 + 1, the smaller one is taken",
            _most(i, d0 + 2),
        ),
    ),
    "select-shift": Entry(
        (make.select_with_common, make.select_of_neighbours),
        (make.select_of_numbers, make.select_form_or_zero),
        Example(
            _choice(i - 4, x + d0, x),
            "x + (d0 if i >= 4 else 0)",
            _choice(i - 4, d0 + x, 2 * x),
            "the factors of x differ",
            _choice(i - 4, d0, number(0)) + x,
        ),
    ),
    "select-number": Entry(
        (make.select_number_or_zero,),
        (make.select_number_by_number, make.select_form_or_zero),
        Example(
            _choice(i - 4, number(8), number(0)),
            "8*(i >= 4)",
            call("select", j, number(8), number(0)),
            "j may be 2",
            8 * j,
        ),
    ),
    "select-swap": Entry(
        (make.select_zero_first,),
        (make.select_zero_by_number, make.select_form_or_zero),
        Example(
            _choice(i - 4, number(0), x),
            "(x if i <= 3 else 0)",
            call("select", j, number(0), x),
            "j may be 2, and 1 - j is not 0 then",
            call("select", 1 - j, x, number(0)),
        ),
    ),
    "compare-not": Entry(
        (make.opposite_condition,),
        (make.other_multiple_of_condition,),
        Example(
            8 - 8 * _ge(i - 4),
            "8*(i <= 3)",
            9 - 8 * _ge(i - 4),
            "1 is left, which costs as much as before",
        ),
        ((1 - call("==", i - 4), "(i != 4)"),),
    ),
    "constant-variable": Entry(
        (make.constant_variable_one_value,),
        (make.constant_variable_two_values, make.constant_variable_of_digit),
        Example(
            3 * variable("v", 5, 5) + x,
            "x + 15",
            3 * variable("v", 5, 6) + x,
            "v has two values",
            x + 15,
        ),
    ),
    "join-digits": Entry(
        (make.join_neighbours, make.join_beside_variable),
        (
            make.join_next_factor,
            make.join_other_operand,
            make.join_apart,
            make.join_one,
            make.join_floors,
        ),
        Example(
            x % 4 + 4 * digit(x, 4, 8),
            "x%32",
            x % 4 + 5 * digit(x, 4, 8),
            "the factor is 5, but n is 4",
            x % 32,
        ),
        ((8 * (x // 4) + 2 * (x % 4), "2*x"),),
    ),
    "fold-div-mod": Entry(
        (make.fold_operand, make.fold_quotients, make.fold_parts),
        (
            make.fold_other_top,
            make.fold_next_factor,
            make.fold_same_sign,
            make.fold_part_of_operand,
            make.fold_quotients_next_factor,
            make.fold_no_divisor,
            make.fold_other_operand,
            make.fold_digits,
            make.fold_of_mod,
            make.fold_of_number,
        ),
        Example(
            x - 8 * (x // 8),
            "x%8",
            x - 7 * (x // 8),
            "the factor is 7, but the divisor is 8",
            x % 8,
        ),
        ((3 * (x // 2) - 15 * (x // 10), "3*((x//2)%5)"), (x % 8 - 4 * digit(x, 4, 2), "x%4")),
    ),
    "subtract-mod": Entry(
        (make.subtract_from_operand, make.subtract_from_digit),
        (
            make.subtract_other_factor,
            make.subtract_no_divisor,
            make.subtract_other_place,
            make.subtract_floors,
        ),
        Example(x - x % 8, "8*(x//8)", x - 2 * (x % 8), "the factors are 1 and 2", 8 * (x // 8)),
        ((3 * digit(x, 2, 12) - 3 * digit(x, 2, 4), "12*((x//8)%3)"),),
    ),
    "reduce-factor": Entry(
        (make.reduce_past_period, make.reduce_beside_other_operand),
        (make.reduce_within_period, make.reduce_shared_operand, make.reduce_floor),
        Example(
            (5 * x + y) % 4 + x,
            "x + (x + y)%4",
            (5 * x + y) % 4 + digit(5 * x + y, 8, None),
            "another digit has the same operand, and the two must stay to be seen as such",
        ),
        (((y - 9 * x) % 4, "(-x + y)%4"),),
    ),
    "split-middle": Entry(
        (make.split_middle_twice, make.split_middle_more),
        (
            make.split_middle_once,
            make.split_middle_no_multiple,
            make.split_middle_of_digit,
            make.split_middle_of_mod,
            make.split_middle_of_floors,
        ),
        Example(
            256 * digit(i, 2, 4) + 2048 * (i // 8),
            "1024*(i//8) + 256*(i//2)",
            256 * digit(i, 2, 4) + 1024 * (i // 8),
            "e is c·n itself: the two digits lie side by side, and join-digits makes one of them",
        ),
    ),
}
