"""Reports and studies as Bokeh figures: `tilewright.plot` has the public functions."""
