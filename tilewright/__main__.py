"""`python -m tilewright` is the command line."""

import sys

from .entry import main

sys.exit(main())
