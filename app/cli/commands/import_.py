"""`tilewright import`: converts existing code to a notebook."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from ....engine.adopt import from_tvm_trace, has_records_only, is_carrier, is_post, read_as_far_as_possible, records_of
from ....engine.hwsim import load_machine
from ....engine.ir import IRModule, PrimFunc, Refusal
from ....engine.network import inference_counts, is_model_file, lowered_text, merged, open_sizes
from ....engine.schedule import ScheduleError
from ....engine.script.relax import parse_network
from ....engine.te import parse
from ...document import DEFAULT_MACHINE, Document, DocumentError, evaluate
from ...document.editing.from_schedule import notebook_of_schedule
from ...document.networks import KERNELS, create_network
from ...document.pasted import is_plain, machine_for
from ...document.posts import code_of, labels_of, numbered
from ...document.workload import program_names
from ..arguments import takes_file, takes_limit, takes_values
from ..conversion import as_cells, on_machine, write_notebook
from ..exit_codes import EXIT_OK, RefusedError
from ..opened import home_of, of_program, source, split_program
from ..output import print_json, print_line, working
from ..usage import Parser, takes_json

EXAMPLES = (
    "matmul_te.py -o matmul.py",
    "model.onnx -o model --size batch=1",
    "model.pt2 -o model",
    "module.py#fused_add -o fused_add.py",
    "trace.json --program module.py",
    "- --machine gemmini < post.txt",
)


def add_arguments(parser: Parser) -> None:
    takes_file(
        parser,
        words="TVMScript, TE or TileLang text, a program with its schedule code, the JSON of a TVM trace, a link to a notebook, a carrier "
        "of programs "
        "(.ipynb, .html, .eml, .diff, .zip, a folder, a tuning database), or a model: "
        "a file of ONNX, TFLite, StableHLO (.mlir) or torch.export (.pt2), or TVM's text of a module with R.call_tir",
    )
    takes_file(parser, "--program", "for a trace or a tuning record: the original program")
    takes_values(parser)
    takes_json(parser, "the notebook and the notes of the conversion")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="output file (default: standard output); a folder for a model"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the programs of a text, or the functions of a module, each of which is FILE#NUMBER",
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    takes_limit(parser)


def run(arguments: Namespace) -> int:
    if arguments.list:
        return _listed(arguments)
    if is_model_file(arguments.file) or _is_folder(arguments.output):
        return _model(arguments)
    document, notes = _imported(arguments)
    return write_notebook(arguments, document, {"notes": notes})


def _listed(arguments: Namespace) -> int:
    """Print the programs of a text with their numbers."""
    path, number = split_program(arguments.file)
    document = source(path)
    labels = (
        list(labels_of(document.text.lstrip("\ufeff"), path, home_of(document, path))) if is_plain(document) else []
    )
    if not labels:
        made = of_program(document, path, number or 1, dict(arguments.size))
        if made.post is None and made.plain is None and is_plain(made.document):
            parse(document.text, path)  # raises: the text has no program
        labels = list(made.post.labels if made.post is not None else program_names(made.document))
    if arguments.json:
        print_json({"programs": labels})
    else:
        print_line("\n".join(f"{path}#{number}  {label}" for number, label in enumerate(labels, 1)))
    return EXIT_OK


def _is_folder(output: str | None) -> bool:
    """Whether the output is a folder, which only a model has."""
    return output is not None and Path(output).suffix != ".py"


def _model(arguments: Namespace) -> int:
    """Write the folder of a model: its graph, and a notebook for each kernel."""
    if arguments.output is None or not _is_folder(arguments.output):
        raise DocumentError(Refusal("no-folder", "a model becomes a folder of notebooks", fix=("-o FOLDER",)))
    with working(arguments, f"reading {arguments.file}"):
        is_file = is_model_file(arguments.file)
        text = lowered_text(arguments.file) if is_file else code_of(source(arguments.file).text)
        network = parse_network(text, "" if is_file else arguments.file)
    name = Path(arguments.file).stem if arguments.file != "-" else Path(arguments.output).name
    machine = load_machine(arguments.machine or DEFAULT_MACHINE)
    sizes = {size: int(value) for size, value in arguments.size if isinstance(value, int)}
    path = create_network(network, arguments.output, name, machine, Path(arguments.file).name, sizes)
    missing = [size for size in open_sizes(network) if size not in sizes]
    kernels = sorted(p.name for p in (path.parent / KERNELS).glob("*.py"))
    if arguments.json:
        print_json({"output": str(path), "kernels": kernels, "open_sizes": missing})
    else:
        given = "".join(f" --size {size}=128" for size in missing)
        calls, programs = inference_counts(merged(network).graph)
        print_line(f"{path}: {calls} calls of {programs} kernels; tilewright network {path}{given}")
    return EXIT_OK


def _imported(arguments: Namespace) -> tuple[Document, list[str]]:
    found = source(split_program(arguments.file)[0])
    if _is_trace(found.text):
        return _of_trace(found.text, arguments), []
    if arguments.program is not None and has_records_only(found.text):
        return _of_trace(_trace_of_record(found.text, arguments.file), arguments), []
    if arguments.program is not None:
        raise DocumentError(
            Refusal("not-a-trace", "--program needs the JSON of a trace", found=f"{arguments.file} is not a trace")
        )
    made = as_cells(arguments.file, dict(arguments.size))
    return on_machine(made.document, arguments.machine), [f"{n.where}: {n.text}" for n in made.notes]


def _trace_of_record(text: str, file: str) -> str:
    """The trace of the tuning record that FILE#2 names; the first without a number."""
    records = records_of(text)
    number = numbered(split_program(file)[1], [record.name for record in records])
    return records[number - 1].trace


def _is_trace(text: str) -> bool:
    """Whether the text is a trace: its JSON is a list, and no program begins with one; a database of traces has programs too."""
    return text.lstrip("\ufeff \t\r\n").startswith("[") and not is_carrier(text)


def _of_trace(text: str, arguments: Namespace) -> Document:
    """Apply the calls of a trace to its original program."""
    if arguments.program is None:
        raise DocumentError(
            Refusal(
                "no-program",
                "a trace does not contain the original program",
                fix=(f"tilewright import {arguments.file} --program PROGRAM.py",),
            )
        )
    program = _program_in(source(arguments.program), arguments.program)
    try:
        schedule = from_tvm_trace(text.strip(), program)
    except ScheduleError as error:
        raise RefusedError(error) from error
    machine = load_machine(arguments.machine or machine_for(schedule.func, DEFAULT_MACHINE))
    return notebook_of_schedule(schedule, machine).document


def _program_in(document: Document, path: str) -> IRModule | PrimFunc:
    """The program of a notebook, of a plain file, or of a file with schedule code, which is ignored."""
    if any(cell.kind != "preamble" for cell in document.cells):
        notebook = evaluate(document)
        if notebook.program is None:
            raise notebook.error or DocumentError(Refusal("no-workload", f"there is no program in {path}"))
        return notebook.program
    if is_post(document.text):
        return read_as_far_as_possible(document.text, filename=path).program
    return parse(document.text, path).program
