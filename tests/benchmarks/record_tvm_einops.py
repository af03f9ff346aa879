"""Record what TVM and einops answer: ``python record_tvm_einops.py DATA``, where both install.

It needs ``apache-tvm`` 0.27 and ``einops``, which the tests do not. ``tvm_layouts.jsonl`` has maps
(text, shape, map_shape, inverse and padding over the box) and layouts (text, shape of the array in
the order of ``source``, shape of the box, coordinates in it of some elements); ``einops.jsonl`` has
patterns (text, shape, the shape of the result, the result of rearranging 0, 1, 2, …).
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

MAPS = [
    ("lambda i: (i//4, i%4)", (14,), (3,), (16,)),
    ("lambda i: (i%4, i//4)", (20,), (7,)),
    ("lambda i: (i//16, i//4%4, i%4)", (14,), (16,), (40,)),
    ("lambda i: (i//32, i//4%8, i%4)", (20,), (64,)),
    ("lambda i: (i%4, i//4%3, i//12)", (20,), (24,)),
    ("lambda i: (i//6, i%6//4, i%6%4)", (20,), (24,), (5,)),
    ("lambda i: (i//8*8 + i%8,)", (10,), (16,)),
    ("lambda i: ((i + 3)//4, (i + 3)%4)", (10,)),
    ("lambda i, j: (i//8, j//128, i%8, j%128)", (10, 200), (3, 100), (16, 256)),
    ("lambda i, j: (i*17 + j,)", (9, 17),),
    ("lambda i, j: (i*20 + j,)", (3, 17),),
    ("lambda i, j: ((i*32 + j)//64, (i*32 + j)%64)", (6, 32), (5, 32)),
    ("lambda i, j: ((i*17 + j)//16, (i*17 + j)%16)", (3, 17),),
    ("lambda i, j: (j, i)", (3, 4), (3, 1), (1, 4)),
    ("lambda i, j: (2*i, j)", (3, 4),),
    ("lambda i, j: (j//4, i, j%4)", (3, 8), (3, 7), (2, 2)),
    ("lambda m, k: (m//128, k//4, m%32, m//32%4, k%4)", (128, 4), (130, 7), (31, 1)),
    ("lambda m, n: (n//32, m//32, m%8//2, m%32//8, m%2, n%32)", (32, 32), (64, 64)),
    ("lambda n, c, h, w: (n, c//16, h, w, c%16)", (1, 3, 4, 4), (2, 20, 3, 4), (2, 32, 2, 2)),
    ("lambda n, c, h, w: (n, h, w, c)", (2, 3, 4, 5),),
    ("lambda o, i, h, w: (o//16, i//16, h, w, i//4%4, o%16, i%4)", (17, 16, 1, 2), (20, 20, 3, 3)),
]  # fmt: skip

LAYOUTS = [
    ("NCHW", "NCHW16c", (2, 20, 3, 4), (1, 3, 5, 6), (1, 32, 2, 2)),
    ("NCHW", "NHWC", (2, 3, 4, 5),),
    ("NCHW", "NCHW4n8c", (5, 9, 2, 3), (8, 16, 1, 1)),
    ("OIHW", "OIHW16i8o", (9, 17, 3, 3), (16, 16, 1, 1)),
    ("OIHW", "HWIO", (4, 3, 2, 5),),
    ("OIHW", "OHWI4i", (5, 6, 2, 2),),
    ("NCDHW", "NDHWC8c", (1, 9, 2, 3, 2),),
    ("NCW", "NWC", (2, 3, 4),),
    ("NCHW", "NC4cHW", (2, 6, 2, 3),),
    ("NCHW", "CHWN2n", (3, 2, 2, 2),),
]  # fmt: skip

PATTERNS = [
    ("i j -> j i", (5, 7)), ("i j -> i j", (2, 3)), ("a -> a", (4,)), (" -> ", ()),
    ("b h w c -> (b h) w c", (2, 3, 4, 5)), ("b h w c -> h (b w) c", (2, 3, 4, 5)),
    ("b h w c -> b c h w", (2, 3, 4, 5)), ("b h w c -> b (c h w)", (2, 3, 4, 5)),
    ("b (h p) (w q) c -> (b p q) h w c, p=2, q=2", (2, 4, 6, 3)),
    ("b (c p q) h w -> b c (h p) (w q), p=2, q=3", (1, 12, 2, 3)),
    ("(h p) w -> h w p, p=2", (8, 3)), ("(h p) w -> h w p, h=2", (8, 3)),
    ("(a b c) -> c b a, a=2, b=3", (24,)), ("(a b c) -> b a c, a=2, c=3", (24,)),
    ("(a b c) -> b a c, a=2, b=4, c=3", (24,)), ("... -> ...", (2, 3)), ("... -> ...", ()),
    ("a ... -> ... a", (2, 3, 4)), ("a ... -> ... a", (5,)), ("... a b -> ... b a", (2, 3, 4, 5)),
    ("... (a b) -> (a ...) b, b=2", (2, 3, 4)), ("b ... -> (b ...)", (2, 3, 4)),
    ("b ... c -> b c (...)", (2, 3, 4, 5)), ("b ... c -> b c (...)", (2, 3)),
    ("a 1 b -> b a", (3, 1, 2)), ("a b -> a 1 b 1", (3, 2)), ("a (b 1) -> (1 b) a", (3, 2)),
    ("a () b -> b () a", (3, 1, 2)), ("(a 1) -> a ()", (3,)), ("1 1 -> ", (1, 1)),
    ("t (k h d) -> k h t d, k=3, h=2", (5, 24)), ("(s n) d -> n s d, s=2", (6, 4)),
    ("head_1 x2 -> x2 head_1", (2, 3)), ("(b1 b2) c->b2 (c b1),b1=3", (6, 2)),
    ("b (h p) (w q) c -> b h w (p q c), p=2, q=3", (2, 4, 6, 3)),
    ("b (c p q) h w -> b c (h p) (w q), p=2, q=2", (2, 12, 2, 3)),
    ("b h w c -> (b h) (w c)", (2, 3, 4, 5)),
    ("b n (k h d) -> k b h n d, k=3, h=2", (2, 5, 24)),
    ("b (gh wh) (gw ww) c -> (b gh gw) wh ww c, wh=2, ww=3", (1, 4, 6, 2)),
    ("i j -> j i", (5, 7)),
    ("b c d h w -> b h (c d) w", (1, 2, 3, 4, 2)),
]  # fmt: skip


def tvm_rows() -> list[dict[str, object]]:
    from tvm.s_tir import sbijective_layout
    from tvm.tirx import IndexMap

    rows: list[dict[str, object]] = []
    for text, *shapes in MAPS:
        index_map = IndexMap.from_func(eval(text), index_dtype="int64")
        for shape in shapes:
            row: dict[str, object] = {"map": text, "shape": shape}
            row["map_shape"] = [int(n) for n in index_map.map_shape(shape)]
            try:
                inverse, padding = index_map.non_surjective_inverse(shape)
                row |= {"printed": str(index_map), "inverse": str(inverse), "padding": str(padding)}
            except Exception:
                row["printed"] = str(index_map)
            rows.append(row)
    for source, text, *shapes in LAYOUTS:
        layout = sbijective_layout(source, text)
        for shape in shapes:
            some = list(product(*(sorted({0, n // 2, n - 1}) for n in shape)))
            rows.append({
                "layout": text, "source": source, "shape": shape,
                "map_shape": [int(n) for n in layout.forward_shape(shape)],
                "at": [[list(x), [int(i) for i in layout.forward_index(x)]] for x in some],
            })  # fmt: skip
    return rows


def einops_rows() -> list[dict[str, object]]:
    import numpy as np
    from einops import rearrange

    rows: list[dict[str, object]] = []
    for text, shape in PATTERNS:
        pattern, *sizes = text.split(",")
        lengths = {name.strip(): int(n) for name, n in (size.split("=") for size in sizes)}
        found = rearrange(np.arange(np.prod(shape, dtype=int)).reshape(shape), pattern, **lengths)
        rows.append({"text": text, "shape": shape, "result_shape": found.shape,
                     "flat": found.reshape(-1).tolist()})  # fmt: skip
    return rows


if __name__ == "__main__":
    for name, rows in (("tvm_layouts", tvm_rows()), ("einops", einops_rows())):
        lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
        Path(sys.argv[1], f"{name}.jsonl").write_text("".join(lines), "utf-8")
