"""How Sphinx builds the documentation: ``sphinx-build -c docs . build/html`` in the root.

The source folder is the repository, not ``docs``, so that the notebooks, the contributing guide and
the pages link to each other by the same relative paths on a forge and on the site.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(DOCS / "_ext")]

import generate  # noqa: E402

import morello_layouts  # noqa: E402

project = "morello_layouts"
author = "The morello_layouts authors"
copyright = author  # noqa: A001  Sphinx's name
version = release = morello_layouts.__version__

extensions = [
    "myst_nb", "sphinx.ext.autodoc", "blocks", "docstrings", "exercise_list", "explorer_links",
    "mathml", "sphinx_copybutton",
]  # fmt: skip

# A copied example has no prompts and no output, so that it pastes.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/*.ipynb", "*/README.md", "C*.md"]
exclude_patterns = [
    ".*",
    "build",
    "dist",
    "docs/editor/vscode/node_modules",
    "tests",
    "morello_layouts",
    "**/.ipynb_checkpoints",
    "docs/_*",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

# Notebooks carry their outputs; the tests run them.
nb_execution_mode = "off"
autodoc_default_options = {"members": True, "special-members": "__call__"}
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True

# Types of other libraries: their references would need the network.
nitpick_ignore_regex = [
    ("py:.*", r"(collections\.abc|numpy|np|os|pathlib|sympy|types|fractions)\..*"),
    ("py:class", "NDArray|Mask"),
    # Type variables, and types that only the package itself passes to constructors.
    (
        "py:class",
        r"morello_layouts\.(.*\.[A-Z]|programs\.hlo\.module\.Scope|programs\.diagnostics\.buffers\.Buffer)",
    ),
    (
        "py:class",
        r"morello_layouts\.machines\.gpu\.(access\.Numbering|phases\.SharedMemory|relayouts\.BasisPair)",
    ),
    (
        "py:class",
        r"morello_layouts\.outputs\.(loop_nests\.space\.Digits|codegen\.language\.IterationSpace|recover\.tables\.OrderDigit|picture\.terminal\.Line)",
    ),
    ("py:class", r"morello_layouts\.programs\.tpu_compiler\.process\.Server"),
    (
        "py:class",
        r"morello_layouts\.outputs\.kernels\.(build\.RawFunction|gather\.Narrow|narrow\.BitDigit)",
    ),
    (
        "py:class",
        r"(morello_layouts\.machines\.resharding\.)?(exchange\.Exchange|counts\.(Formulas|Traffic|TrafficFormulas)|steps\.Step)|Traffic",
    ),
    (
        "py:class",
        r"(morello_layouts\.outputs\.kernels\.emit_c\.)?CallArguments|BuiltRelayout|(morello_layouts\.interfaces\.explanations\.rows\.)?Medium|Kind|Provenance",
    ),
    # Parts of values, of which no page tells more than the value does.
    (
        "py:class",
        (
            r"morello_layouts\.(programs\.indexing\.expressions|outputs\.(kernels\.build|codegen\.statements|loop_nests\.\w+)"
            r"|outputs\.recover\.(layouts|orders)|core\.maps\.modes|core\.expr\.affine)\.\w+"
        ),
    ),
    (
        "py:class",
        r"morello_layouts\.(core\.recipe\.steps|machines\.resharding\.(exchange|steps))\.\w+",
    ),
    # Aliases of parts that one module has for itself, and halves of types that name such aliases.
    (
        "py:class",
        r"morello_layouts\..*\.(Flip|IndexFacts|InstructionFacts|KindBytes|Move|Reported|SpaceCount|Told\w*)",
    ),
    ("py:class", r"(Mapping|tuple)\[(Assumption|int|str)"),
    (
        "py:(class|exc)",
        "Array|Bounds|Edges|ExchangeError|Expr|Language|Mapped|Numbers|Observable|Several|Traffic|Unit",
    ),
]

html_theme = "furo"
html_title = f"morello_layouts {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_root"]
html_math_renderer = "mathml"
smartquotes_action = "D"  # only dashes: quotes stay as typed, above all in commands
html_show_sourcelink = False
html_copy_source = False


def setup(app: Sphinx) -> None:
    """Check the source folder, and write the generated pages before Sphinx looks for pages."""
    if Path(app.srcdir).resolve() != ROOT:
        raise ConfigError(f"the source folder is {ROOT}: sphinx-build -c docs . build/html")
    generate.write(generate.generated())
