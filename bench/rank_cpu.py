"""The simulator's ranking of candidates of TVM's meta-schedule for a CPU: predicted cycles against measured times of TVM's code.

    python bench/rank_cpu.py                    # writes the tests' file: needs apache-tvm, built with LLVM
    python bench/rank_cpu.py --table            # the recorded results as Markdown, with Kendall's tau
    python bench/rank_cpu.py --again            # the recorded candidates simulated again, with the recorded times

For each program candidates are drawn at random from meta-schedule's own space for LLVM (its sketches of tiles, its sampled sizes and its
postprocessors), converted by `from_tvm_trace`, and simulated on `cpu-core`. The same candidates are built by TVM for LLVM
(`-mcpu=znver2`: the vectors that the machine file has) and run on this CPU in one thread by `engine/measure`: processor time of that
thread, the median over alternating rounds.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.programs.layers import Layer  # noqa: E402

from tilewright.engine.adopt import from_tvm_trace  # noqa: E402
from tilewright.engine.hwsim import load_machine, simulate  # noqa: E402
from tilewright.engine.ir import IRModule, PrimFunc  # noqa: E402
from tilewright.engine.measure import Candidate, kendall_tau, measure  # noqa: E402
from tilewright.engine.script import parse, to_script  # noqa: E402

RECORDED = HERE.parent / "tests" / "conformance" / "recorded" / "rank_cpu.json"
PROGRAMS = {
    "matmul 128 x 128 x 128": Layer("", 128, 128, 128),
    "convolution 3 x 3, 14 x 14 x 32 to 32": Layer("", 196, 32, 32, 1, (14, 14), (3, 3)),
    "4 heads of 64 x 64 x 64": Layer("", 64, 64, 64, 4),
}
CANDIDATES = 24
CPU = "znver2"
SECONDS = 30.0
MACHINE = "cpu-core"
MAX_ACCESSES = 1 << 24


def function_of(script: str) -> PrimFunc:
    program = parse(script).program
    func = program.functions[0] if isinstance(program, IRModule) else program
    assert isinstance(func, PrimFunc)
    return func


def predicted(script: str) -> dict[str, Any]:
    """The simulator's results for a program: the cycles, the cycles of work without cache stalls, and the cycles if every operation were as
    wide as possible, whatever the program vectorizes."""
    func, machine = function_of(script), load_machine(MACHINE)
    full = machine.replace("engines.simd.lanes", "result")
    report, work, widest = (
        simulate(func, m, max_accesses=n) for m, n in ((machine, MAX_ACCESSES), (machine, 1), (full, 1))
    )
    waiting = [f.code for f in report.findings if f.code == "caches-left-out"]
    return {
        "cycles": report.cycles,
        "work": work.cycles,
        "full_lanes": report.cycles - work.cycles + widest.cycles,
        "caches": not waiting,
    }


def candidates(module: Any, target: Any) -> list[Any]:
    """Distinct schedules of meta-schedule's space, each with newly sampled decisions."""
    import tvm
    from tvm.s_tir import meta_schedule as ms

    rules = [
        ms.schedule_rule.MultiLevelTiling(structure="SSRSRS", max_innermost_factor=64, reuse_write=ms.schedule_rule.ReuseType(
            req="may", levels=[1, 2], scope="global")),
        ms.schedule_rule.ParallelizeVectorizeUnroll(max_jobs_per_core=16, max_vectorize_extent=64,
                                                    unroll_max_steps=[0, 16, 64, 512], unroll_explicit=True),
    ]  # fmt: skip
    posts = [
        ms.postproc.DisallowDynamicLoop(),
        ms.postproc.RewriteParallelVectorizeUnroll(),
        ms.postproc.RewriteReductionBlock(),
    ]
    space = ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=posts, mutator_probs={})
    context = ms.TuneContext(module, target=target, space_generator=space, num_threads=1, rand_state=1)
    sketches = context.generate_design_space()
    found: list[Any] = []
    seen: set[str] = set()
    for seed in range(1, 40 * CANDIDATES):
        if len(found) == CANDIDATES:
            break
        sketch = sketches[seed % len(sketches)]
        schedule = tvm.s_tir.Schedule(module, seed=seed)
        tvm.s_tir.schedule.Trace(sketch.trace.insts, {}).apply_to_schedule(schedule, remove_postproc=True)
        if all(post.apply(schedule) for post in space.postprocs) and str(schedule.trace) not in seen:
            seen.add(str(schedule.trace))
            found.append(schedule)
    return found


