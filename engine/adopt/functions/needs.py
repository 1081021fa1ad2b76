"""Values that a function needs before it makes a program: parameters of the functions around it, as far as the program depends on them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from json import dumps
from shlex import quote
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from ...ir import Place, Refusal
from ...script.errors import ParseError, parse_error
from ...script.language import is_eager
from ...script.reading.source import Source
from ...script.subset.scope import Value
from ...script.subset.values import Attributes
from ...script.targets import TARGET, TargetName, is_target, target_word
from ...te.sizes import sizes_in, written_value
from ...te.vta import ENVIRONMENT
from .dependencies import Dependencies, used_attributes
from .uses import Kind, Uses, uses_of

Definition: TypeAlias = ast.FunctionDef | ast.ClassDef


class MissingValuesError(ParseError):
    """Parameters without a value, which the program `needs`, and why, "" if their definition tells."""

    def __init__(self, refusal: Refusal, needs: tuple[Need, ...] = (), cause: str = "") -> None:
        super().__init__(refusal)
        self.needs = needs
        self.cause = cause


class Need(msgspec.Struct, frozen=True):
    """A parameter of a function around a program, or an attribute of one (`config.heads`): its name, kind, and the value from its default
    or from a call, as text ("": none). `optional`: it has a default, which need not be written out as a constant. `rank`: the number of
    axes of a tensor or items of a list, and its `dtype`, if the code tells; for a word, one that the code knows. `choices`: the words that
    the code knows; `sample`: a value that the code knows."""

    name: str
    kind: Kind
    value: str = ""
    optional: bool = False
    rank: int = 2
    dtype: str = "float32"
    choices: tuple[str, ...] = ()
    sample: str = ""

    @property
    def shown(self) -> str:
        return f"{self.name}={self.value}" if self.value else f"{self.name} ({self.kind})"

    @property
    def example(self) -> str:
        """A value of the kind, as `--size` takes it."""
        if self.sample:
            return self.sample
        small = _SHORT.get(self.name.lower()) if self.kind == "size" else None
        small = small or next((value for word, value in _SMALL.items() if word in self.name.lower()), None)
        if self.kind == "tensor":
            many = "x".join(["16"] * self.rank)
            return f"{many}x{self.dtype}" if self.rank else self.dtype
        if self.kind == "list":
            return "x".join([small or "16"] * self.rank)
        if self.kind == "target":
            return target_word(self.choices)
        if self.kind == "function":
            return _FUNCTIONS.get(self.rank, "T.exp")
        if self.kind == "dtype" and self.dtype != "float32":
            return self.dtype
        if self.kind == "dtype" and "layout" in self.name.lower():
            return "NCHW"
        if self.kind == "dtype":
            return next((dtype for word, dtype in _DTYPES.items() if word in self.name.lower()), _EXAMPLES["dtype"])
        return small if self.kind == "size" and small is not None else _EXAMPLES[self.kind]

    @property
    def options(self) -> tuple[str, ...]:
        """Values to choose from, the example first: both of a flag, for other kinds those that the code knows; none for numbers."""
        known = self.choices or _OPTIONS.get(self.kind, ())
        return tuple(dict.fromkeys((self.example, *known))) if known else ()


_OPTIONS: Mapping[Kind, tuple[str, ...]] = {
    "flag": ("1", "0"), "scope": ("global", "shared", "local"), "target": ("cuda", "llvm", "opencl", "rocm", "metal", "vulkan", "webgpu"),
}  # fmt: skip
"""Usual values of kinds that have few."""
_EXAMPLES: Mapping[Kind, str] = {"size": "128", "dict": "{}", "dtype": "float16", "flag": "1", "scope": "shared"}
_FUNCTIONS: Mapping[int, str] = {1: "T.exp", 2: "T.max", 3: "T.if_then_else"}
"""Examples of functions by their number of arguments."""
_DTYPES: Mapping[str, str] = {"storage": "uint32", "quantize": "int8"}
"""Examples of types of packed or quantized numbers, by a word of their names."""
_INTEGERS = re.compile(r"ind(ex|exes|ices|ptr|s)?$|idx|_pos$|offsets?$|counts?$|lengths?$|ranks?$|_map$", re.IGNORECASE)
"""Names of tensors of integers."""
_SHORT: Mapping[str, str] = {"s": "1", "d": "1", "p": "1", "kh": "3", "kw": "3", "max_displacement": "1"}
"""Examples of sizes with these names."""
_SMALL: Mapping[str, str] = {
    "num_sms": "132", "sm_version": "90",
    "page_block": "256", "block_h": "16", "heads_kv": "8", "kv_head": "8", "head_kv": "8", "num_stages": "2", "threads": "128",
    "stride": "1", "dilation": "1", "group": "1", "pad": "0", "axis": "0", "block_size": "2", "factor": "2", "kernel": "3", "bits": "4",
    "batch": "1",
}  # fmt: skip
"""Examples of sizes that are small, by a word of their names."""
Known: TypeAlias = Mapping[str, ast.expr]
"""Values of parameters by name."""


def title_of(node: Definition | ast.Lambda) -> str:
    """Return the name of a definition; that of a lambda is the name of what it computes."""
    if not isinstance(node, ast.Lambda):
        return node.name
    names = [k.value for part in ast.walk(node) if isinstance(part, ast.Call) for k in part.keywords if k.arg == "name"]
    return next((n.value for n in names if isinstance(n, ast.Constant) and isinstance(n.value, str)), "lambda")


def needs_of(
    around: Sequence[Definition],
    node: Definition | ast.Lambda,
    values_of_call: Callable[[str], Known],
    functions: Mapping[str, ast.FunctionDef],
) -> tuple[Need, ...]:
    """Return what a definition in functions and methods needs; `values_of_call` gives the arguments of a call of a function by its
    name, `functions` are those of the text. A function that computes needs its own parameters."""
    path = (*around, node)
    wanted = Dependencies.of(around, node)
    found: dict[str, Need] = {}
    for outer, inner in zip((None, *path), path, strict=False):
        if not isinstance(inner, ast.FunctionDef | ast.Lambda) or (inner is node and not wanted.calls_node):
            continue
        is_bound = isinstance(outer, ast.ClassDef) and not is_static(inner)
        if isinstance(outer, ast.ClassDef) and is_bound and isinstance(inner, ast.FunctionDef):
            found |= {need.name: need for need in _of_object(outer, inner, wanted)}
        call = dict[str, ast.expr]() if isinstance(outer, ast.ClassDef) else values_of_call(title_of(inner))
        given = {**defaults_of(inner), **_parametrized(inner), **call}
        parts = wanted.parts if inner is not node else (node,)
        declared = declared_tensors(inner) if is_eager(inner) else frozenset[str]()
        for argument in parameters_of(inner)[1 if is_bound else 0 :]:
            if argument.arg in declared or is_config(inner, argument.arg):
                continue
            needs = [*_of_parameter(argument, given, inner, parts, functions)]
            if inner is node or argument.arg in wanted.names or all(need.value for need in needs):
                found |= {need.name: need for need in needs}
        if is_eager(inner):
            found |= {
                name: replace(_need(name, None, given.get(name)), kind="size", optional=True)
                for name in constants_of(inner)
            }
    return tuple(found.values())


def declared_tensors(node: ast.AST) -> frozenset[str]:
    """Return the parameters of an eager kernel that are tensors: those with a type, in the signature or in the body."""
    arguments = parameters_of(node) if isinstance(node, ast.FunctionDef) else []
    typed = {a.arg for a in arguments if a.annotation is not None and "Tensor" in ast.unparse(a.annotation)}
    return frozenset(typed | {
        part.target.id for part in ast.walk(node)
        if isinstance(part, ast.AnnAssign) and part.value is None and isinstance(part.target, ast.Name)
    })  # fmt: skip


def constants_of(node: ast.AST) -> list[str]:
    """Return the sizes that an eager kernel takes from its tensors: `M, N = T.const("M, N")`."""
    found: list[str] = []
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(attr="const"), args=[ast.Constant(value=str(names)), *_]):
                found += [name.strip() for name in names.split(",") if name.strip()]
            case _:
                pass
    return found


def is_static(node: ast.FunctionDef | ast.Lambda) -> bool:
    return isinstance(node, ast.Lambda) or any(
        isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list
    )


def is_config(node: ast.FunctionDef | ast.Lambda, name: str) -> bool:
    """Whether a parameter is the config of an AutoTVM template, `@autotvm.register_topi_compute(…) def f(cfg, data)`."""
    decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
    is_registered = any(written.startswith("autotvm.register_") for written in decorators)
    return name == "cfg" or (is_registered and name == parameters_of(node)[0].arg)


def parameters_of(node: ast.FunctionDef | ast.Lambda) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def defaults_of(node: ast.FunctionDef | ast.Lambda) -> dict[str, ast.expr]:
    """Return the defaults of a function's parameters."""
    positional = [*node.args.posonlyargs, *node.args.args]
    given = dict(zip([a.arg for a in reversed(positional)], reversed(node.args.defaults), strict=False))
    return given | {a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}


