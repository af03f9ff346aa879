"""The pictures of docs/figures, from the layouts' text alone: ``python docs/draw_figures.py``.

The first four are the figures of XLA's document on tiled layouts, the next two the matrices of
the Morello book's page on data layouts. ``--check`` writes nothing and fails where a file differs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import morello_layouts as ml
from morello_layouts.picture import Picture

FIGURES: Final = Path(__file__).parent / "figures"


def figures() -> dict[str, Picture]:
    """Every figure by the name of its file."""
    return {
        "xla_figure_1": ml.draw("f32[3,5]{1,0:T(2,2)}"),
        "xla_figure_2": ml.draw("bf16[4,8]{1,0:T(2,4)(2,1)}", box_tiles=2),
        "xla_figure_3": ml.draw("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", colour="word"),
        "xla_figure_4": ml.draw("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", dots=[(6, 5)]),
        "morello_row_major": ml.draw("[0, 1]", (6, 8)),
        "morello_packed": ml.draw("[1, 0, 1 p(4)]", (6, 8)),
        "beside": ml.draw("f32[6,8]{1,0:T(2,4)}", "[1, 0, 1 p(4)]"),
        "large": ml.draw("bf16[10,200]{1,0:T(8,128)(2,1)}"),
    }


def main(arguments: list[str]) -> int:
    """Write the files, or compare them; 1 where one differs."""
    FIGURES.mkdir(exist_ok=True)
    differing = 0
    for name, picture in figures().items():
        path, svg = FIGURES / f"{name}.svg", picture.svg()
        if arguments != ["--check"]:
            path.write_text(svg, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != svg:
            print(f"{path} differs; run python docs/draw_figures.py")  # noqa: T201
            differing += 1
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
