"""`python -m tilewright` is the command line."""

# pyright: reportMissingImports=false
# (`app` and `engine` are mapped into this package when it is installed; a checker of the source tree does not find them here.)

import sys

from .app.cli import main

sys.exit(main())