def ranked(name: str, layer: Layer) -> dict[str, Any]:
    """One program with the predictions and measurements of its candidates."""
    import tvm
    from support.tvm.oracle import tvm_parse

    module = tvm_parse(layer.text("float32", "float32"))
    target = tvm.target.Target({"kind": "llvm", "mcpu": CPU, "num-cores": 1})
    rows: list[dict[str, Any]] = []
    programs: list[Candidate] = []
    for schedule in candidates(module, target):
        script = to_script(from_tvm_trace(schedule.trace, module).mod)
        rows.append({**predicted(script), "trace": str(schedule.trace), "script": script})
        programs.append(Candidate(str(len(rows)), function_of(script)))
        print(name, len(rows), rows[-1]["cycles"], flush=True)
    load = os.getloadavg()[0]
    for row, times in zip(rows, measure(programs, seconds=SECONDS, cpu=CPU).rows, strict=True):
        if times.warm is None:
            raise SystemExit(times.refusal)
        row |= {"median_us": round(times.warm.median, 2), "least_us": round(times.warm.low, 2)}
    return {"program": name, "load": round(load, 1), "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="the recorded figures as Markdown")
    parser.add_argument("--again", action="store_true", help="simulate the recorded candidates once more")
    args = parser.parse_args()
    known: list[dict[str, Any]] = json.loads(RECORDED.read_text())["programs"] if RECORDED.exists() else []
    if args.again:
        for program in known:
            program["rows"] = [{**row, **predicted(row["script"])} for row in program["rows"]]
        write(known)
    elif not args.table:
        for name, layer in PROGRAMS.items():
            if name not in {program["program"] for program in known}:
                known.append(ranked(name, layer))
                write(known)
    print(table(known))


def write(programs: list[dict[str, Any]]) -> None:
    from importlib import metadata

    head = {
        "tool": "TVM",
        "version": metadata.version("apache-tvm"),
        "config": f"meta-schedule, {CANDIDATES} candidates drawn at random, llvm -mcpu={CPU}, one thread, up to 21 rounds",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{cpu_name()}, {platform.system()} {platform.machine()}, 2 shared cores",
        "regenerate": "bench/rank_cpu.py",
    }
    RECORDED.write_text(json.dumps({**head, "programs": programs}, indent=1) + "\n")


def cpu_name() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{found.get('model name', 'unknown')} (family {found.get('cpu family')}, model {found.get('model')})"


def table(programs: list[dict[str, Any]]) -> str:
    lines = [
        "| program | candidates | cycles | work alone | full lanes | median, least | best predicted: its rank, its time to the best |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for program in programs:
        rows = program["rows"]
        median, least = ([row[key] for row in rows] for key in ("median_us", "least_us"))
        taus = [kendall_tau([row[key] for row in rows], median) for key in ("cycles", "work", "full_lanes")]
        first = min(rows, key=lambda row: row["cycles"])["median_us"]
        cells = [program["program"], str(len(rows)), *(f"{t:.2f}" for t in (*taus, kendall_tau(median, least)))]
        lines.append(f"| {' | '.join(cells)} | {sorted(median).index(first) + 1}, {first / min(median):.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    os.environ.setdefault("TVM_NUM_THREADS", "1")
    main()
