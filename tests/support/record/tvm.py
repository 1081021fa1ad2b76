"""Asks TVM what `tests/conformance` compares with it, and records where it agrees, in tests/conformance/recorded/tvm.json:

PYTHONPATH=tests python -m support.record.tvm
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from support.tvm.recorded import FILE, NEW, TESTS, source_digest, version


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "agreements.txt"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "tests/conformance",
            "--deselect",
            "tests/conformance/test_recorded.py",
        ]
        ended = subprocess.run(command, cwd=TESTS.parent, env={**os.environ, NEW: str(new)}, check=False)
        if ended.returncode:
            return ended.returncode
        agreed: dict[str, set[str]] = defaultdict(set)
        for line in new.read_text(encoding="utf-8").splitlines():
            file, key = line.split()
            agreed[file].add(key)
    files = {
        file: {"source": source_digest(file), "agreed": " ".join(sorted(keys))} for file, keys in sorted(agreed.items())
    }
    FILE.write_text(json.dumps({"tool": "TVM", "version": version, "files": files}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
