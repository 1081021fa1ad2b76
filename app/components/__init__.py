"""The components of the page: each has its half in JavaScript in `static/components`."""