def other_names(function: ast.AST) -> dict[str, str]:
    """Return the names that a function gives to others: `KH, KW = K, K`."""
    found: dict[str, str] = {}
    for part in ast.walk(function):
        match part:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = zip(targets, values, strict=False)
            case ast.Assign(targets=[target], value=value):
                pairs = [(target, value)]
            case _:
                continue
        found |= {a.id: b.id for a, b in pairs if isinstance(a, ast.Name) and isinstance(b, ast.Name)}
    return found


def _parametrized(node: ast.FunctionDef | ast.Lambda) -> dict[str, ast.expr]:
    """Return the first values of `@pytest.mark.parametrize("n, m", [(1, 2), …])` by name."""
    found: dict[str, ast.expr] = {}
    for decorator in getattr(node, "decorator_list", ()):
        match decorator:
            case ast.Call(func=func, args=[names, ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_])]) if (
                ast.unparse(func).endswith("parametrize")
            ):
                words = [n.value for n in ast.walk(names) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                known = [name.strip() for word in words for name in word.split(",") if name.strip()]
                values = first.elts if len(known) > 1 and isinstance(first, ast.Tuple | ast.List) else [first]
                found |= dict(zip(known, values, strict=False))
            case _:
                pass
    return found


# --- objects


def _of_object(node: ast.ClassDef, method: ast.FunctionDef, wanted: Dependencies) -> Iterator[Need]:
    """Yield the parameters of a class's constructor, the fields of a dataclass, and attributes that other classes set, as far as they are
    used."""
    if not method.args.args:
        return
    name = method.args.args[0].arg
    attributes = used_attributes(node, name, wanted.parts)
    made = next((p for p in node.body if isinstance(p, ast.FunctionDef) and p.name == "__init__"), None)
    fields = {p.target.id: p for p in node.body if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)}
    if made is not None:
        inside = Dependencies.of_attributes(made, attributes)
        for argument in parameters_of(made)[1:]:
            if argument.arg in inside.names:
                yield from _of_parameter(argument, defaults_of(made), made, inside.parts, {})
    elif any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        yield from (_need(f, p.annotation, p.value) for f, p in fields.items() if f in attributes)
    own = (
        {p.name for p in node.body if isinstance(p, ast.FunctionDef)}
        | fields.keys()
        | _set_in(node)
        | _only_called(node)
    )
    for attribute in sorted(attributes - own):
        if node.bases:
            yield _need(f"{name}.{attribute}", None, None)


