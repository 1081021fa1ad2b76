"""The output of a view in a cell: a picture that is saved with the notebook, and the live view if a kernel runs.

These are two outputs: from a single one with both, front ends without the kernel would pick the live view, which is then an error message.
The live view hides the picture (`static/components/jupyter/host.js`), and the picture is updated when the view changes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakMethod

import ipywidgets
import param
from IPython.core.getipython import get_ipython
from IPython.display import display

from ..components.component import Component
from ..components.widget import Widget
from .kernel import KernelClock
from .saved_pictures import saved_picture

PICTURE_MS = 400
"""Delay in milliseconds between a change of the view and the update of its picture in the notebook."""

WIDGET = "application/vnd.jupyter.widget-view+json"

Bundle = dict[str, Any]


class Shown(param.Parameterized):
    """Base class of views that a cell can show."""

    height = param.Integer(default=None, allow_None=True, bounds=(60, 4_000), doc="Pixels; None: as the content asks.")

    __abstract = True

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.name_in_page = uuid.uuid4().hex
        self._natural_height = 400
        self._widget: ipywidgets.DOMWidget | None = None
        self._pictures_shown: list[Any] = []
        self._kernel = KernelClock()
        self._waiting = False
        self.param.watch(lambda _: self._resize(), "height")

    @property
    def widget(self) -> ipywidgets.DOMWidget:
        """The live view, for use in a layout of widgets."""
        if self._widget is None:
            self._widget = self._live()
        return self._widget

    def close(self) -> None:
        """Close the live view."""
        if self._widget is not None:
            self._widget.close()
            self._widget = None

    def _component(self) -> Component:
        """The component that the view draws."""
        raise NotImplementedError

    def _live(self) -> ipywidgets.DOMWidget:
        return self._mirror(self._component(), picture=self.name_in_page, height=self.height or self._natural_height)

    def _mirror(self, component: Component, **traits: Any) -> Widget:
        return Widget(component, group=self._group, **traits)

    @property
    def _group(self) -> str:
        """The group's name; views of one group share a playhead."""
        return self.name_in_page

    def _pictures(self) -> list[str]:
        """The saved pictures, as SVG."""
        raise NotImplementedError

    def _catch_up(self) -> None:
        """Show the current state."""

    def _resize(self) -> None:
        if isinstance(self._widget, Widget):
            self._widget.height = self.height or self._natural_height

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        """The picture and the live view as one output; in a kernel, `show` makes two outputs."""
        self._catch_up()
        return {**self._still(), WIDGET: _view(self.widget)}

    def _still(self) -> Bundle:
        return {"text/plain": repr(self), "text/html": saved_picture(self._pictures(), self.name_in_page)}

    def _ipython_display_(self) -> None:
        self.show()

    def show(self) -> None:
        """Show the view in the output of the running cell."""
        self._catch_up()
        self._pictures_shown.append(display(self._still(), raw=True, display_id=True))
        display({"text/plain": "", WIDGET: _view(self.widget)}, raw=True)

    def _keep_picture(self) -> None:
        """Schedule an update of the saved picture after a user's change."""
        if self._pictures_shown and not self._waiting:
            self._waiting = True
            self._kernel.after(PICTURE_MS, self._show_picture)

    def _show_picture(self) -> None:
        self._waiting = False
        for handle in self._pictures_shown:
            handle.update(self._still(), raw=True)


def _view(widget: ipywidgets.DOMWidget) -> Mapping[str, Any]:
    return {"version_major": 2, "version_minor": 1, "model_id": widget.model_id}


def on_cells_run(call: Callable[[], None]) -> None:
    """Call a method after each cell, as long as its object lives. Without a kernel this does nothing."""
    shell = get_ipython()
    if shell is None:
        return
    method = WeakMethod(call)  # pyright: ignore[reportArgumentType]

    def run(*_: object) -> None:
        found = method()
        if found is not None:
            found()
        else:
            shell.events.unregister("post_run_cell", run)

    shell.events.register("post_run_cell", run)
