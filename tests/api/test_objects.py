"""Objects of other libraries: stand-ins by the names of their types, and real ones if installed."""

from __future__ import annotations

from types import SimpleNamespace as Object
from typing import Any

import numpy as np
import pytest
import sympy

import morello_layouts as ml
from morello_layouts.notations.objects import READERS
from morello_layouts.notations.triton.text import GLUON


def made(path: str, **attributes: Any) -> Any:
    """Return a value whose type has a module and a name; calls and texts may be attributes."""
    module, _, name = path.rpartition(".")
    own = {k: v for k, v in attributes.items() if k.startswith("__")}
    value = type(name, (), {"__module__": module, **own})()
    value.__dict__.update({k: v for k, v in attributes.items() if k not in own})
    return value


MESH = made("jax._src.mesh.Mesh", axis_names=("x", "y"), axis_sizes=(2, 4))
ONE = made("jax.sharding.SingleDeviceSharding", num_devices=1)
ROWS = made("jax.sharding.NamedSharding", mesh=MESH, spec=("x", None), num_devices=8)


def jax_layout(order: Any = (0, 1), tiles: Any = (), bits: int = 0) -> Any:
    return made(
        "jax._src.layout.Layout",
        major_to_minor=order,
        tiling=tiles,
        sub_byte_element_size_in_bits=bits,
    )


def jax_array(layout: Any, sharding: Any = ONE, dtype: str = "float32", **more: Any) -> Any:
    made_of = made("jax._src.layout.Format", layout=layout, sharding=sharding)
    return made(
        "jaxlib._jax.jaxlib._jax.Array",
        shape=(16, 256),
        dtype=dtype,
        format=made_of,
        sharding=sharding,
        **more,
    )


ORDER_AND_TILES = jax_layout((0, 1), ((8, 128), (2, 1)))
BLOCKED_TEXT = (
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], "
    "order = [1, 0]}>"
)
BLOCKED = made(
    "triton.experimental.gluon.language._layouts.BlockedLayout",
    size_per_thread=[1, 4],
    threads_per_warp=[8, 4],
    warps_per_cta=[4, 1],
    order=[1, 0],
    cga_layout=[],
)


@pytest.mark.parametrize(
    ("value", "shape", "text"),
    [
        (jax_array(jax_layout((1, 0))), None, "f32[16,256]{0,1}"),
        (
            jax_array(ORDER_AND_TILES, dtype="bfloat16"),
            None,
            "bf16[16,256]{1,0:T(8,128)(2,1)}",
        ),
        (jax_array(jax_layout(), ROWS), None,
         "f32[16,256], mesh={'x': 2, 'y': 4}, spec=P('x', None)"),
        (ORDER_AND_TILES, (16, 256), "{1,0:T(8,128)(2,1)}"),
        (made("jax._src.layout.Format", layout=ORDER_AND_TILES, sharding=ONE), (16, 256),
         "{1,0:T(8,128)(2,1)}"),
        (ROWS, (16, 256), "mesh={'x': 2, 'y': 4}, spec=P('x', None)"),
        ((MESH, (None, "y")), (16, 256), "mesh={'x': 2, 'y': 4}, spec=P(None, 'y')"),
        (made("jax._src.core.ShapedArray", shape=(4, 8), dtype="int8"), None, "s8[4,8]"),
        (made("jax.ShapeDtypeStruct", shape=(4, 8), dtype="float8_e4m3fn"), None, "f8e4m3fn[4,8]"),
        (made("torch.memory_format", __str__=lambda _: "torch.channels_last"), (2, 3, 4, 5),
         "channels_last"),
        (made("pycute.layout.Layout", shape=((4, 2), 8), stride=((1, 32), 4)), None,
         "((4,2),8):((1,32),4)"),
        (made("cutlass.cute.core._Layout", __str__=lambda _: "(4,8):(8,1)"), None, "(4,8):(8,1)"),
        (BLOCKED, (32, 16), BLOCKED_TEXT),
        (8 * sympy.Symbol("i") + sympy.Symbol("j"), (4, 8), "i, j -> 8*i + j"),
    ],
)  # fmt: skip
def test_an_object_is_the_layout_that_its_text_is(value: Any, shape: Any, text: str) -> None:
    assert ml.are_equivalent(ml.index_map(value, shape), ml.index_map(text, shape)).holds
    assert str(ml.explain(value, shape))


