"""Changes of JAX functions: each computes the same. They need JAX, which the extra [tpu] has."""

import math
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.programs.tpu_compiler.advice import Advised
from morello_layouts.programs.tpu_compiler.compare import argument, difference
from morello_layouts.programs.tpu_compiler.compilation import Figures
from morello_layouts.programs.tpu_compiler.process import Compiler

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax", reason="the extra [tpu] is not installed")

from jax import lax, numpy as jnp  # noqa: E402

from morello_layouts.programs.tpu_compiler import arguments, operations, values  # noqa: E402
from morello_layouts.programs.tpu_compiler.operations import sites  # noqa: E402
from morello_layouts.programs.tpu_compiler.program import (  # noqa: E402
    Change,
    load_arguments,
    load_function,
    trace,
)

FAKE = str(Path(__file__).parents[1] / "support" / "fake_compiler.py")


def scanned(matrices: Any, first: Any) -> Any:
    def step(product: Any, matrix: Any) -> Any:
        product = product @ matrix
        return product, (product, product.sum())

    return lax.scan(step, first, matrices)


def backwards(x: Any) -> Any:
    return lax.scan(lambda c, row: (c + row, c * 2), x[0], x, reverse=True)


def batched(a: Any, b: Any) -> Any:
    return jnp.einsum("bqhd,bkhd->bhqk", a, b)


def nested(a: Any, b: Any) -> Any:
    def body(_: int, c: Any) -> Any:
        return jnp.where(c.sum() > 0, jax.jit(jnp.dot)(c, b), c)

    return lax.fori_loop(0, 3, body, lax.cond(a[0, 0] > 0, lambda x: x @ b, lambda x: x, a))


def differentiated(a: Any, b: Any) -> Any:
    return jax.grad(lambda a, b: jax.nn.relu(jax.checkpoint(jnp.dot)(a, b)).sum(), (0, 1))(a, b)


def sorted_rows(x: Any, y: Any) -> Any:
    return lax.sort((x, y), dimension=1, num_keys=1, is_stable=True)


def sorted_pairs(x: Any, y: Any, z: Any) -> Any:
    return lax.sort((x, y, z), dimension=0, num_keys=2)


def sorted_floats(x: Any) -> Any:
    return jnp.median(x, -1), jnp.sort(jnp.where(x > 1, jnp.nan, x), axis=1)


FUNCTIONS: list[tuple[Callable[..., Any], tuple[str, ...]]] = [
    (scanned, ("f32[64,3,3]", "f32[3,3]")),
    (backwards, ("f32[32,2,5]",)),
    (batched, ("f32[2,5,3,4]", "f32[2,7,3,4]")),
    (nested, ("f32[4,4]", "f32[4,4]")),
    (differentiated, ("f32[5,4]", "f32[4,3]")),
    (sorted_rows, ("s32[6,9]", "s32[6,9]")),
    (sorted_pairs, ("s32[9,6]", "u8[9,6]", "f32[9,6]")),
    (sorted_floats, ("f32[6,9]",)),
]


def results(program: Any, given: Any) -> list[Any]:
    flat = [argument(aval, k) for k, aval in enumerate(given.avals)]
    return [np.asarray(x) for x in program.returned(*program.call(*program.stored(*flat)))]


@pytest.mark.slow
def test_changed_functions_compute_the_same() -> None:
    """NaN, ties and the order of equal keys too."""
    wrong, kinds = [], set()
    for function, shapes in FUNCTIONS:
        program = trace(function, shapes)
        wanted = results(program, program)
        for kind in operations.OPERATION_KINDS:
            for candidate in kind(program):
                kinds.add(candidate.kind)
                found = results(candidate.apply(program), program)
                off = max(map(difference, wanted, found), default=0.0)
                if off > 1e-5:
                    wrong.append((function.__name__, candidate.kind, off))
    assert not wrong
    assert kinds == {
        *("product as sums", "operand order", "sorting network", "long dimension last"),
        *("scan in blocks", "scan unrolled", "flat stacks"),
    }


