"""Every rule of the simplifier: what it rewrites at the edge of its side condition, and what not.

What the makers of ``fires`` give must be rewritten to something equal and smaller; what those of
``stays`` give, one past the edge, must be left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.expr import AffineExpr, Digit, digit, variable
from tests.support import expr_rule_makers as make
from tests.support.expr_judges import as_form, differences, size_of
from tests.support.expr_rule_makers import take

Maker: TypeAlias = "Callable[[Callable[[int, int], int]], Digit | AffineExpr]"


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule's makers of nodes; ``examples`` are nodes and what is printed for the result."""

    fires: tuple[Maker, ...]
    stays: tuple[Maker, ...]
    examples: tuple[tuple[Digit | AffineExpr, str], ...]


def rules_in(*modules):
    """The rules of every table of some modules, mutated or not, by name."""
    tables = [t for m in modules for name, t in vars(m).items() if name.endswith("_RULES")]
    return {rule.name: rule for table in tables for rule in table}


def check_fires(rule, node):
    """The rule rewrites the node to something smaller, equal at every value."""
    before, after = as_form(node), rule.apply(node)
    assert after is not None, f"{rule.name} leaves {before}"
    assert differences(before, after) is None, f"{rule.name}: {before} is not {after}"
    assert size_of(after) < size_of(before), f"{rule.name}: {after} is no smaller than {before}"


def check_stays(rule, node):
    """The rule leaves the node alone."""
    after = rule.apply(node)
    assert after is None, f"{rule.name} makes {after} of {as_form(node)}"


def check_example(rule, node, printed):
    """The rule makes of the node what the table says."""
    check_fires(rule, node)
    assert str(rule.apply(node)) == printed


i = variable("i", 0, 31)
j = variable("j", 0, 3)
x, y = variable("x"), variable("y")
d0, d1, d2 = (variable(f"d{k}", 0, 9) for k in range(3))

ENTRIES = {
    "identity": Entry(
        (make.identity_mod_one, make.identity_group),
        (make.identity_mod_two, make.identity_half),
        ((take(x, 3, 1), "0"), (take(x + 2, 1, None), "x + 2")),
    ),
    "constant": Entry(
        (make.constant_of_floor, make.constant_of_digit),
        (make.constant_past, make.constant_past_digit),
        ((take(variable("i", 8, 11), 4, None), "2"), (take(variable("i", -8, -5), 4, 3), "1")),
    ),
    "drop-mod": Entry(
        (make.drop_mod_block,),
        (make.drop_mod_past, make.drop_mod_astride, make.drop_mod_without_mod),
        (
            (take(variable("d0", 53, 71), 1, 42), "d0 - 42"),
            (take(variable("d0", -5, -1), 1, 5), "d0 + 5"),
            (take(i, 8, 4), "i//8"),
        ),
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
        (
            (take(x // 4, 8, None), "x//32"),
            (take(x % 32, 4, None), "(x//4)%8"),
            (take(x % 12, 1, 4), "x%4"),
            (take(x % 12, 2, 18), "(x//2)%6"),
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
        (
            (take(16 * d0 + 4 * d1 + d2, 8, None), "2*d0 + (4*d1 + d2)//8"),
            (take(16 * d0 + 4 * d1 + d2, 1, 8), "(4*d1 + d2)%8"),
            (take(x - 1, 4, None), "(x + 3)//4 - 1"),
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
        (
            (take(4 * x + j, 16, None), "x//4"),
            (take(8 * x + 4 * y + j - 4, 12, 5), "((2*x + y - 1)//3)%5"),
        ),
    ),
    "split-remainder": Entry(
        (make.split_remainder_block,),
        (
            make.split_remainder_past,
            make.split_remainder_astride,
            make.split_remainder_finer,
            make.split_remainder_without_mod,
        ),
        (
            (take(4 * x + j, 1, 12), "4*(x%3) + j"),
            (take(4 * x + j, 2, 6), "2*(x%3) + j//2"),
        ),
    ),
    "drop-inner-mod": Entry(
        (make.drop_inner_mod_period,),
        (make.drop_inner_mod_part, make.drop_inner_mod_in_floor, make.flatten_inner_div_as_mod),
        (
            (take(2 * (x % 6) + y, 1, 4), "(2*x + y)%4"),
            (take(3 * (x % 4) + y, 2, 6), "((3*x + y)//2)%6"),
        ),
    ),
    "flatten-inner-div": Entry(
        (make.flatten_inner_div_once,),
        (make.flatten_inner_div_scaled, make.flatten_inner_div_of_digit),
        (
            (take(y + x // 4, 2, 3), "((4*y + x)//8)%3"),
            (take(y + x // 4, 5, None), "(4*y + x)//20"),
        ),
    ),
    "constant-variable": Entry(
        (make.constant_variable_one_value,),
        (make.constant_variable_two_values, make.constant_variable_of_digit),
        ((3 * variable("v", 5, 5) + x, "x + 15"),),
    ),
    "join-digits": Entry(
        (make.join_neighbours,),
        (
            make.join_next_factor,
            make.join_other_operand,
            make.join_apart,
            make.join_one,
            make.join_floors,
        ),
        (
            (digit(x, 4, 8) * 4 + digit(x, 1, 4), "x%32"),
            (digit(x, 4, None) * 8 + digit(x, 1, 4) * 2, "2*x"),
        ),
    ),
    "fold-div-mod": Entry(
        (make.fold_operand, make.fold_quotients),
        (
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
        (
            (x - (x // 8) * 8, "x%8"),
            (3 * (x // 2) - 15 * (x // 10), "3*((x//2)%5)"),
        ),
    ),
    "reduce-factor": Entry(
        (make.reduce_past_period,),
        (make.reduce_within_period, make.reduce_shared_operand, make.reduce_floor),
        (
            ((5 * x + y) % 4 + x, "x + (x + y)%4"),
            ((y - 9 * x) % 4, "(-x + y)%4"),
        ),
    ),
    "split-middle": Entry(
        (make.split_middle_twice, make.split_middle_more),
        (
            make.split_middle_once,
            make.split_middle_no_multiple,
            make.split_middle_of_mod,
            make.split_middle_of_floors,
        ),
        ((digit(i, 2, 4) * 256 + digit(i, 8, None) * 2048, "1024*(i//8) + 256*(i//2)"),),
    ),
}
