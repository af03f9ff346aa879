"""Run the notebooks in place, or check that they run and give the outputs that they hold.

    python notebooks/run.py               # run all, write their outputs
    python notebooks/run.py 1_where…      # some of them
    python notebooks/run.py --check       # write nothing; status 1 if an output differs
    python notebooks/run.py --student DIR # write editions to guess with: no outputs, no assertions

A cell tagged ``varies``, such as one that measures a time, is compared only by its kinds of output.
"""

from __future__ import annotations

import ast
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from copy import deepcopy
from difflib import unified_diff
from pathlib import Path
from shutil import copyfile

try:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
except ModuleNotFoundError as error:
    sys.exit(f"{error}: install nbclient, or Jupyter, which has it: pip install jupyterlab")

HERE = Path(__file__).parent
SECONDS = 120  # for one cell, on a busy machine


def notebooks() -> list[Path]:
    """Return the notebooks in their order."""
    return sorted(HERE.glob("*.ipynb"), key=lambda path: (len(path.stem.partition("_")[0]), path))


def run(path: Path) -> nbformat.NotebookNode:
    """Return a copy of a notebook after a run from top to bottom on a fresh kernel."""
    notebook = deepcopy(nbformat.read(path, as_version=4))
    place = {"metadata": {"path": str(HERE)}}
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources=place,
        record_timing=False,
        coalesce_streams=True,  # a kernel may send the output of one print in two parts
    )
    client.execute()
    # The version of Python differs between machines.
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what the cells show, as lines to compare."""
    lines = []
    for k, cell in enumerate(notebook.cells):
        varies = "varies" in cell.metadata.get("tags", ())
        for output in cell.get("outputs", ()):
            for kind, text in sorted(_contents(output).items()):
                said = ["varies"] if varies else text.splitlines()
                lines += [f"cell {k}, {kind}: {line}" for line in said]
    return lines


def _contents(output: nbformat.NotebookNode) -> dict[str, str]:
    if output.output_type == "stream":
        return {output.name: output.text}
    if output.output_type == "error":
        return {"error": f"{output.ename}: {output.evalue}"}
    return {kind: str(text) for kind, text in output.get("data", {}).items()}


def check(path: Path) -> list[str]:
    """Return the lines of a diff between the committed outputs and those of a run."""
    held = shown(nbformat.read(path, as_version=4))
    return list(unified_diff(held, shown(run(path)), "as committed", "as run", lineterm="", n=0))


def for_students(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a copy without outputs and assertions: they say what the text asks one to guess."""
    found = deepcopy(notebook)
    for cell in found.cells:
        if cell.cell_type == "code":
            cell.source, cell.outputs, cell.execution_count = without_asserts(cell.source), [], None
    found.cells = [cell for cell in found.cells if cell.source]
    return found


def without_asserts(code: str) -> str:
    """Return the code of a cell without its assertions, and without empty lines at its ends."""
    lines = code.splitlines()
    for statement in reversed(ast.parse(code).body):
        if isinstance(statement, ast.Assert):
            del lines[statement.lineno - 1 : statement.end_lineno]
    return "\n".join(lines).strip("\n")


def main(arguments: list[str]) -> int:
    """Run the named notebooks, or all; see the module's docstring."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--student", type=Path, metavar="DIR")
    parser.add_argument("names", nargs="*", type=lambda name: Path(name).stem)
    asked = parser.parse_args(arguments)
    unknown = set(asked.names) - {path.stem for path in notebooks()}
    if unknown or not notebooks():
        parser.error(f"no notebook is named {', '.join(sorted(unknown))}")
    chosen = [path for path in notebooks() if not asked.names or path.stem in asked.names]
    if asked.student is not None:
        asked.student.mkdir(parents=True, exist_ok=True)
        for path in chosen:
            edition = for_students(nbformat.read(path, as_version=4))
            nbformat.write(edition, asked.student / path.name)
        for data in HERE.glob("*.txt"):  # what cells read
            copyfile(data, asked.student / data.name)
        print(f"{len(chosen)} notebooks: written to {asked.student}")
        return 0
    return max(_run_or_check(path, checking=asked.check) for path in chosen)


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
