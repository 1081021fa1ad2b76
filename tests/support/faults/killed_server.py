"""A server to be killed: `tilewright serve FOLDER` in children of a process that has imported everything already.

`python -m support.faults.killed_server FOLDER TOKEN` waits for lines on its standard input. For each it forks a child, which serves the
folder until it is killed, and writes lines to standard output: `pid N`, of the child `at ADDRESS`, and `end` after the child's end.
"""

from __future__ import annotations

import sys
from pathlib import Path

from support.faults.forked import fork_for_each_line, say

from tilewright.app.server.access import make_policy
from tilewright.app.server.run import Serving, serve


def main() -> None:
    folder, token = Path(sys.argv[1]), sys.argv[2]
    fork_for_each_line(
        lambda _: serve(Serving(folder, 0, make_policy(token=token)), lambda address: say("at", address))
    )


if __name__ == "__main__":
    main()