def updated(weight: Any, gradient: Any, mean: Any) -> Any:
    mean = 0.9 * mean + 0.1 * gradient
    norm = jnp.sqrt(jnp.sum(gradient * gradient))
    return weight - 1e-2 * jnp.sign(mean) / jnp.maximum(norm, 1), jax.nn.softmax(mean)


def residual(x: Any, w: Any) -> Any:
    def loss(x: Any) -> Any:
        y = jax.jit(jnp.tanh)(x @ w.astype(jnp.float32))
        for _ in range(3):
            y = jnp.sin(y) @ y.T @ y / 50
        return y.sum()

    return jax.grad(loss)(x)


def transposed(x: Any, w: Any) -> Any:
    return jnp.abs(x) @ w.astype(jnp.float32).T, jnp.where(x > 0, 2.0, x)


VALUES: list[tuple[Callable[..., Any], tuple[str, ...]]] = [
    (updated, ("f32[40,7,33]",) * 3),
    (residual, ("f32[30,20]", "f16[20,12]")),
    (transposed, ("f32[30,20]", "f16[10,20]")),
    (lambda x, y: jnp.concatenate([x, y * 2]).reshape(-1), ("f32[5,3]", "f32[4,3]")),
]


@pytest.mark.slow
def test_changes_of_values_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms, layouts, values that are computed twice, arguments as they are read, bf16."""
    monkeypatch.setattr(values, "LEAST", 1)
    wrong, kinds, unchanged = [], set(), []
    for function, shapes in VALUES:
        program = trace(function, shapes)
        wanted = results(program, program)
        for kind in values.VALUE_KINDS:
            for candidate in kind(program):
                kinds.add(candidate.kind)
                changed = candidate.apply(program)
                off = max(map(difference, wanted, results(changed, program)), default=0.0)
                if off > (1e-5 if candidate.exact else 3e-2):
                    wrong.append((candidate.kind, candidate.where, off))
                if changed.module() == program.module():
                    unchanged.append((candidate.kind, candidate.where))
    assert (wrong, unchanged) == ([], [])
    assert kinds == {
        *("forms chosen together", "folding throughout", "layout inside"),
        *("recomputed value", "conversion at the boundary", "value written", "value in bf16"),
    }


def test_operations_and_results_without_a_variable_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Printing has no result, and a result may be a number."""
    monkeypatch.setattr(values, "LEAST", 1)
    program = trace(printed, ("f32[40,7,33]",))
    changed = [c.apply(program) for kind in values.VALUE_KINDS for c in kind(program)]
    folded = [each for each in changed if each.decoders]
    assert len(folded) == 3
    assert all(len(sites(each, "debug_print")) == 1 for each in changed)
    wanted = results(program, program)
    assert max(difference(*p) for f in folded for p in zip(wanted, results(f, f), strict=True)) == 0


def test_changes_change_the_function() -> None:
    """Each kind leaves the operation that it replaces nowhere, not even in loops and calls."""
    program = trace(nested, ("f32[4,4]", "f32[4,4]"))
    assert len(sites(program, "dot_general")) == 1
    summed, unrolled_scans = operations.OPERATION_KINDS[0], operations.OPERATION_KINDS[-1]
    (candidate,) = summed(program)
    assert sites(candidate.apply(program), "dot_general") == []
    assert candidate.where.startswith("dot_general to float32[4,4] at test_changes.py:")
    unrolled = next(unrolled_scans(trace(scanned, ("f32[64,3,3]", "f32[3,3]"))))
    assert "scan of 64 steps" in unrolled.change


def stored(x: Any, y: Any) -> Any:
    return x * 2 + y.sum(), y + 1


