"""Run the notebooks in place, or check that they run and give the outputs that they hold.

    python notebooks/run.py               # run all, write their outputs
    python notebooks/run.py 1_where…      # some of them
    python notebooks/run.py --check       # write nothing; status 1 where an output differs

A cell tagged ``varies`` is run but its output is not compared: a time that was measured, say.
"""

from __future__ import annotations

import sys
from copy import deepcopy
from difflib import unified_diff
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).parent
SECONDS = 120  # for one cell, on a busy machine


def notebooks() -> list[Path]:
    """The notebooks in their order."""
    return sorted(HERE.glob("*.ipynb"))


def run(path: Path) -> nbformat.NotebookNode:
    """A copy of a notebook after it was run from top to bottom on a fresh kernel."""
    notebook = deepcopy(nbformat.read(path, as_version=4))
    place = {"metadata": {"path": str(HERE)}}
    client = NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources=place, record_timing=False
    )
    client.execute()
    # What names the machine's own Python says nothing to readers and differs between them.
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """What the cells show, as lines to compare."""
    lines = []
    for k, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or "varies" in cell.metadata.get("tags", ()):
            continue
        for output in cell.outputs:
            for kind, text in sorted(_contents(output).items()):
                lines += [f"cell {k}, {kind}: {line}" for line in text.splitlines()]
    return lines


def _contents(output: nbformat.NotebookNode) -> dict[str, str]:
    if output.output_type == "stream":
        return {output.name: output.text}
    return {kind: str(text) for kind, text in output.get("data", {}).items()}


def check(path: Path) -> list[str]:
    """How what a run shows differs from what the notebook holds: lines of a diff, none if not."""
    held = shown(nbformat.read(path, as_version=4))
    return list(unified_diff(held, shown(run(path)), "as committed", "as run", lineterm="", n=0))


def main(arguments: list[str]) -> int:
    """Run what is named, or all; see the module's docstring."""
    names = [Path(a).stem for a in arguments if not a.startswith("-")]
    chosen = [path for path in notebooks() if not names or path.stem in names]
    if not chosen:
        print(f"no notebook is named {', '.join(names)}", file=sys.stderr)
        return 2
    return max(_run_or_check(path, checking="--check" in arguments) for path in chosen)


def _run_or_check(path: Path, *, checking: bool) -> int:
    try:
        if not checking:
            nbformat.write(run(path), path)
            print(f"{path.name}: written")
            return 0
        differences = check(path)
    except CellExecutionError as error:
        print(f"{path.name}: {error}", file=sys.stderr)
        return 1
    print(f"{path.name}: {'differs' if differences else 'as committed'}")
    for line in differences[:40]:
        print(line[:500])
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
