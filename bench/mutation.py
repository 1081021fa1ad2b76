"""Mutation score of a folder: the share of small faults, put into its functions one at a time, that make a test fail.

    python bench/mutation.py [--mutants 300] [--seed 0] [--survivors] engine/hwsim/replay tests/engine/hwsim [-- -m ""]

The tests run once to see which of them reach which line. Each mutant then runs in a fork of this process: the mutated function gets
its new code in place, and the tests that reach the line run, quickest first, until one fails. A mutant that no test reaches survives.
The same seed gives the same mutants as long as the sources are the same; `-m ""` adds the slow tests. `pip install coverage` first.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import gc
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[1]

MUTANT_SECONDS = 60
"""Seconds; a mutant that runs longer counts as killed, as it may loop forever."""

TEST_SECONDS = 30.0
"""Seconds: tests that reach a mutant run until their times add up to this."""

SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """The fault number `index` of the mutable nodes of a file; the lines of its statement; the change."""

    file: Path
    index: int
    lines: range
    change: str


def nodes_of(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """The nodes in bodies of functions, each with its statement. Defaults, decorators and annotations are excluded: they run at import."""

    def inside(node: ast.AST, statement: ast.stmt | None) -> Iterator[tuple[ast.AST, ast.stmt]]:
        if isinstance(node, ast.FunctionDef):
            for child in node.body:
                yield from inside(child, child)
            return
        if isinstance(node, ast.stmt):
            statement = node if statement is not None else None
        if statement is not None:
            yield node, statement
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from inside(child, statement)

    yield from inside(tree, None)


def mutation(node: ast.AST) -> Callable[[], str] | None:
    """A function that changes the node in place and describes the change; None for a node that stays."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in SWAPPED:
            return lambda: _set(node, "ops", [SWAPPED[type(operator)]()])
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in SWAPPED:
            return lambda: _set(node, "op", SWAPPED[type(node.op)]())
        case ast.Constant(value=bool(value)):
            return lambda: _set(node, "value", not value)
        case ast.Constant(value=int(value)):
            return lambda: _set(node, "value", value + 1)
        case ast.IfExp() | ast.If() | ast.While():
            return lambda: _set(node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            return lambda: _set(node, "value", ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            return lambda: _set(node, "value", ast.Constant(None))
        case ast.Raise():
            return lambda: _set(node, "exc", ast.Call(ast.Name("RuntimeError", ast.Load()), [], []))
        case _:
            return None


def _set(node: ast.AST, field: str, value: object) -> str:
    before = ast.unparse(node).splitlines()[0]
    setattr(node, field, value)
    ast.fix_missing_locations(node)
    return f"{before}  ->  {ast.unparse(node).splitlines()[0]}"


def mutants_of(file: Path) -> list[Mutant]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: list[Mutant] = []
    for index, (node, statement) in enumerate(nodes_of(tree)):
        if mutation(node) is not None:
            changed = copy.deepcopy(node)
            change = mutation(changed)
            assert change is not None
            last = statement.end_lineno or statement.lineno
            if isinstance(statement, ast.If | ast.While | ast.For | ast.With | ast.Match):
                last = getattr(node, "lineno", statement.lineno)
            found.append(Mutant(file, index, range(statement.lineno, max(last, statement.lineno) + 1), change()))
    return found


def install(mutant: Mutant) -> None:
    """Replace the code of this process's functions by that of the mutant."""
    tree = ast.parse(mutant.file.read_text(encoding="utf-8"))
    node = next(node for index, (node, _) in enumerate(nodes_of(tree)) if index == mutant.index)
    change = mutation(node)
    assert change is not None
    change()
    new = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compile(tree, str(mutant.file), "exec"))}
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper):  # no cached results of the original functions
            found.cache_clear()
        elif isinstance(found, FunctionType) and Path(found.__code__.co_filename) == mutant.file:
            code = found.__code__
            found.__code__ = new.get((code.co_qualname, code.co_firstlineno), code)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class Scoring:
    """A pytest plugin that runs the tests once with coverage, and then the tests that each mutant needs."""

    def __init__(self, folder: Path, count: int, seed: int, survivors: bool) -> None:
        self.files = sorted(folder.rglob("*.py"))
        every = [mutant for file in self.files for mutant in mutants_of(file)]
        self.mutants = random.Random(seed).sample(every, min(count, len(every)))
        self.total, self.survivors = len(every), survivors
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()  # the tests' set-up freezes what there is after collection, and `install` looks for functions
        gc.collect()
        reached, seconds = self._reached(session.items)
        for item in self._failing_in_fork([item for item in session.items if item in seconds]):
            print(f"fails in a fork without a mutant: {item.nodeid}", file=sys.stderr)
            del seconds[item]
        found: Counter[str] = Counter()
        for number, mutant in enumerate(self.mutants):
            lines = [reached.get((str(mutant.file), line), set()) for line in mutant.lines]
            items = sorted(set().union(*lines) & set(seconds), key=lambda item: seconds[item])
            outcome = self._outcome(mutant, self._affordable(items, seconds)) if items else "not reached"
            found[outcome] += 1
            if self.survivors and outcome in ("survived", "not reached"):
                where = f"{mutant.file.relative_to(ROOT)}:{mutant.lines.start}"
                print(f"{outcome}: {where}: {mutant.change} ({len(items)} tests)", file=sys.stderr)
            if number % 25 == 24:
                print(f"{number + 1} of {len(self.mutants)}: {dict(found)}", file=sys.stderr, flush=True)
        killed = found["killed"] + found["timeout"]
        print(f"{killed} of {len(self.mutants)} mutants killed, {killed / len(self.mutants):.1%}: {dict(found)}")
        print(f"{self.total} possible mutants; {len(session.items)} tests, {sum(seconds.values()):.0f} s")
        return True

    def _reached(
        self, items: list[pytest.Item]
    ) -> tuple[dict[tuple[str, int], set[pytest.Item]], dict[pytest.Item, float]]:
        """The tests that reach each line, and the seconds of each test. Tests that fail without a mutant are omitted."""
        measured = coverage.Coverage(data_file=None, include=[str(file) for file in self.files], config_file=False)
        by_name: dict[str, pytest.Item] = {}
        seconds: dict[pytest.Item, float] = {}
        measured.start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            measured.switch_context(str(len(by_name)))
            self.failed, began = False, time.perf_counter()
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                print(f"without a mutant fails: {item.nodeid}", file=sys.stderr)
            else:
                seconds[item] = time.perf_counter() - began
                by_name[str(len(by_name))] = item
        measured.stop()
        data = measured.get_data()
        reached = {
            (file, line): {by_name[name] for name in names if name in by_name}
            for file in data.measured_files()
            for line, names in data.contexts_by_lineno(file).items()
        }
        return reached, seconds

    def _affordable(self, items: list[pytest.Item], seconds: dict[pytest.Item, float]) -> list[pytest.Item]:
        total, kept = 0.0, []
        for item in items:
            total += seconds[item]
            if kept and total > TEST_SECONDS:
                break
            kept.append(item)
        return kept

    def _fails(self, item: pytest.Item) -> bool:
        self.failed = False
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        return self.failed

    def _failing_in_fork(self, items: list[pytest.Item]) -> list[pytest.Item]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, " ".join(str(n) for n, item in enumerate(items) if self._fails(item)).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as numbers:
            failing = [items[int(number)] for number in numbers.read().split()]
        os.waitpid(child, 0)
        return failing

    def _outcome(self, mutant: Mutant, items: list[pytest.Item]) -> str:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(MUTANT_SECONDS)
            install(mutant)
            os._exit(any(map(self._fails, items)))
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
            return "timeout"
        return "survived" if status == 0 else "killed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the sources to put faults into")
    parser.add_argument("tests", nargs="+", help="arguments of pytest: the tests that may find them")
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--survivors", action="store_true", help="show each mutant that no test finds")
    arguments = parser.parse_args()
    os.environ.setdefault("HYPOTHESIS_PROFILE", "ci")
    plugin = Scoring(arguments.folder.resolve(), arguments.mutants, arguments.seed, arguments.survivors)
    options = ["-qq", "-p", "no:cacheprovider", "--tb=no", "--no-summary"]
    options += ["-p", "no:unraisableexception"]  # a fork finds the processes of its parent still running
    sys.exit(pytest.main([*options, *arguments.tests], plugins=[plugin]))


if __name__ == "__main__":
    main()
