"""Records: text, proofs against counting bits, wrong texts, files of weights."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.check import check
from morello_layouts.errors import LayoutError
from morello_layouts.programs.records import Record, formats
from tests.support.weights import gguf


@pytest.mark.parametrize("name", formats())
def test_a_text_is_read_as_it_is_printed(name: str) -> None:
    record = ml.record(name)
    assert str(ml.record(str(record))) == str(record)


# ---- proofs against counting each bit


def drawn(random: Random) -> Record:
    """A record of a few fields, often with overlaps, gaps and bits outside."""
    lines, size = [], random.choice([2, 4, 6, 8])
    for name in "abc"[: random.randint(1, 3)]:
        kind, count = (
            random.choice(["u1", "u2", "u4", "s4", "u6", "u8"]),
            random.choice([1, 2, 3, 4]),
        )
        bits = int(kind[1:])
        layout = ' as "(h l) -> l h, h=2"' if count == 4 and random.random() < 0.5 else ""
        unit = random.choice(["", "", f" by {bits + random.choice([0, 1, 8])}", " by 3"])
        place = f"at bit {random.randint(0, 8 * size - bits)}"
        pieces = f"{place}{unit}{layout}"
        if bits > 2 and random.random() < 0.3:
            pieces = f".0:2 {place}{unit}{layout}, .2:{bits} at bit {random.randint(0, 40)} by 4"
        lines.append(f"{name}: {kind}[{count}] {pieces}")
    return ml.record(f"r[B]: {size} bytes {{ {'; '.join(lines)} }}")


def counted(record: Record) -> tuple[bool, bool, bool, int]:
    """Whether all bits are inside, no piece meets itself, no two pieces meet; unused bits."""
    size, every = int(record.bits), []
    for part in record.parts:
        boxes = [range(int(n)) for n in part.bits.sizes]
        every.append([int(part.bits(*at)) for at in product(*boxes)])
    inside = all(0 <= bit < size for bits in every for bit in bits)
    injective = all(len(set(bits)) == len(bits) for bits in every)
    apart = sum(len(set(bits)) for bits in every) == len(set().union(*every))
    return inside, injective, apart, size - len(set().union(*every))


@pytest.mark.parametrize("seed", range(10))
def test_proofs_are_what_counting_says(seed: int) -> None:
    random = Random(seed)
    seen = set()
    for _ in range(15):
        record = drawn(random)
        proof, (inside, injective, apart, unused) = record.check(), counted(record)
        found = (proof.inside.holds, proof.injective.holds, proof.disjoint.holds)
        assert found == (inside, injective, apart), record
        assert proof.unused == (unused if all(found) else None)
        seen.add(proof.holds)
    assert seen == {True, False}


def sized(random: Random) -> str:
    """Fields of N, M or some numbers, at places that may leave the block or meet."""
    sizes = [random.choice(["N", "M", "3", "1"]) for _ in range(random.randint(2, 4))]
    fields = [f"f{k}: u8[{n}] at byte {random.choice([0, 2, 4, 7, 9, 12])}"
              for k, n in enumerate(sizes)]  # fmt: skip
    end = random.choice(["10 bytes", "N bytes", "16 bytes"])
    return f"r: {end} {{ {'; '.join(fields)} }}"


@pytest.mark.parametrize("seed", range(12))
def test_conditions_of_several_fields_hold_together(seed: int) -> None:
    """At each of some sizes, as integers have it: a condition of one field alone is too weak."""
    text = sized(Random(seed))
    found = ml.record(text).check()
    fields = re.findall(r"u8\[(\w+)\] at byte (\d+)", text)
    for sizes in ({"N": n, "M": m} for n, m in product((1, 2, 3, 5, 7, 9, 10, 16, 20), repeat=2)):
        end = sizes["N"] if "N bytes" in text else int(text.split()[1])
        spans = [range(int(at), int(at) + (sizes.get(n) or int(n))) for n, at in fields]
        every = [byte for span in spans for byte in span]
        truth = max(every) < end, len({*every}) == len(every)
        for proof, wanted in zip((found.inside, found.disjoint), truth, strict=True):
            told = proof.holds
            if proof.condition is not None:
                expr = proof.condition.expr
                told = bool(expr.subs({x: sizes[x.name] for x in expr.free_symbols}))
            assert told is wanted, (text, proof.verdict, sizes)


# ---- certificates, explanations, pictures


@pytest.mark.parametrize("name", formats())
def test_certificates_of_all_block_counts_are_accepted(name: str) -> None:
    record = ml.record(name)
    found = record.certificates()
    assert {check(one) for one in found.values()} <= {"padded", "relayout"}
    places, numbers = ([one for key, one in found.items() if key.endswith(end)]
                       for end in (": places", ": number"))  # fmt: skip
    assert len(places) == len(record.parts)
    assert len({one["size"] for one in places}) == 1
    if len(places) > 1:  # one formula has another value for each piece, at the same places
        assert len({one["source"] for one in numbers}) == 1
        assert [one["offset"] for one in numbers] == [*map(str, range(len(places)))]
        assert [one["others"] for one in numbers] == [[one["offset"]] for one in places]
        assert [one["shape"] for one in numbers] == [one["shape"] for one in places]


def test_a_certificate_is_about_the_bits_of_the_buffer() -> None:
    """What a certificate states, computed in Python: each bit is where ``bits_of`` has it."""
    record = ml.record("q4_K[B]")
    whole = record.at(B=3)
    for part, (name, one) in zip(record.parts, [*record.certificates().items()][::2], strict=True):
        for block, *at in [(2, *(int(n) - 1 for n in part.bits.sizes)), (1, *[0] * 2)]:
            sizes = {f"d{k}": x for k, x in enumerate((block, *at))}
            place = eval(one["offset"], {}, {**sizes, "B": 3})
            lows = [lo for lo, _ in part.field.piece_box(part.piece)]
            index = [x + lo for x, lo in zip(at[:-1], lows, strict=False)]
            runs = whole.bits_of(part.field.name, block, *index[: len(lows)])
            bit = (at[-1] if lows else at[0]) + part.field.piece_bits(part.piece)[0]
            assert any(place == to + bit - lo for lo, to, n in runs if lo <= bit < lo + n), name


@pytest.mark.parametrize("given", ["q4_0", "q4_0[B]", ml.record("q4_0[B]"), str(ml.record("q4_0"))])
def test_a_record_is_explained_and_drawn(given: str | Record) -> None:
    found = ml.explain(given)
    assert found.proof.holds
    assert str(found).startswith("q4_0[B]: 18 bytes {")
    assert repr(found).startswith("<RecordReport of <Record q4_0[B]: 18 bytes d, qs>: exact")
    assert list(found.to_dict()) == ["record", "proof"]
    picture = ml.draw(given)
    assert repr(picture) == "<Picture of q4_0>"
    assert picture.svg() == ml.record("q4_0").svg()
    assert str(picture).splitlines()[1:3] == [
        "   0 aaaaaaaa aaaaaaaa BBBBbbbb BBBBbbbb BBBBbbbb BBBBbbbb BBBBbbbb BBBBbbbb",
        "   8 BBBBbbbb BBBBbbbb BBBBbbbb BBBBbbbb BBBBbbbb BBBBbbbb BBBBbbbb BBBBbbbb",
    ]


@pytest.mark.parametrize("ending", ["svg", "html", "txt"])
def test_a_picture_of_a_record_is_saved(ending: str, tmp_path: Path) -> None:
    ml.draw("awq", at={"K": 2, "N": 8}).save(tmp_path / f"awq.{ending}")
    assert "qweight" in (tmp_path / f"awq.{ending}").read_text()


# ---- wrong texts


@pytest.mark.parametrize("order", ["", " be"])
def test_words_have_an_order_of_bytes(order: str) -> None:
    found = ml.record(f"r: 6 bytes {{ a: u16{order}[3] at byte 0 }}")
    kind = ">u2" if order else "<u2"
    numbers = np.array([1, 258, 65535])
    assert found.pack({"a": numbers}).tobytes() == numbers.astype(kind).tobytes()
    assert (found.unpack(numbers.astype(kind).tobytes())["a"] == numbers).all()


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_floats_are_those_of_numpy(kind: str) -> None:
    record = ml.record(f"r: {{ a: {kind} at byte 0; value[k:1] = a }}")
    bits = np.random.default_rng(0).integers(0, 1 << 8 * int(record.byte_size), 2000)
    if kind == "f16":
        data, wanted = bits.astype("<u2"), bits.astype("<u2").view(np.float16).astype(np.float32)
    else:
        data = bits.astype("<u2" if kind == "bf16" else "<u4")
        wanted = (data.astype("<u4") << (16 if kind == "bf16" else 0)).view(np.float32)
    blocks = ml.record(str(record).replace("r:", "r[2000]:", 1))
    assert np.array_equal(blocks.decode(data.tobytes())[:, 0], wanted, equal_nan=True)


# ---- files


def test_gguf_says_which_bits_hold_a_weight(tmp_path: Path) -> None:
    content = np.random.default_rng(0).integers(0, 256, 6 * 2 * 144, np.uint8).tobytes()
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf({"bias": (0, (5,), bytes(20)), "w": (12, (6, 512), content)}))
    file = ml.read_weights(path)
    one = file["w"]
    values = ml.record("q4_K[B]").decode(content)
    assert np.array_equal(file.read("w"), values, equal_nan=True)
    assert np.array_equal(file.read("w", slice(3, 5)), values[3:5], equal_nan=True)
    data = path.read_bytes()
    ((bit, at, count),) = one.bits_of(3, 300)["qs"]
    assert (bit, count) == (0, 4)
    assert data[at // 8] >> at % 8 & 15 == ml.record("q4_K[B]").unpack(content)["qs"][7, 44]


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path, size = tmp_path / "large.safetensors", 1 << 32
    index = {"w": {"dtype": "F16", "shape": [1 << 15, 1 << 16], "data_offsets": [0, size]}}
    text = json.dumps(index).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + size)
    start, memory, begun = 8 * (8 + len(text)), resident(), process_time()
    assert ml.read_weights(path)["w"].bits_of(1, 2) == {"x": [(0, start + 16 * (65536 + 2), 16)]}
    assert process_time() - begun < 0.1  # 2 ms
    assert resident() - memory < 50 << 10  # none


def resident() -> int:
    """The most memory that the process has had, in KiB."""
    return getrusage(RUSAGE_SELF).ru_maxrss


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="could not be read"):
        ml.read_weights(tmp_path / "none.gguf")


def test_each_cut_file_is_refused(tmp_path: Path) -> None:
    whole = gguf({"w": (2, (2, 32), bytes(36))})
    path = tmp_path / "cut.gguf"
    for length in range(0, len(whole) - 28, 3):
        path.write_bytes(whole[:length])
        with pytest.raises(LayoutError):
            ml.read_weights(path)["w"].record  # noqa: B018


@pytest.mark.parametrize("seed", range(3))
def test_changed_bytes_of_an_index_end_in_an_answer_or_an_error(seed: int, tmp_path: Path) -> None:
    random, whole = Random(seed), gguf({"w": (2, (2, 32), bytes(36)), "v": (0, (3,), bytes(12))})
    path = tmp_path / "changed.gguf"
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(random.randint(1, 3)):
            data[random.randrange(4, len(data))] = random.choice([0, 1, 255, random.randrange(256)])
        path.write_bytes(data)
        try:
            file = ml.read_weights(path)
            for name in file.tensors:
                str(file[name].record)
        except LayoutError:
            continue


HOSTILE: list[object] = [
    0, -1, -(2**63), 2**64, 2**200, 1.5, float("nan"), float("inf"), None, "x", "", [], [1], {},
    True, "F16", [0, -5], [5, 0], [2**62, 2**62], ["1", "2"], [[1]], "9" * 5000, [0] * 1000,
    "type 3",
]  # fmt: skip


def used(path: Path) -> None:
    """Ask all that a file of weights answers."""
    file = ml.read_weights(path)
    assert str(file)
    assert file.to_dict()
    for name in [*file.tensors][:5]:
        one = file[name]
        assert str(one.record)
        if all(one.shape):
            for index in ([0] * len(one.shape), [n - 1 for n in one.shape]):
                one.bits_of(*index)
        file.read(name, slice(0, 1))


def test_hostile_indices_of_safetensors_end_in_an_answer_or_an_error(tmp_path: Path) -> None:
    random, path = Random(1), tmp_path / "changed.safetensors"
    whole = {"w": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]},
             "v": {"dtype": "U8", "shape": [4], "data_offsets": [12, 16]},
             "__metadata__": {"a": "b"}}  # fmt: skip
    seen = {True: 0, False: 0}
    for _ in range(500):
        index = json.loads(json.dumps(whole))
        for name in random.choices([*index], k=random.randint(1, 3)):
            row = index[name]
            if not isinstance(row, dict) or not row or random.random() < 0.2:
                index[name] = random.choice(HOSTILE)
            elif random.random() < 0.9:
                row[random.choice([*row])] = random.choice(HOSTILE)
            else:
                row.pop(random.choice([*row]))
        text = json.dumps(index).encode()
        length = random.choice([len(text)] * 9 + [2**64 - 1, len(text) - 3, len(text) + 20])
        path.write_bytes(length.to_bytes(8, "little") + text + bytes(16))
        begun = process_time()
        try:
            used(path)
            seen[True] += 1
        except LayoutError:
            seen[False] += 1
        assert process_time() - begun < 2
    assert min(seen.values()) > 20


@pytest.mark.parametrize(
    ("index", "what"),
    [
        ('{"w": {"dtype": "F16", "shape": [-1], "data_offsets": [0, 2]}}',
         "w: expected a size from 0 to 9223372036854775807, got -1"),
        ('{"w": {"dtype": "F16", "shape": [1.5], "data_offsets": [0, 2]}}',
         "w: expected a size from 0 to 9223372036854775807, got 1.5"),
        ('{"w": {"dtype": "F16", "shape": [NaN], "data_offsets": [0, 2]}}',
         "w: expected a size from 0 to 9223372036854775807, got nan"),
        ('{"w": {"dtype": "F16", "shape": [1], "data_offsets": [-2, 2]}}',
         "w: expected data_offsets from 0 to 9223372036854775807, got -2"),
        ('{"w": {"dtype": "F16", "shape": [1], "data_offsets": [4, 2]}}',
         "w: expected data_offsets that grow, got 4, 2"),
        ('{"w": {"dtype": "F16", "shape": [1], "data_offsets": [99, 101]}}',
         "w: expected a place in 88 bytes, got byte 171; the file is cut short"),
        ('{"w": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}, "w": {}}',
         "w: expected one tensor of a name"),
        ("[" * 100_000, "expected an index of GGUF or safetensors"),
    ],
)  # fmt: skip
def test_wrong_indices_are_told_by_tensor(index: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.safetensors"
    path.write_bytes(len(index).to_bytes(8, "little") + index.encode() + bytes(16))
    with pytest.raises(LayoutError) as found:
        ml.read_weights(path)
    assert what in found.value.what


def test_a_gguf_file_has_a_tensor_of_a_name_once(tmp_path: Path) -> None:
    whole = gguf({"w": (2, (2, 32), bytes(36)), "v": (0, (3,), bytes(12))})
    path = tmp_path / "twice.gguf"
    path.write_bytes(whole.replace(b"v", b"w", 1))
    with pytest.raises(LayoutError, match="w: expected one tensor of a name"):
        ml.read_weights(path)


def test_a_picture_shows_each_field() -> None:
    found = ml.record("r: 2 bytes { a: u4[3] at bit 0; b: u2 at bit 12 }").svg()
    assert found.count("byte 1, bits 6 to 7: unused") == 1
    assert found.count("a[2]") == 1


def test_a_weight_of_base_three_lies_in_the_byte_of_its_digit(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf({"w": (34, (2, 256), bytes(108))}))
    one = ml.read_weights(path)["w"]
    for k, field, byte in [(0, "qs", 0), (159, "qs", 31), (160, "qs", 32), (239, "qs", 47),
                           (240, "qh", 48), (255, "qh", 51)]:  # fmt: skip
        assert one.bits_of(1, k)[field] == [(0, 8 * (one.start + 54 + byte), 8)]
        assert set(one.bits_of(1, k)) == {"d", field}


def test_values_are_computed_in_the_order_of_their_formula() -> None:
    formula = "3*(a[k] % 4) + (b[k] - a[k])*2 - (7 - a[k] // 2 % 3) - b[k] % 5 * 2"
    record = ml.record(
        f"r: 2 bytes {{ a: u4[2] at bit 0; b: u4[2] at bit 8; value[k:2] = {formula} }}"
    )
    names: dict[str, Any] = {}
    exec(record.code("python"), names)
    for one, other in product(range(16), repeat=2):
        wanted = [eval(formula, {"a": [one, other], "b": [other, one], "k": k}) for k in (0, 1)]
        data, out = bytes([one | other << 4, other | one << 4]), np.empty(2, np.float32)
        names["r_values"](data, out)
        assert out.tolist() == record.decode(data)[0].tolist() == wanted


@pytest.mark.parametrize("kind", [bytes, bytearray, lambda data: np.frombuffer(data, np.uint8)])
def test_decoders_in_python_take_bytes_of_each_kind(kind: Any) -> None:
    """A NumPy byte shifted by 8 is 0, so numbers in two bytes are widened first."""
    data = bytes([0, 0x3C, *range(16)])
    names: dict[str, Any] = {}
    exec(ml.record("q4_0").code("python"), names)
    out = np.empty(32, np.float32)
    names["q4_0_values"](kind(data), out)
    assert (out == ml.record("q4_0").decode(data)).all()
