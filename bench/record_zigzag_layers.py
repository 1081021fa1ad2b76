"""The mappings that ZigZag's LOMA finds for the layers of `bench/explore_layers.py`, recorded for a replay on the same machines. Needs
a separate environment (see record_zigzag.py), and Tilewright's layers as JSON:

    python bench/explore_layers.py --layers > layers.json
    zigzag/bin/python bench/record_zigzag_layers.py layers.json

The accelerators are those of static/machines in ZigZag's terms: the array, a register for the stationary operand of its cells, memories
of the same sizes with the same bandwidths, a DRAM whose one port all operands share. The search minimises the latency, at LOMA's default
limit of six loop factors. ZigZag models neither physical blocks of a memory nor bursts nor the cost of a descriptor.
"""

from __future__ import annotations

import argparse
import datetime
import json
import logging
import platform
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "tests" / "conformance" / "recorded" / "zigzag_layers.json"
LPF_LIMIT = 6
NAMES = {"I": "I1", "W": "I2", "O": "O"}
SIDES = {"I": ("fh", "tl"), "W": ("fh", "tl"), "O": ("fh", "tl", "fl", "th")}


def memory(
    size: int, operands: str, ports: list[tuple[str, int, list[tuple[str, str]]]], served: list[str]
) -> dict[str, Any]:
    """A memory of `size` bits, and ports (kind, bits a cycle, traffic: operand and direction)."""
    return {
        "size": size, "r_cost": 1.0, "w_cost": 1.0, "area": 0, "latency": 1, "auto_cost_extraction": False,
        "operands": [NAMES[o] for o in operands],
        "ports": [
            {"name": f"{''.join(w[0] for w in kind.split('_'))}_port_{n}", "type": kind,
             "bandwidth_min": min(8, bits), "bandwidth_max": bits,
             "allocation": [f"{NAMES[o]}, {side}" for o, side in passing]}
            for n, (kind, bits, passing) in enumerate(ports, 1)
        ],
        "served_dimensions": served,
    }  # fmt: skip


def every(operands: str) -> list[tuple[str, str]]:
    return [(o, side) for o in operands for side in SIDES[o]]


def gemmini() -> dict[str, Any]:
    """16 x 16 cells with a weight in each, a scratchpad of 256 KiB, an accumulator of 64 KiB, 16 bytes a cycle to the DRAM."""
    both = ["D1", "D2"]
    return {"name": "gemmini", "operational_array": {"unit_energy": 1.0, "unit_area": 1.0, "dimensions": both, "sizes": [16, 16]},
            "memories": {
                "reg": memory(8, "W", [("read", 8, [("W", "tl")]), ("write", 8, [("W", "fh")])], []),
                "accumulator": memory(65_536 * 8, "O", [("read", 1024, [("O", "tl"), ("O", "th")]),
                                                        ("write", 1024, [("O", "fh"), ("O", "fl")])], both),
                "scratchpad": memory(262_144 * 8, "IW", [("read_write", 512, every("IW"))], both),
                "dram": memory(10**12, "IWO", [("read_write", 128, every("IWO"))], both),
            }}  # fmt: skip


def dual() -> dict[str, Any]:
    """1024 products a cycle, 32 x 32 x 1 of a tile; a VTCM of 256 KiB, an accumulator of 64 KiB, 26 bytes a cycle to the DDR."""
    both = ["D1", "D2"]
    return {"name": "dual", "operational_array": {"unit_energy": 1.0, "unit_area": 1.0, "dimensions": both, "sizes": [32, 32]},
            "memories": {
                "accumulator": memory(65_536 * 8, "O", [("read", 32_768, [("O", "tl"), ("O", "th")]),
                                                        ("write", 32_768, [("O", "fh"), ("O", "fl")])], both),
                "vtcm": memory(262_144 * 8, "IW", [("read", 2048, [("I", "tl"), ("W", "tl")]),
                                                   ("write", 1024, [("I", "fh"), ("W", "fh")])], both),
                "ddr": memory(10**12, "IWO", [("read_write", 208, every("IWO"))], both),
            }}  # fmt: skip


MACHINES = {
    "gemmini": (gemmini, (8, 8, 32), {"D1": ("K", 16), "D2": ("N", 16)}),
    "dual-bank-npu": (dual, (16, 16, 32), {"D1": ("M", 32), "D2": ("N", 32)}),
}
"""The accelerator, bits of both operands and of the sums, the dimensions along the sides of the array."""


def workload(layer: dict[str, Any], bits: tuple[int, int, int]) -> dict[str, Any]:
    """A layer in ZigZag's terms, with the dimension names of a product if possible."""
    precision = {"I": bits[0], "W": bits[1], "O": bits[2], "O_final": bits[2]}
    common = {"id": 0, "name": layer["name"], "operand_precision": precision, "operand_source": {"I": 0, "W": 0}}
    if layer["out"] is None:
        sizes = {"B": layer["batch"], "M": layer["rows"], "N": layer["columns"], "K": layer["depth"]}
        equation = "O[b][m][n]+=I[b][m][k]*W[b][k][n]" if layer["batch"] > 1 else "O[m][n]+=I[m][k]*W[k][n]"
        dims = [d for d in sizes if layer["batch"] > 1 or d != "B"]
        return {
            **common,
            "operator_type": "Gemm",
            "equation": equation,
            "loop_dims": dims,
            "loop_sizes": [sizes[d] for d in dims],
        }
    (oy, ox), (fy, fx), step = layer["out"], layer["window"], layer["step"]
    sizes = {"N": layer["columns"], "K": layer["depth"], "OY": oy, "M": ox, "FY": fy, "FX": fx}
    return {
        **common, "operator_type": "Conv", "equation": "O[n][oy][m]+=W[n][k][fy][fx]*I[k][iy][ix]",
        "dimension_relations": [f"ix={step}*m+1*fx", f"iy={step}*oy+1*fy"],
        "loop_dims": list(sizes), "loop_sizes": list(sizes.values()),
    }  # fmt: skip