def test_other_forms_of_arguments_and_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "LEAST", 1)
    program = trace(stored, ("f32[300,3,5]", "f32[200,130]"))
    wanted = results(program, program)
    wrong, kinds = [], set()
    for candidate in (*arguments.other_forms(program), *arguments.narrow_types(program)):
        kinds.add(candidate.kind)
        changed = candidate.apply(program)
        off = max(map(difference, wanted, results(changed, program)))
        same = changed.avals == program.avals and changed.result_avals == program.result_avals
        if off > (1e-6 if candidate.exact else 1e-2) or same:
            wrong.append((candidate.kind, candidate.change, off))
    assert not wrong
    assert kinds == {"axis order", "padding", "element type"}
    twice = program
    for candidate in arguments.other_forms(program):
        if candidate.kind == "padding":
            twice = candidate.apply(twice)
    assert max(map(difference, wanted, results(twice, program))) == 0


def test_donations_pair_arguments_with_results() -> None:
    program = trace(lambda a, b, c: (b + 1, a.sum() + c[0]), ("f32[8]", "f32[9]", "f32[9]"))
    (found,) = arguments.donations(program)
    assert (found.where, found.apply(program).donated) == ("b for result[0]", frozenset({1}))
    donated = trace(jax.jit(lambda a: a + 1, donate_argnums=0), ("f32[8]",))
    assert list(arguments.donations(donated)) == []
    assert b"tf.aliasing_output" in found.apply(program).module()


def test_layouts_are_attributes_of_the_module() -> None:
    program = trace(lambda a, b: a + b, ("f32[8,128]{0,1}", "f32[8,128]"))
    assert program.parameter_modes == ((0, "{0,1}"),)
    assert b"{0,1}" in program.module()
    chosen = [*arguments.chosen_layouts(program)][1].apply(program)
    assert b"auto" in chosen.module()
    assert b"auto" not in program.module()


def test_shardings_of_arguments() -> None:
    P = jax.sharding.PartitionSpec
    found = [*arguments._specs((8, 6), P("a", None), {"a": 2, "b": 4})]
    assert found == [P(None, "a"), P(("a", "b"), None)]
    mesh = jax.sharding.AbstractMesh((2, 2), ("a", "b"))
    struct = jax.ShapeDtypeStruct(
        (512, 512), jnp.float32, sharding=jax.sharding.NamedSharding(mesh, P("a", None))
    )
    program = trace(lambda x: x @ x, (struct,))
    changed = next(arguments.moved_shardings(program)).apply(program)
    assert (program.devices, program.specs[0], changed.specs[0]) == (4, P("a", None), P(None, "a"))
    assert b"num_partitions" in changed.module()


def test_arguments_of_every_kind_are_traced() -> None:
    tree = {"w": np.zeros((2, 3), np.float32), "b": jnp.zeros(3)}
    program = trace(
        lambda params, x, n: x @ params["w"] * n + params["b"],
        (tree, ml.parse("bf16[7,2]{0,1}"), 2.0),
    )
    assert program.arguments == ("params['b']", "params['w']", "x", "n")
    assert [str(a) for a in program.avals][:3] == ["float32[3]", "float32[2,3]", "bfloat16[7,2]"]
    assert program.parameter_modes == ((2, "{0,1}"),)


def printed(x: Any) -> Any:
    jax.debug.print("{}", x[0])
    return jnp.abs(x) * 2, 1.0


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: trace(len, ("f32[8",)), "expected"),
        (lambda: trace(lambda x: x, ("[1, 0]",)), "argument: expected the text of an array"),
        (lambda: trace(lambda x: x, (object(),)), "argument: expected an array or its type"),
        (lambda: trace(jnp.dot, ("f32[2,3]", "f32[2,3]")), "dot could not be traced: TypeError"),
        (lambda: trace(printed, ("f32[8]",)).module(), "printed could not be lowered: ValueError"),
        (lambda: ml.tpu.diagnose(3, compiler=Compiler(("x",))), "function: expected a function"),
        (lambda: load_function("nowhere.py:f"), "nowhere.py is not a file"),
        (lambda: load_function("f"), "function: expected FILE.py:FUNCTION, got f"),
    ],
)
def test_errors(call: Callable[[], Any], what: str) -> None:
    with pytest.raises(ml.LayoutError) as caught:
        call()
    assert caught.value.what.startswith(what)


