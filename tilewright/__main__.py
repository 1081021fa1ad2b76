"""The command line as `python -m tilewright`."""

import sys

from .entry import main

sys.exit(main())