ENDLESS = made("triton.x.SliceLayout", dim=0)
ENDLESS.parent = ENDLESS


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (made("jax.P", __str__=lambda _: "P('x')"), r"P\('x'\) names axes of a mesh"),
        (jax_array(jax_layout(), is_deleted=lambda: True), "has no buffer"),
        (jax_array(jax_layout(), dtype="key<fry>"), "the elements: expected a type of numbers"),
        (made("jax._src.layout.Format", layout=jax_layout(), sharding=ROWS), "on 8 devices"),
        (made("jax._src.layout.Format", layout=None, sharding=ONE), "is not a layout yet"),
        (made("jax._src.stages.Compiled"), "is a program, not an array"),
        (made("jax._src.pallas.core.BlockSpec"), "has blocks, and no places"),
        (made("torch.Tensor", layout="torch.sparse_coo"), "expected strides, got torch.sparse_coo"),
        (
            made("torch.Tensor", layout="torch.strided", is_nested=True),
            "expected strides, got nest",
        ),
        (made("triton.x.AutoLayout"), "AutoLayout is not a layout yet"),
        ((60, 1, 15, 3), "expected a layout, got a tuple of numbers"),
        ((made("torch.Shard", dim=0), made("torch.Replicate")), "placements without a mesh"),
        (sympy.Symbol("row") * 8 + sympy.Symbol("col"), "does not say which dimension is which"),
        (made("x.Broken", __dlpack__=lambda _: 1 / 0), "Broken: expected the fields .* division"),
        (made("x.Dl", __dlpack__=lambda _: 5), "Dl: expected the fields of a layout"),
        (made("x.Odd", __array_interface__={"shape": "x"}), "Odd: expected the fields of a layout"),
        (jax_layout("abc"), "Layout: expected the fields of a layout, got ValueError"),
        (jax_layout((0, (1,)), ((8,),)), "Layout: expected the fields of a layout, got TypeError"),
        (made("jax.Array", shape=(2,)), "Array: expected the fields of a layout, got Attribute"),
        (made("torch.Tensor", shape=(2,)), "Tensor: expected the fields of a layout, got Attribu"),
        (made("pycute.x.Layout", shape=(2, "x"), stride=1), "got ValueError"),
        (ENDLESS, "SliceLayout: expected the fields of a layout, got RecursionError"),
    ],
)
def test_an_object_without_a_layout_is_refused(value: Any, what: str) -> None:
    with pytest.raises(ml.LayoutError, match=what) as caught:
        ml.index_map(value, (4, 8))
    assert caught.value.fix


