"""Panel components of the page: each mirrors one JavaScript module of `static/components`."""
