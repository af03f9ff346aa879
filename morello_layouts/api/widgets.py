"""A widget for notebooks: a picture with a slider for each size of a layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from morello_layouts.api.pictures import html_of
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.lazy import NotInstalledError
from morello_layouts.maps import IndexMap

_SCRIPT: Final = """
export default { render({ model, el }) {
  const picture = document.createElement("div");
  el.dataset.lmSuppressShortcuts = "true";  // the arrow keys choose no cells
  const show = () => { picture.innerHTML = model.get("html"); };
  for (const [name, [low, high]] of Object.entries(model.get("ranges"))) {
    const label = el.appendChild(document.createElement("label"));
    const slider = document.createElement("input"), value = document.createElement("output");
    Object.assign(slider, { type: "range", min: low, max: high, value: model.get("sizes")[name] });
    value.textContent = slider.value;
    slider.addEventListener("input", () => {
      value.textContent = slider.value;
      model.set("sizes", { ...model.get("sizes"), [name]: slider.valueAsNumber });
      model.save_changes();
    });
    slider.addEventListener("keydown", event => {  // JupyterLab prevents what a slider would do
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      slider.value = slider.valueAsNumber + step;
      slider.dispatchEvent(new Event("input"));
    });
    label.append(`${name} `, slider, value);
    label.style.display = "block";
  }
  el.append(picture);
  model.on("change:html", show);
  show();
} };
"""


def sliders(m: IndexMap, ranges: Mapping[str, tuple[int, int]]) -> Any:
    """Return the widget of an index map; arguments and errors as of ``IndexMap.sliders``."""
    names = m.recipe.names
    for name, bounds in ranges.items():
        if name not in names or len(bounds) != 2 or not 1 <= bounds[0] <= bounds[1]:
            raise ShapeError(
                f"{name}={bounds}: expected the smallest and the largest number of a size",
                f"the symbolic sizes are {', '.join(names) or 'none'}",
                "give for example M=(1, 32)",
            )
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise NotInstalledError(
            "anywidget is not installed", "it shows the sliders", 'pip install "anywidget>=0.9"'
        ) from None

    class Sliders(anywidget.AnyWidget):
        """A picture with sliders: ``sizes`` are the numbers, ``html`` what is shown."""

        _esm = _SCRIPT
        ranges = traitlets.Dict().tag(sync=True)
        sizes = traitlets.Dict().tag(sync=True)
        html = traitlets.Unicode().tag(sync=True)

        @traitlets.observe("sizes")
        def _draw(self, _change: Any) -> None:
            try:
                self.html = html_of(m.at(**self.sizes))
            except LayoutError as error:  # a size that the assumptions leave out
                self.html = f"<p>{error.what}</p>"

    every = {name: list(ranges.get(name, (1, 32))) for name in names}
    return Sliders(ranges=every, sizes={name: high for name, (_, high) in every.items()})
