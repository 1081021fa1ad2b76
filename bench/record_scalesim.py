"""What SCALE-Sim says about GEMMs on systolic arrays, recorded for tests and bench. Needs its own environment (numpy below 2):

    python -m venv scalesim && scalesim/bin/pip install scalesim==3.0.0 'numpy<2'
    scalesim/bin/python bench/record_scalesim.py                      # writes the tests' file, a minute
    scalesim/bin/python bench/record_scalesim.py --large              # the bench's: 512^3 and 1024^3, a quarter of an hour
    scalesim/bin/python bench/record_scalesim.py --print 32 32 os 64 64 64    # one GEMM, M N K, as JSON

SCALE-Sim runs in CALC mode: no stalls by bandwidth, so the cycles are those of the array.
"""

from __future__ import annotations

import argparse
import configparser
import datetime
import json
import platform
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "tests" / "conformance" / "recorded"

ARRAYS = ((4, 4), (8, 8), (8, 4), (4, 16), (16, 16))
SHAPES = (
    (1, 1, 1),
    (4, 4, 4),
    (8, 8, 8),
    (16, 16, 16),
    (32, 32, 32),
    (64, 16, 24),
    (7, 5, 3),
    (9, 17, 33),
    (1, 40, 25),
    (40, 1, 25),
    (31, 29, 1),
    (17, 16, 15),
    (48, 20, 36),
)
"""M, N, K: exact folds, edges in each extent, single rows, columns and depths."""
CONVOLUTIONS = ((10, 10, 3, 3, 4, 6, 1), (9, 11, 3, 3, 3, 10, 2), (8, 8, 1, 1, 16, 12, 1), (12, 7, 5, 3, 2, 9, 1))
"""Input height and width, filter height and width, channels, filters, stride; no padding."""
LARGE = ((512, 512, 512), (1024, 1024, 1024))
GEMM = ("m", "n", "k")
CONVOLUTION = ("height", "width", "filter_height", "filter_width", "channels", "filters", "stride")
DATAFLOWS = ("os", "ws", "is")

CONFIG: dict[str, dict[str, object]] = {
    "general": {"run_name": "recorded"},
    "run_presets": {"InterfaceBandwidth": "CALC", "UseRamulatorTrace": False},
    "architecture_presets": {
        "ifmapsramszkB": 64, "filtersramszkB": 64, "ofmapsramszkB": 64, "IfmapOffset": 0, "FilterOffset": 10_000_000,
        "OfmapOffset": 20_000_000, "Bandwidth": 10, "ReadRequestBuffer": 32, "WriteRequestBuffer": 32,
    },
    "layout": {
        "IfmapCustomLayout": False, "IfmapSRAMBankBandwidth": 10, "IfmapSRAMBankNum": 10, "IfmapSRAMBankPort": 2,
        "FilterCustomLayout": False, "FilterSRAMBankBandwidth": 10, "FilterSRAMBankNum": 10, "FilterSRAMBankPort": 2,
    },
    "sparsity": {"SparsitySupport": False},
}  # fmt: skip


def run(array: tuple[int, int], dataflow: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """One GEMM (three sizes) or convolution (seven): the report's compute cycles, SRAM words read and written, processor time."""
    from scalesim.scale_sim import scalesim

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = configparser.ConfigParser()
        config.optionxform = str  # type: ignore[assignment, method-assign]
        rows, columns = array
        own = {"ArrayHeight": rows, "ArrayWidth": columns, "Dataflow": dataflow}
        for section, values in CONFIG.items():
            config[section] = {k: str(v) for k, v in values.items()}
        config["architecture_presets"].update({k: str(v) for k, v in own.items()})
        with open(folder / "a.cfg", "w") as file:
            config.write(file)
        names = GEMM if len(shape) == len(GEMM) else CONVOLUTION
        (folder / "layer.csv").write_text(f"Layer, {', '.join(names)},\nG, {', '.join(map(str, shape))},\n")
        (folder / "layout.csv").write_text("Layer,\n" + ", ".join(["G"] + ["1"] * 22) + ",\n")
        start = time.process_time()
        simulator = scalesim(
            save_disk_space=True, verbose=False, config=str(folder / "a.cfg"), topology=str(folder / "layer.csv"),
            layout=str(folder / "layout.csv"), input_type_gemm=names is GEMM,
        )  # fmt: skip
        simulator.run_scale(top_path=str(folder))
        layer = simulator.runner.single_layer_sim_object_list[0]
        _, compute, stalls, *_ = layer.get_compute_report_items()
        seconds = time.process_time() - start
    assert stalls == 0
    return {
        "rows": rows,
        "columns": columns,
        "dataflow": dataflow,
        **dict(zip(names, shape, strict=True)),
        "compute_cycles": int(compute),
        "ifmap_sram_reads": int(layer.ifmap_sram_reads),
        "filter_sram_reads": int(layer.filter_sram_reads),
        "ofmap_sram_writes": int(layer.ofmap_sram_writes),
        "seconds": round(seconds, 3),
    }


def origin() -> dict[str, Any]:
    return {
        "tool": "SCALE-Sim",
        "version": metadata.version("scalesim"),
        "config": CONFIG,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, 2 shared cores",
        "seconds": "of processor time",
        "regenerate": "bench/record_scalesim.py",
    }


def record(name: str, cases: list[tuple[tuple[int, int], str, tuple[int, ...]]]) -> None:
    """Rewrites the file after each case: large ones need minutes."""
    head = json.dumps(origin(), indent=1)[:-2]
    lines: list[str] = []
    for array, dataflow, shape in cases:
        lines.append(json.dumps(run(array, dataflow, shape)))
        print(lines[-1], flush=True)
        (RECORDED / name).write_text(head + ',\n "rows": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="512^3 and 1024^3 on 32 x 32, for the bench")
    parser.add_argument("--print", nargs=6, metavar=("ROWS", "COLUMNS", "DATAFLOW", "M", "N", "K"))
    args = parser.parse_args()
    if args.print:
        rows, columns, dataflow, m, n, k = args.print
        print(json.dumps(run((int(rows), int(columns)), dataflow, (int(m), int(n), int(k)))))
    elif args.large:
        record("scalesim_large.json", [((32, 32), d, s) for s in LARGE for d in ("ws", "os", "is")])
    else:
        record("scalesim.json", [(a, d, s) for a in ARRAYS for s in SHAPES for d in DATAFLOWS])
        record("scalesim_conv.json", [(a, d, s) for a in ARRAYS for s in CONVOLUTIONS for d in DATAFLOWS])


if __name__ == "__main__":
    main()
