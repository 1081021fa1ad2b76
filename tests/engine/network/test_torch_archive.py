"""Archives of torch.export: known entries and fields are copied, anything that PyTorch would run is refused or left out."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tilewright.engine.ir import TilewrightError
from tilewright.engine.network import lowered_text
from tilewright.engine.network.frontends import torch_archive
from tilewright.engine.network.frontends.torch_archive import copy_known
from tilewright.engine.network.frontends.torch_sizes import require_arithmetic

CODE = "__import__('os').system('touch canary')"
SIZE = "Symbol('s31', positive=True, integer=True)"
LEAF = {"type": None, "context": None, "children_spec": []}
MODEL = "models/model.json"
WEIGHTS = "data/weights/model_weights_config.json"
Json = dict[str, Any]


def meta(*sizes: object) -> Json:
    """The type of a tensor of floats."""
    device = {"type": "cuda", "index": 0}
    extents = [
        {"as_int": s} if isinstance(s, int) else {"as_expr": {"expr_str": s, "hint": {"as_int": 4}}} for s in sizes
    ]
    strides = [{"as_int": 1} for _ in sizes]
    return {
        "dtype": 7, "sizes": extents, "requires_grad": False, "device": device, "strides": strides,
        "storage_offset": {"as_int": 0}, "layout": 7,
    }  # fmt: skip


def node() -> Json:
    return {
        "target": "torch.ops.aten.add.Tensor",
        "inputs": [
            {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
            {"name": "other", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1},
        ],
        "outputs": [{"as_tensor": {"name": "add"}}],
        "metadata": {"stack_trace": CODE, "nn_module_stack": f"a,,{CODE}", "torch_fn": CODE},
        "is_hop_single_tensor_return": None,
        "name": "add",
    }


def tree(type_: str = "builtins.tuple", context: object = None, *children: Json) -> Json:
    return {"type": type_, "context": json.dumps(context), "children_spec": list(children)}


def call() -> Json:
    inputs = tree("builtins.tuple", None, tree("builtins.tuple", None, LEAF), tree("builtins.dict", []))
    return {
        "inputs": [], "outputs": [], "in_spec": json.dumps([1, inputs]), "out_spec": json.dumps([1, LEAF]),
        "forward_arg_names": ["x"],
    }  # fmt: skip


def program() -> Json:
    """The JSON that PyTorch 2.14 writes for x + w, with a batch of any size."""
    graph = {
        "inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
        "outputs": [{"as_tensor": {"name": "add"}}],
        "nodes": [node()],
        "tensor_values": {"p_w": meta(4), "x": meta(SIZE, 4), "add": meta(SIZE, 4)},
        "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False,
        "custom_obj_values": {}, "sym_float_values": {},
    }  # fmt: skip
    signature = {
        "input_specs": [
            {"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
            {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
        ],
        "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}],
    }
    module = {
        "graph": graph, "signature": signature, "module_call_graph": [{"fqn": "", "signature": call()}],
        "metadata": {"custom": CODE}, "treespec_namedtuple_fields": {},
    }  # fmt: skip
    return {
        "graph_module": module,
        "opset_version": {"aten": 10},
        "range_constraints": {"s31": {"min_val": 2, "max_val": None}},
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"],
        "torch_version": "2.14.1+cpu",
        "guards_code": [CODE],
    }


def payloads() -> Json:
    return {"config": {"w": {"path_name": "weight_0", "is_param": True, "use_pickle": False, "tensor_meta": meta(4)}}}


def entries(model: object = None, weights: object = None) -> dict[str, bytes]:
    return {
        "data/weights/weight_0": bytes(range(16)),
        WEIGHTS: json.dumps(weights or payloads()).encode(),
        "data/constants/model_constants_config.json": b'{"config": {}}',
        MODEL: json.dumps(model or program()).encode(),
        "data/sample_inputs/model.pt": b"pickled",
        "archive_format": b"pt2",
        "archive_version": b"0",
        ".data/version": b"6\n",
        "byteorder": b"little",
        ".data/serialization_id": b"1" * 40,
        "extra/notes.txt": b"notes",
    }


def archive(path: Path, files: Mapping[str, bytes], folder: str = "m/", compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as written:
        for name, data in files.items():
            written.writestr(folder + name, data)
    return path


def refused(path: Path) -> str:
    """The message of the refusal of an archive."""
    with pytest.raises(TilewrightError, match="could run code") as caught:
        copy_known(path, path.with_name("copy.pt2"))
    assert caught.value.refusal.code == "unsafe-model"
    return caught.value.refusal.message


def test_archive_copy_has_tensors_and_no_code(tmp_path: Path) -> None:
    copy_known(archive(tmp_path / "m.pt2", entries()), tmp_path / "copy.pt2")
    with zipfile.ZipFile(tmp_path / "copy.pt2") as copied:
        files = {info.filename.partition("/")[2]: copied.read(info) for info in copied.infolist()}
    assert files["data/weights/weight_0"] == bytes(range(16)) and files["data/sample_inputs/model.pt"] == b""
    assert set(entries()) - set(files) == {".data/serialization_id", "extra/notes.txt"}
    assert not any(b"__import__" in data for data in files.values())
    expected = program()
    expected["guards_code"] = []
    expected["graph_module"]["metadata"] = {}
    graph_of(expected)["nodes"][0]["metadata"] = {}
    text = json.dumps(expected).replace('"type": "cuda", "index": 0', '"type": "cpu", "index": null')
    copied_model = json.loads(files[MODEL])
    tree_text = copied_model["graph_module"]["module_call_graph"][0]["signature"]
    for name in ("in_spec", "out_spec"):
        tree_text[name] = json.dumps(json.loads(tree_text[name]))
    assert copied_model == json.loads(text)


def graph_of(model: Json) -> Json:
    return model["graph_module"]["graph"]  # type: ignore[no-any-return]


def argument(value: Json) -> Callable[[Json], object]:
    """A change: the second operand of the call is another value."""
    return lambda m: graph_of(m)["nodes"][0]["inputs"][1].update(arg=value)


def target(name: str) -> Callable[[Json], object]:
    return lambda m: graph_of(m)["nodes"][0].update(target=name)


def call_with(**changes: object) -> Callable[[Json], object]:
    return lambda m: m["graph_module"]["module_call_graph"][0]["signature"].update(changes)


def size(text: object) -> Callable[[Json], object]:
    return lambda m: graph_of(m)["tensor_values"].update(x=meta(text, 4))


def spec(*keys: object, type_: str = "builtins.dict") -> str:
    return json.dumps([1, tree("builtins.tuple", None, tree(), tree(type_, list(keys), *(LEAF for _ in keys)))])


CHANGES: dict[str, tuple[Callable[[Json], object], str]] = {
    "an unknown field": (lambda m: m.update(hooks=[CODE]), "unknown field `hooks`"),
    "an unknown field of a node": (lambda m: graph_of(m)["nodes"][0].update(code=CODE), "unknown field `code`"),
    "a size that is code": (size(CODE), "is not arithmetic"),
    "a hidden attribute in a size": (size("s0.__class__"), "is not arithmetic"),
    "a name of a value": (lambda m: graph_of(m)["nodes"][0].update(name=f"x={CODE}"), "$.graph_module.graph.nodes"),
    "a name of an input": (lambda m: graph_of(m)["inputs"][1]["as_tensor"].update(name=f"x={CODE}"), "graph.inputs"),
    "a name of a tensor": (lambda m: graph_of(m)["tensor_values"].update({f"x={CODE}": meta(4)}), "tensor_values"),
    "a name of an argument": (lambda m: graph_of(m)["nodes"][0]["inputs"][0].update(name=f"a={CODE}"), "inputs"),
    "a name of a parameter": (
        lambda m: m["graph_module"]["signature"]["input_specs"][0]["parameter"].update(parameter_name=CODE),
        "parameter_name",
    ),
    "a hidden name of a parameter": (
        lambda m: m["graph_module"]["signature"]["input_specs"][0]["parameter"].update(parameter_name="a.__class__"),
        "parameter_name",
    ),
    "an operator of another package": (target("torch.ops.mine.add.default"), "is not one of ATen"),
    "a function of torch": (target("torch.load"), "is not one of ATen"),
    "attributes of an operator": (target("torch.ops.aten.add.Tensor.__globals__"), "is not one of ATen"),
    "a function of operator": (target("_operator.attrgetter"), "is not one of ATen"),
    "an extension": (target("#mine:op"), "is not one of ATen"),
    "a control flow operator": (target("torch.ops.higher_order.triton_kernel_wrapper_mutation"), "is not one of ATen"),
    "an operator that reads a file": (target("torch.ops.aten.from_file.default"), "is not one of ATen"),
    "an operator as a value": (argument({"as_operator": "torch.load"}), "unknown field `as_operator`"),
    "an object as a value": (argument({"as_custom_obj": {"name": "x", "class_fqn": "os"}}), "as_custom_obj"),
    "two values in one": (argument({"as_int": 1, "as_string": "x"}), "2 are given"),
    "objects": (lambda m: graph_of(m).update(custom_obj_values={"x": {}}), "custom_obj_values"),
    "a device": (lambda m: graph_of(m)["tensor_values"]["x"]["device"].update(type="privateuseone"), "device.type"),
    "a module that a tree imports": (
        call_with(out_spec=json.dumps([1, tree("builtins.dict", {"__enum__": True, "fqn": "antigravity:x", "name": "x"})])),
        "nesting of values",
    ),
    "a factory that a tree imports": (call_with(out_spec=spec(type_="collections.defaultdict")), "nesting of values"),
    "a keyword input that is code": (call_with(in_spec=spec(f"x={CODE}")), "nesting of values"),
    "a keyword input that is no name": (call_with(in_spec=spec("x y")), "is no identifier"),
    "an input that is code": (call_with(forward_arg_names=[f"x={CODE}"]), "forward_arg_names"),
    "an input that is a keyword": (call_with(forward_arg_names=["lambda"]), "is no identifier"),
    "a range that is code": (lambda m: m["range_constraints"].update({CODE: {"min_val": 0, "max_val": 1}}), "range"),
    "another schema": (lambda m: m["schema_version"].update(major=9), "schema_version.major"),
    "a verifier": (lambda m: m.update(verifiers=["MINE"]), "verifiers"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_executable_program_is_refused(name: str, tmp_path: Path) -> None:
    change, found = CHANGES[name]
    model = program()
    change(model)
    message = refused(archive(tmp_path / "m.pt2", entries(model)))
    assert MODEL in message and found in message


@pytest.mark.parametrize(
    "change", [{"use_pickle": True}, {"path_name": "../x"}, {"path_name": "opaque_obj_0"}, {"x": 1}]
)
def test_tensor_that_is_not_raw_bytes_is_refused(change: Json, tmp_path: Path) -> None:
    weights = payloads()
    weights["config"]["w"].update(change)
    assert WEIGHTS in refused(archive(tmp_path / "m.pt2", entries(weights=weights)))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("data/constants/custom_obj_0", "pickled object"),
        ("data/constants/opaque_obj_0", "pickled object"),
        ("data/aotinductor/model/abc.so", "is code"),
        ("data/aotinductor/model/weights_config.json", "is code"),
        ("data/weights/model.pt", "is pickled"),
        ("serialized_exported_program.json", "format is old"),
        ("models/other.json", "one program"),
        ("code/__torch__.py", "is code"),
        ("data.pkl", "not known"),
        ("models/model.json/x", "one program"),
    ],
)
def test_an_unknown_entry_is_refused_by_name(name: str, reason: str, tmp_path: Path) -> None:
    message = refused(archive(tmp_path / "m.pt2", {**entries(), name: b""}))
    assert name in message and reason in message


@pytest.mark.parametrize("name", ["../x", "a/../../x", "", "/etc/x", "a\\b", "a//b"])
def test_a_path_outside_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    assert "outside of its folder" in refused(archive(tmp_path / "m.pt2", {**entries(), name: b""}))


def test_an_archive_of_two_folders_is_refused(tmp_path: Path) -> None:
    files = {f"m/{name}": data for name, data in entries().items()} | {"n/models/model.json": b"{}"}
    assert "outside of its folder" in refused(archive(tmp_path / "m.pt2", files, ""))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_duplicate_entry_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "m.pt2", entries())
    with zipfile.ZipFile(path, "a") as written:
        written.writestr(f"m/{MODEL}", b"{}")
    assert "two entries" in refused(path)


def test_compressed_entries_are_refused(tmp_path: Path) -> None:
    bomb = {**entries(), "data/weights/weight_1": bytes(50 << 20)}
    assert "larger than the file" in refused(archive(tmp_path / "m.pt2", bomb, compression=zipfile.ZIP_DEFLATED))
    noise = {"archive_format": b"pt2"}
    assert "compressed" in refused(archive(tmp_path / "n.pt2", noise, compression=zipfile.ZIP_DEFLATED))


def test_too_many_or_too_large_entries_are_refused(tmp_path: Path) -> None:
    many = {f"extra/{n}": b"" for n in range(torch_archive.MAX_ENTRIES + 1)}
    assert "entries; at most" in refused(archive(tmp_path / "m.pt2", many))
    assert "archive_format has 1,000 B" in refused(archive(tmp_path / "n.pt2", {"archive_format": b"1" * 1000}))


def test_no_archive_and_deep_json_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.pt2").write_bytes(b"no archive")
    assert "no intact archive" in refused(tmp_path / "m.pt2")
    deep = {**entries(), MODEL: b"[" * 100_000}
    assert MODEL in refused(archive(tmp_path / "n.pt2", deep))


@pytest.mark.parametrize(
    "text",
    [
        "s0", "2*s77 + 1", "Max(1, FloorDiv(s0, 2))", SIZE, "Mul(Integer(2), Symbol('s77', positive=True, integer=True))",
        "Add(Symbol('u0', integer=True), Integer(-1))", "Float('1.5', precision=53)", "s0 // 2 >= 3", "Rational(1, 2)",
    ],
)  # fmt: skip
def test_an_arithmetic_size_is_read(text: str) -> None:
    require_arithmetic(text)


@pytest.mark.parametrize(
    "text",
    [
        CODE, "s0.__class__", "Symbol('__import__')", "Symbol", "Float('s0')", "Lambda(s0, s0)", "exec('s0')", "s0[0]", "'s0'",
        "(lambda: 1)()", "Max(*s0)", "Max(**s0)", "Symbol(name=CODE)", "Integer('1')", "s0 # s1", "s0\n+1", "x0", "Add", "f()()",
        "Symbol('s0', integer=s1)", "Symbol('s0', cls=1)", "sympify(s0)", "(" * 3000, "s0 if s1 else s2", "", "9" * 5000,
    ],
)  # fmt: skip
def test_a_size_beyond_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape("is not arithmetic")):
        require_arithmetic(text)


@pytest.mark.tvm
def test_code_beside_a_real_program_is_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("tvm")
    monkeypatch.chdir(tmp_path)
    linear = torch.nn.Linear(16, 8)
    dims = ({0: torch.export.Dim("b")},)
    torch.export.save(torch.export.export(linear, (torch.randn(4, 16),), dynamic_shapes=dims), "plain.pt2")
    with zipfile.ZipFile("plain.pt2") as read:
        files = {info.filename.partition("/")[2]: read.read(info) for info in read.infolist()}
    model = json.loads(files[MODEL])
    canary = f"__import__('pathlib').Path({str(tmp_path / 'canary')!r}).write_text('ran')"
    model["guards_code"] = [canary, f"L['args'][0].size()[0] >= 2 or {canary}"]
    model["graph_module"]["metadata"] = {"custom": json.dumps(canary)}
    for item in model["graph_module"]["graph"]["nodes"]:
        item["metadata"] = dict.fromkeys(("stack_trace", "torch_fn"), f"\n{canary}\n") | {
            "nn_module_stack": f"a,b,{canary}"
        }
    pickled = b"cbuiltins\neval\n(V" + canary.encode() + b"\ntR."
    crafted = {**files, MODEL: json.dumps(model).encode(), "data/sample_inputs/model.pt": pickled}
    archive(tmp_path / "crafted.pt2", crafted)
    assert lowered_text("crafted.pt2") == lowered_text("plain.pt2")
    assert not (tmp_path / "canary").exists()
