"""A server to be killed: `tilewright serve FOLDER` in children of a process that has imported everything already.

`python -m support.killed_server FOLDER TOKEN` waits for lines on its standard input. For each it forks a child, which serves the folder
until it is killed, and writes lines to standard output: `pid N`, of the child `at ADDRESS`, and `end` when the child is gone.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from tilewright.app.server.access import make_policy
from tilewright.app.server.run import Serving, serve


def say(*words: str) -> None:
    os.write(1, (" ".join(words) + "\n").encode())


def main() -> None:
    folder, token = Path(sys.argv[1]), sys.argv[2]
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            try:
                serve(Serving(folder, 0, make_policy(token=token)), lambda address: say("at", address))
            except BaseException:
                traceback.print_exc()  # why a child ended by itself
            finally:
                os._exit(3)
        say("pid", str(child))
        os.waitpid(child, 0)
        say("end")


if __name__ == "__main__":
    main()
