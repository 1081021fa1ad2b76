"""TVM's JSON of a module or function (`save_json`), written out as TVMScript."""

from .graph import JSONError
from .programs import module_text

__all__ = ["JSONError", "module_text"]