def _only_called(node: ast.ClassDef) -> set[str]:
    """Return the attributes that a class only calls: methods of its bases, such as `assertEqual`."""
    functions = {p.func for p in ast.walk(node) if isinstance(p, ast.Call)}
    valued = {p.attr for p in ast.walk(node) if isinstance(p, ast.Attribute) and p not in functions}
    return {func.attr for func in functions if isinstance(func, ast.Attribute)} - valued


def _set_in(node: ast.ClassDef) -> set[str]:
    """Return the attributes that a class sets: in its body, or of an object."""
    parts = [p for p in ast.walk(node) if isinstance(p, ast.Attribute | ast.Name) and isinstance(p.ctx, ast.Store)]
    return {p.attr if isinstance(p, ast.Attribute) else p.id for p in parts}


# --- kinds


def _of_parameter(
    argument: ast.arg,
    given: Known,
    function: ast.FunctionDef | ast.Lambda,
    parts: Sequence[ast.AST],
    functions: Mapping[str, ast.FunctionDef],
) -> Iterator[Need]:
    """Yield the need of a parameter, or those of the attributes that the code uses of it; none of an object that has only methods."""
    uses, name, default = uses_of(function), argument.arg, given.get(argument.arg)
    if default is None and uses.is_object(name):
        return
    need = _need(name, argument.annotation or _documented(function, name), default)
    if need.value:
        yield need
        return
    if need.kind == "target":
        yield _target_need(need, uses)
        return
    if need.kind == "dict" and name in uses.whole and default is None:
        needed = sorted(uses.attributes_in(name, parts) - uses.optional)
        entries = {a.partition(".")[2]: uses.words.get(a) for a in needed}
        yield replace(need, sample=dumps({entry: word for entry, word in entries.items() if word is not None}))
        return
    need = replace(need, kind="size") if need.kind == "dict" else need
    kind, rank = uses.followed(name, need.kind, functions)
    attributes = sorted(uses.attributes_in(name, parts)) if kind in ("size", "list") and default is None else []
    if attributes:
        if name == "env" and {a.partition(".")[2] for a in attributes} & ENVIRONMENT.keys():  # VTA's
            known = ((a, a.partition(".")[2]) for a in attributes)
            yield from (_need(a, None, ast.Constant(ENVIRONMENT[key])) for a, key in known if key in ENVIRONMENT)
            return
        for attribute in attributes:
            found = _need(attribute, None, None)
            word = uses.words.get(attribute)
            choices = tuple(uses.choices.get(attribute, ()))
            yield found if word is None else replace(found, kind="dtype", dtype=word, choices=choices)
    elif name in uses.words:
        yield replace(need, kind="dtype", dtype=uses.words[name], choices=tuple(uses.choices[name]))
    else:
        rank = _described_rank(function, name) or rank
        integers = name in uses.integers or _INTEGERS.search(name) is not None
        dtype = uses.words.get(f"{name}.dtype", "int32" if integers else need.dtype)
        if name in uses.typed_as:
            dtype = _need(uses.typed_as[name], None, ast.Constant("")).example
        yield replace(need, kind=kind, rank=rank, dtype=dtype)