def test_functions_of_files(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("def f(x):\n    return x\ndef example():\n    return ('f32[8]',)\nn = 3\n")
    assert load_function(f"{file}:f")(5) == 5
    assert load_arguments(f"{file}:f", "example") == ("f32[8]",)
    for name, what in (("g", "has nothing named g"), ("n", "n is not a function")):
        with pytest.raises(ml.LayoutError) as caught:
            load_function(f"{file}:{name}")
        assert caught.value.what.endswith(what)
    (tmp_path / "wrong.py").write_text("1 / 0\n")
    with pytest.raises(ml.LayoutError, match="fails: ZeroDivisionError"):
        load_function(f"{tmp_path / 'wrong.py'}:f")


def test_advice_shows_what_is_better_and_remembers(tmp_path: Path) -> None:
    """The command in the compiler's place charges less for donated arguments alone."""
    fake = Compiler((sys.executable, FAKE, "donation"))
    advise = partial(
        ml.tpu.advise, lambda x: x + 1, "f32[512,128]", compiler=fake, memory=tmp_path, budget=4
    )
    advice = advise()
    assert [(a.kind, a.where, a.equal) for a in advice.advice] == [
        ("donation", "x for result", True)
    ]
    assert advice.best is not None
    assert (advice.before.peak_bytes, advice.best.after.peak_bytes) == (1 << 20, 1 << 19)
    assert (advice.compiled, advice.worse, advice.refused) == (4, 3, 0)
    assert advice.left > 0
    kept = advise(compiler=Compiler(("false",)))
    assert kept.advice[0].after == advice.advice[0].after


def test_a_folder_keeps_the_figures_that_were_used_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged file is compiled again; files of the user stay; a folder may take no files."""
    search = sys.modules["morello_layouts.programs.tpu_compiler.advise"]
    fake = Compiler((sys.executable, FAKE, "donation"))
    advise = partial(ml.tpu.advise, lambda x: x + 1, "f32[512,128]", compiler=fake, budget=0)
    (tmp_path / "of_the_user.json").write_text("{}")
    wanted = advise(memory=tmp_path).before
    (kept,) = tmp_path.glob("v5e_*.json")
    for text in ("", "[]", '{"figures": {}, "layouts": [], "held": {}}'):
        kept.write_text(text)
        assert advise(memory=tmp_path).before == wanted
    monkeypatch.setattr(search, "ADVICE_KEPT", 2)
    first, second = (kept.with_name(kept.name.replace("v5e", name)) for name in ("v4", "v5p"))
    for age, path in enumerate((kept, second, first)):
        path.write_text(kept.read_text())
        os.utime(path, (1e9 - age, 1e9 - age))
    os.utime(kept, (0, 0))  # but it is used now
    advise(memory=tmp_path)
    assert {*tmp_path.iterdir()} == {tmp_path / "of_the_user.json", kept, second}
    assert advise(memory=tmp_path / "of_the_user.json").before == wanted


def checked(program: Any, *changes: Change, is_over: bool = False) -> list[Advised | None]:
    """Return what the comparison of changed functions says."""
    from morello_layouts.programs.tpu_compiler.advise import _Checks, _Trial, _Trials, _Tried

    pytest.importorskip("flatbuffers", reason="jax.export needs it")
    trials = _Trials("v5e", Compiler(("false",)), None, None, -1 if is_over else math.inf)
    trial = _Trial(Figures(1, 0, 0, None), ())
    tried = [_Tried(change, change.apply(program), trial) for change in changes]
    return _Checks(program, (), trials).advised(tried)


def test_changed_function_that_differs_is_not_shown() -> None:
    program = trace(lambda x: x + 1, ("f32[8]",))
    good, same, bad = (
        Change("kind", "change", "where", apply)
        for apply in (
            lambda p: p.with_function(lambda x: [1 + x]),
            lambda p: p,
            lambda p: p.with_function(lambda x: [x + 2]),
        )
    )
    found, unchanged, other = checked(program, good, same, bad)
    assert found is not None
    assert unchanged is not None
    assert (found.equal, found.difference, other) == (True, 0.0, None)
    assert unchanged.note == "the function itself is unchanged"
    (ended,) = checked(program, good, is_over=True)
    assert ended is not None
    assert ended.note == "not compared: the search was ended"


def test_rounding_of_arguments_is_measured_and_told() -> None:
    """An exponential makes the rounding of bf16 large; a program alone would leave it out."""
    program = trace(lambda x: jnp.exp(12 * x).max(0), ("f32[1024,64]",))
    (found,) = checked(program, next(arguments.narrow_types(program)))
    x = argument(program.avals[0], 0)
    wanted, rounded = (
        np.exp(12 * a.astype(np.float64)).max(0) for a in (x, x.astype(jnp.bfloat16))
    )
    largest = np.abs(wanted - rounded).max() / wanted.max()
    assert largest > 0.03
    assert found is not None
    assert f"{largest:.2g} (near 1), " in found.note
    assert found.difference is not None
    assert found.difference >= largest * 0.99
    assert found.equal is False
    assert "the same" not in found.note
    assert found.note.endswith("yours to judge")


def test_kernels_that_no_cpu_runs_are_not_compared() -> None:
    """A program with a Pallas kernel for TPUs is advised on all the same."""
    from jax.experimental import pallas

    def doubled(source: Any, target: Any) -> None:
        target[...] = source[...] * 2

    kernel = pallas.pallas_call(doubled, out_shape=jax.ShapeDtypeStruct((300, 64), jnp.float32))
    program = trace(kernel, ("f32[300,64]",))
    changes = [*arguments.donations(program), *arguments.other_forms(program)]
    found = [a and (a.equal, a.note) for a in checked(program, *changes)]
    assert found[0] == (True, "the function itself is unchanged")
    assert {*found[1:]} == {
        (None, "not compared: Only interpret mode is supported on CPU backend.")
    }


def test_memory_that_costs_cycles_has_its_own_list() -> None:
    """Donation halves the peak, and the estimate of cycles is ten times as large."""
    fake = Compiler((sys.executable, FAKE, "donation", "900"))
    advice = ml.tpu.advise(lambda x: x + 1, "f32[512,128]", compiler=fake, budget=4)
    assert (advice.advice, advice.together) == ((), None)
    (found,) = advice.memory_only
    assert (found.kind, found.after.peak_bytes, found.after.cycles) == ("donation", 1 << 19, 1000)
    assert advice.worse == 3
    text = str(advice)
    assert "donation saves more memory, 1.00 MiB → 512.00 KiB, estimated cycles 100 → 1,000" in text


def test_ctrl_c_ends_the_search_and_a_second_one_the_program() -> None:
    def interrupted(times: int) -> Any:
        signals = iter([signal.SIGINT] * times)

        def interrupt(line: str) -> None:
            if line.startswith("tried 2 of"):
                for each in signals:
                    signal.raise_signal(each)

        fake, function = Compiler((sys.executable, FAKE, "donation")), lambda x: (x * 2, x.sum())
        return ml.tpu.advise(function, "f32[512,128]", compiler=fake, budget=9, progress=interrupt)

    advice = interrupted(1)
    assert advice.compiled == 2
    assert advice.left >= 7
    assert advice.together is None
    with pytest.raises(KeyboardInterrupt):
        interrupted(2)