class Exported:
    """A value that gives its memory by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()


@pytest.mark.parametrize(
    "view",
    [np.zeros((4, 6), np.float32), np.zeros((4, 6), np.int64)[::2, ::-1], np.zeros((4, 6)).T],
)
def test_dlpack_gives_the_strides_of_numpy(view: Any) -> None:
    m = ml.index_map(Exported(view))
    first = min(_address(view, at) for at in np.ndindex(view.shape))
    for at in np.ndindex(view.shape):
        assert m(*at) == (_address(view, at) - first) // view.itemsize
    assert m.element_type.bits == 8 * view.itemsize


def _address(view: Any, at: tuple[int, ...]) -> int:
    start: int = view.ctypes.data
    return start + sum(int(x * s) for x, s in zip(at, view.strides, strict=True))


def test_channels_last_is_said() -> None:
    image = np.zeros((2, 4, 5, 3)).transpose(0, 3, 1, 2)
    assert "PyTorch's channels_last" in str(ml.explain(image))
    assert "channels_last" not in str(ml.explain(np.zeros((2, 3, 4, 5))))
    assert "channels_last" not in str(ml.explain(image[:, :2]))


def test_sizes_that_a_text_leaves_open_are_bound() -> None:
    for text, shape, formula in (
        ("f32[?,8]", ("M", 8), "(d0, d1) -> 8*d0 + d1"),
        ("(?,8):(8,1)", ("M", 8), "(d0, d1) -> 8*d0 + d1"),
        ("memref<?x8xf32, strided<[?, 1]>>", (4, 8), "(d0, d1) -> S0*d0 + d1"),
    ):
        m = ml.index_map(text, shape)
        assert str(m) == formula
        assert [str(n) for n in m.recipe.shape] == [*map(str, shape)]
        with pytest.raises(ml.LayoutError):
            ml.index_map(text, ("M", 9))


def test_objects_go_out_again() -> None:
    m = ml.index_map(np.zeros((4, 6))[1:, ::2])
    assert m.to_torch() == ((3, 3), (6, 2), 6)
    assert ml.index_map("f32[3,5]{1,0:T(1,8)}").to_torch() == ((3, 5), (8, 1), 0)
    with pytest.raises(ml.LayoutError):
        ml.index_map("f32[3,5]{1,0:T(2,2)}").to_torch()
    found = ml.bank_conflicts("f32[32,32]", "column").to_dict()
    assert found["ways"] == 32
    assert ml.agree("[0, 1]", "[1, 0]", (4, 8)).to_dict()["holds"] is False
    assert "arrays" in ml.explain("f32[8]").to_dict()


def test_each_reader_has_a_name_of_library_and_type() -> None:
    assert all(len(name.split()) == 2 for name in READERS)
    assert {f"triton {name}" for name in GLUON} <= READERS.keys()


def test_a_compiled_program_is_read() -> None:
    text = (
        "HloModule m\n\nENTRY %e (a: f32[8]) -> f32[8] {\n  ROOT %a = f32[8]{0} parameter(0)\n}\n"
    )
    compiled = made("jax._src.stages.Compiled", as_text=lambda: text)
    lowered = made("jax._src.stages.Lowered", as_text=lambda **_: text)
    assert ml.read_hlo(compiled).name == "m"
    assert ml.diagnose(compiled).to_dict()["warnings"] == []
    assert "lowered.compile()" in ml.read_hlo(lowered).warnings[0]
    with pytest.raises(ml.LayoutError, match="has no buffer assignment"):
        ml.memory(lowered)
    with pytest.raises(ml.LayoutError, match="has no HLO text"):
        ml.read_hlo(made("jax._src.stages.Compiled", as_text=lambda: None))


def _field(key: int, value: int | bytes) -> bytes:
    def number(n: int) -> bytes:
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)

    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def test_the_memory_of_a_compiled_program() -> None:
    """The message as buffer_assignment.proto has it, with one parameter and one output."""
    text = (
        "HloModule m, is_scheduled=true\n\nENTRY %e (a: f32[300]) -> f32[300] {\n"
        "  %a = f32[300]{0} parameter(0)\n  ROOT %b = f32[300]{0} negate(%a)\n}\n"
    )
    instructions = b"".join(
        _field(2, _field(1, name) + _field(35, number)) for name, number in ((b"a", 7), (b"b", 8))
    )
    buffers = b"".join(
        _field(1, _field(1, k) + _field(2, 1200) + _field(3, _field(4, number)))
        for k, number in ((0, 7), (1, 8))
    )
    parameter = _field(1, 0) + _field(2, 1200) + _field(5, 1) + _field(9, _field(3, 1200))
    output = (
        _field(1, 1) + _field(2, 1200) + _field(7, 1) + _field(9, _field(1, 1) + _field(3, 1200))
    )
    module = Object(
        as_serialized_hlo_module_proto=lambda: _field(3, instructions), to_string=lambda: text
    )
    compiled = made(
        "jax._src.stages.Compiled",
        as_text=lambda: text,
        memory_analysis=lambda: Object(
            serialized_buffer_assignment_proto=buffers + _field(3, parameter) + _field(3, output)
        ),
        runtime_executable=lambda: Object(hlo_modules=lambda: [module]),
    )
    found = ml.memory(compiled)
    assert found.total == 2400
    assert "1.17 KiB parameters" in str(found)


def test_an_exception_is_an_out_of_memory_report() -> None:
    error = RuntimeError(
        "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm. "
        "Exceeded hbm capacity by 4.25G."
    )
    assert "20.00 GiB needed of 15.75 GiB" in str(ml.read_oom(error))
    with pytest.raises(ml.LayoutError, match="holds no out-of-memory report"):
        ml.read_oom(ValueError("no such name"))


# ---- the libraries themselves, if they are installed


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.zeros((4, 8), jax.numpy.bfloat16)
    assert str(ml.index_map(x)) == "(d0, d1) -> 8*d0 + d1"
    assert ml.index_map(x).to_jax() == x.format.layout
    compiled = jax.jit(lambda a: (a.T @ a).sum()).lower(x).compile()
    stats = compiled.memory_analysis()
    report = ml.memory(compiled)
    assert report.total >= stats.argument_size_in_bytes + stats.temp_size_in_bytes > 0


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)[:, 1:]
    m = ml.index_map(x)
    assert m.to_torch() == (tuple(x.shape), x.stride(), x.storage_offset())
    with pytest.raises(ml.LayoutError, match="expected strides"):
        ml.index_map(x.to_sparse())


def test_tensor_layouts() -> None:
    tl = pytest.importorskip("tensor_layouts")
    layout = tl.compose(tl.Swizzle(3, 3, 3), tl.Layout((8, 64), (64, 1)))
    m = ml.index_map(layout)
    assert all(m(*at) == layout(*at) for at in np.ndindex(8, 64))


def test_triton() -> None:
    gl = pytest.importorskip("triton.experimental.gluon.language._layouts")
    layout = gl.SwizzledSharedLayout(4, 2, 4, [1, 0])
    assert ml.are_equivalent(ml.index_map(layout, (32, 64)), ml.index_map(repr(layout), (32, 64)))


def test_a_table_of_pandas() -> None:
    pytest.importorskip("pandas")
    frame = ml.explain("(f32[8], s32[2])").to_frame()
    assert len(frame) == 2
    with pytest.raises(ml.LayoutError, match="expected the key of a list"):
        ml.explain("f32[8]").to_frame("text")