def _target_need(need: Need, *uses: Uses) -> Need:
    """Return the need of a target with the kinds of targets that the code knows."""
    names = (need.name, f"{need.name}.kind.name")
    return replace(need, choices=tuple(word for part in uses for name in names for word in part.choices.get(name, ())))


def _described_rank(function: ast.FunctionDef | ast.Lambda, name: str) -> int:
    """Return the number of axes of a tensor in the function's documentation, `data : te.Tensor` above `4-D with shape [n, c, h, w]`; 0 if
    it has none."""
    text = "" if isinstance(function, ast.Lambda) else ast.get_docstring(function, clean=False) or ""
    found = re.search(_RANK.format(name=re.escape(name)), text, re.MULTILINE)
    return 0 if found is None else int(found[1])


_TENSOR = re.compile(r"(\d+x)+[a-z]\w*")
_RANK = r"^[ \t]*{name}[ \t]*:[^\n]*\n[^\n]*?(\d)-D\b"
_ENTRY = r"^[ \t]*{name}[ \t]*:[ \t]*(.+)$"


def _documented(function: ast.FunctionDef | ast.Lambda, name: str) -> ast.expr | None:
    """Return the type of a parameter in the function's documentation, `x : tvm.te.Tensor`, as a constant."""
    if isinstance(function, ast.Lambda):
        return None
    text = ast.get_docstring(function, clean=False) or ""
    found = re.search(_ENTRY.format(name=re.escape(name)), text, re.MULTILINE)
    return None if found is None else ast.Constant(found[1])


