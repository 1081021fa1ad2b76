"""ZigZag's accesses of GEMMs with given tiles and loop orders, recorded for tests and bench. Needs a separate environment:

    python -m venv zigzag && zigzag/bin/pip install zigzag-dse==3.9.1 six 'setuptools<80'
    zigzag/bin/python bench/record_zigzag.py                 # writes the tests' file
    zigzag/bin/python bench/record_zigzag.py --times         # the bench's: seconds for 512^3 to 4096^3, import included
    zigzag/bin/python bench/record_zigzag.py --print 3       # case number 3 as JSON

The mapping is given in full, so nothing is searched: a spatial array with a register for the stationary operand, a pad and a DRAM, 8-bit
words everywhere, so that word accesses are bytes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import logging
import platform
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from itertools import permutations
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "tests" / "conformance" / "recorded"
MEMORIES = ("pad", "l2", "dram")
BITS = {"I": 8, "W": 8, "O": 32}
SPATIAL = {"os": ("M", "N", "K", "O"), "ws": ("K", "N", "M", "W"), "is": ("K", "M", "N", "I")}
"""For each dataflow what lies along the array's rows and columns, what passes in time, and which operand stays."""


@dataclass(frozen=True)
class Case:
    """A GEMM in tiles: loops over tiles in `order`, outermost first; each tile on an array of rows x columns.

    Partial `sums` stay in the pad until they are complete, or go to the DRAM and come back with every tile. With a `block` there is an L2
    between pad and DRAM: `order` is then that of the loops over blocks, `block_order` that of the loops over the tiles of a block.
    """

    array: tuple[int, int]
    dataflow: str
    size: dict[str, int]
    tile: dict[str, int]
    order: str
    sums: str = "pad"
    block: dict[str, int] | None = None
    block_order: str = ""

    def loops(self) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        """The loops over tiles of a block and over blocks, innermost first."""
        block = self.block or self.tile
        within = [(d, block[d] // self.tile[d]) for d in reversed(self.block_order)]
        return within, [(d, self.size[d] // block[d]) for d in reversed(self.order)]

    def levels(self) -> dict[str, list[list[tuple[str, int]]]]:
        """For each operand the loops of each memory that it is in, innermost memory and loop first."""
        across, down, passing, stays = SPATIAL[self.dataflow]
        spread = {across: self.array[0], down: self.array[1]}
        folds = [(d, self.tile[d] // n) for d, n in spread.items()]
        in_time = [(passing, self.tile[passing])]
        within, outer = self.loops()
        every = within + outer
        last_k = max(i for i, (d, _) in enumerate(every) if d == "K")
        found: dict[str, list[list[tuple[str, int]]]] = {}
        for operand in BITS:
            held = last_k + 1 if operand == "O" and self.sums == "pad" else 0
            pad, middle, dram = folds + every[:held], within[held:], outer[max(0, held - len(within)) :]
            lowest = [in_time, pad] if operand == stays else [in_time + pad]
            found[operand] = [*lowest, middle, dram] if self.block else [*lowest, dram]
        return found


def cases() -> list[Case]:
    """Six loop orders for each dataflow and array, tiles of two folds and more in each direction."""
    found: list[Case] = []
    for array, size, tile in (
        ((8, 8), {"M": 96, "N": 64, "K": 128}, {"M": 32, "N": 16, "K": 32}),
        ((4, 8), {"M": 64, "N": 96, "K": 48}, {"M": 16, "N": 32, "K": 16}),
        ((16, 16), {"M": 128, "N": 128, "K": 128}, {"M": 64, "N": 32, "K": 64}),
    ):
        found += [Case(array, f, size, tile, "".join(order)) for f in SPATIAL for order in permutations("MNK")]
        spilling = ("MKN", "NKM", "KMN", "KNM")  # where K is innermost, a tile of sums is complete before the next
        found += [Case(array, f, size, tile, order, "dram") for f in SPATIAL for order in spilling]
    size, block, tile = {"M": 96, "N": 64, "K": 64}, {"M": 48, "N": 32, "K": 32}, {"M": 16, "N": 16, "K": 16}
    for outer in permutations("MNK"):
        found += [
            Case((8, 8), "os", size, tile, "".join(outer), "pad", block, "".join(within))
            for within in permutations("MNK")
        ]
    return found


def hardware(case: Case) -> dict[str, Any]:
    """The accelerator in ZigZag's YAML."""
    stays = SPATIAL[case.dataflow][3]
    names = {"I": "I1", "W": "I2", "O": "O"}
    sides = {"I": ("fh", "tl"), "W": ("fh", "tl"), "O": ("fh", "tl", "fl", "th")}

    def memory(operands: list[str], served: list[str]) -> dict[str, Any]:
        allocation = [f"{names[o]}, {side}" for o in operands for side in sides[o]]
        port = {"name": "rw_port_1", "type": "read_write", "bandwidth_min": 8, "bandwidth_max": 8}
        return {
            "size": 10**12, "r_cost": 1.0, "w_cost": 1.0, "area": 0, "latency": 1, "auto_cost_extraction": False,
            "operands": [names[o] for o in operands], "ports": [{**port, "allocation": allocation}], "served_dimensions": served,
        }  # fmt: skip

    every = ["D1", "D2"]
    memories = {"reg": memory([stays], [])}
    memories |= {name: memory(list(BITS), every) for name in MEMORIES if name != "l2" or case.block}
    array = {"unit_energy": 1.0, "unit_area": 1.0, "dimensions": every, "sizes": list(case.array)}
    return {"name": "recorded", "memories": memories, "operational_array": array}


def workload(case: Case) -> dict[str, Any]:
    """The GEMM in ZigZag's YAML."""
    return {
        "id": 0, "name": "gemm", "operator_type": "Gemm", "equation": "O[m][n]+=I[m][k]*W[k][n]",
        "loop_dims": ["M", "N", "K"], "loop_sizes": [case.size[d] for d in "MNK"],
        "operand_precision": {**BITS, "O_final": BITS["O"]}, "operand_source": {"I": 0, "W": 0},
    }  # fmt: skip


def files(case: Case, folder: Path) -> tuple[Path, Path]:
    """The accelerator's file and that of the spatial mapping."""
    import yaml

    across, down, _, _ = SPATIAL[case.dataflow]
    spatial = {"D1": [f"{across}, {case.array[0]}"], "D2": [f"{down}, {case.array[1]}"]}
    mapping = {"name": "default", "spatial_mapping": spatial, "memory_operand_links": {"O": "O", "W": "I2", "I": "I1"}}
    hardware_file, mapping_file = folder / "hardware.yaml", folder / "mapping.yaml"
    hardware_file.write_text(yaml.safe_dump(hardware(case)))
    mapping_file.write_text(yaml.safe_dump([mapping]))
    return hardware_file, mapping_file


def search(n: int) -> float:
    """Processor time of ZigZag's own search for a temporal mapping of n^3, on `gemm_l1_l3`, an accelerator that comes with it."""
    import zigzag
    from zigzag.api import get_hardware_performance_zigzag

    inputs = Path(zigzag.__file__).parent / "inputs"
    layer = {
        **workload(Case((8, 8), "os", dict.fromkeys("MNK", n), dict.fromkeys("MNK", n), "MNK")),
        "equation": "O[d0][d2]+=I[d0][d1]*W[d1][d2]",
        "loop_dims": ["D0", "D1", "D2"],
    }
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        get_hardware_performance_zigzag(
            [layer], str(inputs / "hardware" / "gemm_l1_l3.yaml"), str(inputs / "mapping" / "gemm_l1_l3.yaml"),
            dump_folder=folder, pickle_filename=str(Path(folder) / "found.pickle"), loma_show_progress_bar=False,
        )  # fmt: skip
        return time.process_time() - start


def run(case: Case) -> dict[str, Any]:
    """Bytes read and written at the pad and at the DRAM, by operand, and the seconds of processor time it took."""
    from zigzag.datatypes import LayerDim, LayerOperand
    from zigzag.mapping.temporal_mapping import TemporalMapping, TemporalMappingType
    from zigzag.stages.evaluation.cost_model_evaluation import CostModelStage
    from zigzag.stages.main import MainStage
    from zigzag.stages.mapping.spatial_mapping_conversion import SpatialMappingConversionStage
    from zigzag.stages.parser.accelerator_parser import AcceleratorParserStage
    from zigzag.stages.parser.workload_parser import WorkloadParserStage
    from zigzag.stages.stage import Stage
    from zigzag.stages.workload_iterator import WorkloadStage

    levels = case.levels()

    class GivenArray(Stage):
        """Passes the spatial mapping through: the stage that would generate others is omitted."""

        def run(self) -> Any:
            array = self.kwargs["accelerator"].operational_array
            self.kwargs["layer"].spatial_mapping.initialize_oa_dims(array.dimension_sizes)
            yield from self.list_of_callables[0](self.list_of_callables[1:], **self.kwargs).run()

    class GivenMapping(Stage):
        """Passes the case's mapping on instead of searching one."""

        def run(self) -> Any:
            loops = {
                LayerOperand(o): [[(LayerDim(d), n) for d, n in level] for level in found]
                for o, found in levels.items()
            }
            mapping = TemporalMapping(loops, self.kwargs["layer"], TemporalMappingType.UNEVEN)
            yield from self.list_of_callables[0](
                self.list_of_callables[1:], temporal_mapping=mapping, **self.kwargs
            ).run()

    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        hardware_file, mapping_file = files(case, Path(folder))
        stages = [
            WorkloadParserStage,
            AcceleratorParserStage,
            WorkloadStage,
            GivenArray,
            SpatialMappingConversionStage,
            GivenMapping,
            CostModelStage,
        ]
        start = time.process_time()
        answers = MainStage(
            stages, accelerator=str(hardware_file), workload=[workload(case)], mapping=str(mapping_file),
            access_same_data_considered_as_no_access=True,
        ).run()  # fmt: skip
        seconds = time.process_time() - start
    (evaluation, _) = answers[0]
    return {
        "rows": case.array[0], "columns": case.array[1], "dataflow": case.dataflow, "order": case.order,
        "sums": case.sums, "size": case.size, "tile": case.tile, "block": case.block, "block_order": case.block_order,
        "bytes": bytes_by_memory(case, evaluation),
        "ideal_temporal_cycles": int(evaluation.ideal_temporal_cycle),
        "seconds": round(seconds, 3),
    }  # fmt: skip


def bytes_by_memory(case: Case, evaluation: Any) -> dict[str, dict[str, dict[str, int]]]:
    """The bytes read and written on each side of each memory, by operand."""
    from zigzag.hardware.architecture.memory_port import DataDirection

    directions = {
        "from_above": DataDirection.WR_IN_BY_HIGH, "to_above": DataDirection.RD_OUT_TO_HIGH,
        "to_below": DataDirection.RD_OUT_TO_LOW, "from_below": DataDirection.WR_IN_BY_LOW,
    }  # fmt: skip
    found: dict[str, dict[str, dict[str, int]]] = {n: {} for n in MEMORIES if n != "l2" or case.block}
    for operand, accesses in evaluation.memory_word_access.items():
        for name, level in zip(reversed(found), reversed(accesses), strict=False):
            found[name][str(operand)] = {key: int(level.get(d)) for key, d in directions.items()}
    return found


def origin() -> dict[str, Any]:
    return {
        "tool": "ZigZag",
        "version": metadata.version("zigzag-dse"),
        "config": "bench/record_zigzag.py: the mapping in full, bandwidth_min = bandwidth_max = 8 bits at every port",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, 2 shared cores",
        "seconds": "of processor time",
        "regenerate": "bench/record_zigzag.py",
    }


def write(name: str, rows: list[dict[str, Any]]) -> None:
    head = json.dumps(origin(), indent=1)[:-2]
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    (RECORDED / name).write_text(f'{head},\n "rows": [\n  {lines}\n ]\n}}\n')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", action="store_true", help="seconds for 512^3 to 4096^3")
    parser.add_argument("--print-only", action="store_true", help="with --times: as JSON, not to the file")
    parser.add_argument("--print", type=int, metavar="NUMBER", help="one case as JSON")
    args = parser.parse_args()
    if args.print is not None:
        print(json.dumps(run(cases()[args.print])))
    elif args.times:
        start = time.process_time()
        import zigzag.api

        rows: list[dict[str, Any]] = [{"what": "import", "seconds": round(time.process_time() - start, 3)}]
        del zigzag
        for n in (512, 1024, 4096):
            cube, tile = {"M": n, "N": n, "K": n}, {"M": 64, "N": 64, "K": 128}
            found = run(Case((32, 32), "os", cube, tile, "MNK"))
            rows.append({"what": "gemm", "n": n, "seconds": found["seconds"], "search_seconds": round(search(n), 3)})
        if args.print_only:
            print(json.dumps(rows))
        else:
            write("zigzag_times.json", rows)
    else:
        write("zigzag.json", [run(case) for case in cases()])


if __name__ == "__main__":
    main()