def run(layer: dict[str, Any], machine: str) -> dict[str, Any]:
    """The mapping of least latency: for each operand the loops at each memory, innermost first; and the processor time in seconds."""
    import yaml
    from zigzag.mapping.temporal_mapping import TemporalMappingType
    from zigzag.stages.evaluation.cost_model_evaluation import CostModelStage
    from zigzag.stages.main import MainStage
    from zigzag.stages.mapping.spatial_mapping_generation import SpatialMappingGeneratorStage
    from zigzag.stages.mapping.temporal_mapping_generator_stage import TemporalMappingGeneratorStage
    from zigzag.stages.parser.accelerator_parser import AcceleratorParserStage
    from zigzag.stages.parser.workload_parser import WorkloadParserStage
    from zigzag.stages.stage import Stage
    from zigzag.stages.workload_iterator import WorkloadStage

    class Best(Stage):
        """Keeps the mapping of least latency, and the best one whose sums are complete before they leave the accumulator."""

        def run(self) -> Any:
            least: dict[bool, Any] = {}
            for found, extra in self.list_of_callables[0](self.list_of_callables[1:], **self.kwargs).run():
                for kept in {False, sums_stay(found)}:
                    if kept not in least or found.latency_total2 < least[kept][0].latency_total2:
                        least[kept] = (found, extra)
            yield from least.values()

    make, bits, sides = MACHINES[machine]
    spatial = {side: [f"{d}, {n}"] for side, (d, n) in sides.items()}
    mapping = [
        {"name": "default", "spatial_mapping": spatial, "memory_operand_links": {"O": "O", "W": "I2", "I": "I1"}}
    ]
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        hardware_file, mapping_file = Path(folder) / "hardware.yaml", Path(folder) / "mapping.yaml"
        hardware_file.write_text(yaml.safe_dump(make(), sort_keys=False))
        mapping_file.write_text(yaml.safe_dump(mapping))
        stages = [WorkloadParserStage, AcceleratorParserStage, WorkloadStage, SpatialMappingGeneratorStage, Best,
                  TemporalMappingGeneratorStage, CostModelStage]  # fmt: skip
        start = time.process_time()
        answers = MainStage(
            stages, accelerator=str(hardware_file), workload=[workload(layer, bits)], mapping=str(mapping_file),
            loma_lpf_limit=LPF_LIMIT, loma_show_progress_bar=False, nb_mappings_generated=1,
            access_same_data_considered_as_no_access=True, temporal_mapping_type=TemporalMappingType.UNEVEN,
            enable_mix_spatial_mapping_generation=False,
        ).run()  # fmt: skip
        seconds = time.process_time() - start
    by_latency = sorted((found for found, _ in answers), key=lambda f: f.latency_total2)
    best = by_latency[0]
    staying = next((found for found in by_latency if sums_stay(found)), None)
    return {
        "layer": layer["name"],
        "machine": machine,
        "latency": int(best.latency_total2),
        "ideal": int(best.ideal_temporal_cycle),
        "sums_stay": sums_stay(best),
        "latency_staying": staying and int(staying.latency_total2),
        "loops": mapping_of(staying or best),
        "seconds": round(seconds, 2),
    }


def mapping_of(found: Any) -> dict[str, list[list[list[Any]]]]:
    """For each operand the loops at each memory, innermost memory and loop first."""
    loops = found.temporal_mapping.mapping_dic_stationary
    return {str(o): [[[str(d), int(n)] for d, n in level] for level in levels] for o, levels in loops.items()}


def sums_stay(found: Any) -> bool:
    """Whether no depth loop is at the DRAM, so that sums leave the accumulator once, complete."""
    return not {d for d, _ in mapping_of(found)["O"][-1]} & {"K", "FX", "FY"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers", type=Path, help="what `bench/explore_layers.py --layers` prints")
    parser.add_argument("--only", default="", help="layers whose name has this in it; printed, not recorded")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(RECORDED.read_text())["rows"] if RECORDED.exists() and not args.only else []
    known = {(row["layer"], row["machine"]) for row in rows}
    for layer in json.loads(args.layers.read_text()):
        for machine in MACHINES:
            if args.only in layer["name"] and (layer["name"], machine) not in known:
                rows.append(run(layer, machine))
                print(
                    rows[-1]["layer"], machine, rows[-1]["latency"], rows[-1]["seconds"], rows[-1]["loops"], flush=True
                )
                if not args.only:
                    write(rows)


def write(rows: list[dict[str, Any]]) -> None:
    head = {
        "tool": "ZigZag",
        "version": metadata.version("zigzag-dse"),
        "config": f"bench/record_zigzag_layers.py: LOMA, least latency, lpf_limit {LPF_LIMIT}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, 2 shared cores",
        "seconds": "of processor time, import left out",
        "regenerate": "bench/record_zigzag_layers.py",
    }
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    RECORDED.write_text(f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n  {lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