def literal(node: ast.expr) -> str | None:
    """Return the text of an argument that is a constant; None for others."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return ast.unparse(node)


def named_need(name: str, trees: Sequence[ast.Module] = ()) -> Need:
    """Return the need of a value of the text that is not known: a variable, or an attribute, item or call of other code by its text; its
    kind is that of its uses in `trees`."""
    found = _need(name, None, None)
    if found.kind == "target":
        return _target_need(found, *map(uses_of, trees))
    for uses in map(uses_of, trees):
        if name in uses.words:
            return replace(found, kind="dtype", dtype=uses.words[name], choices=tuple(uses.choices[name]))
        kind, rank = uses.of(name, found.kind)
        if name in uses.numbers or kind in ("flag", "list"):
            return replace(found, kind=kind, rank=rank, sample=str(uses.numbers.get(name, "")))
    return found


def _need(name: str, annotation: ast.expr | None, default: ast.expr | None) -> Need:
    value = "" if default is None else literal(default) or ""
    written = "" if annotation is None else ast.unparse(annotation).lower()
    return Need(name, _kind(name.rpartition(".")[2].lower(), written, value), value, default is not None)


def _kind(name: str, annotation: str, value: str) -> Kind:
    """Return what a parameter is, by its type, its default and its name."""
    if "tensor" in annotation and "list" not in annotation:
        return "tensor"
    if "bool" in annotation or value in ("True", "False"):
        return "flag"
    if is_target(name) or annotation.rpartition(".")[2].strip("'\"") == TARGET:
        return "target"
    words = annotation.strip("'\"")
    if re.match(r"(typing\.)?(dict|mapping)\b", words):
        return "dict"
    is_list = not words.startswith("int") and any(w in words for w in ("list", "tuple", "sequence"))
    if (is_list and "dtype" not in name) or value.startswith(("[", "(")):
        return "list"
    if "scope" in name:
        return "scope"
    is_word = "str" in re.split(r"\W+", words) and not re.search(r"\bint\b|\bdict\b", words)
    if "dtype" in name or "format" in name or "layout" in name or is_word or value.startswith(("'", '"')):
        return "dtype"
    return "size"


# --- values


def values_of(
    source: Source, name: str, place: ast.AST, needs: Sequence[Need], given: Mapping[str, Any], *, symbolic: bool
) -> tuple[dict[str, Any], list[Need]]:
    """Return the values of the needs, the given ones, else those of the text, and the needs without a value: targets, which are asked for
    where they decide something, and sizes, which may stay `symbolic`. Raises "missing-values"."""
    found: dict[str, Any] = {}
    missing: list[Need] = []
    for need in needs:
        if need.name in given:
            found[need.name] = _typed(need, given[need.name])
        elif need.value:
            found[need.name] = ast.literal_eval(need.value)
        elif not need.optional:
            missing.append(need)
    decided = [need for need in missing if need.kind != "target"]
    if decided and not (symbolic and all(need.kind == "size" and "." not in need.name for need in decided)):
        raise missing_values(name, source.place(place), decided)
    return found, missing


def missing_values(name: str, place: Place | None, missing: Sequence[Need], cause: str = "") -> MissingValuesError:
    """Create the error that asks for values, with the options of the command line."""
    message = f"{name} needs values for {', '.join(need.shown for need in missing)}" + (f": {cause}" if cause else "")
    options = " ".join(f"--size {quote(f'{need.name}={need.example}')}" for need in missing)
    found = parse_error("missing-values", message, place, found=name,
                        expected="a value for each parameter of the functions around the program", fix=(options,))  # fmt: skip
    return MissingValuesError(found.refusal, tuple(missing), cause)


def _typed(need: Need, value: Any) -> Any:
    """Return a value as its kind: 0 and 1 are flags, 16x64 is a list, 16x64xfloat16 a tensor."""
    if need.kind == "flag" and value in (0, 1):
        return bool(value)
    if need.kind == "tensor" or (need.kind == "size" and isinstance(value, str) and _TENSOR.fullmatch(value)):
        return tensor_of(need.name, value)
    if need.kind == "target":
        return TargetName(value)
    written = written_value(value)
    return sizes_in(value) if need.kind == "list" and isinstance(written, int | str) else written


def tensor_of(name: str, value: Any) -> Attributes:
    """Return the tensor that 16x64xfloat16 describes."""
    sizes, dtype = sizes_in(value), str(value).rpartition("x")[2]
    known: dict[str, Value] = {"shape": tuple(sizes), "ndim": len(sizes)}
    return Attributes(known if dtype.isdecimal() else {**known, "dtype": dtype}, name)


__all__ = [
    "Definition",
    "Kind",
    "Known",
    "MissingValuesError",
    "Need",
    "defaults_of",
    "is_config",
    "is_static",
    "literal",
    "missing_values",
    "named_need",
    "needs_of",
    "other_names",
    "parameters_of",
    "tensor_of",
    "title_of",
    "values_of",
]  # fmt: skip
