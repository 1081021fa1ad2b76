"""Modules and functions of TVM's JSON as TVMScript text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from .expressions import ExpressionWriter, Names
from .graph import Graph, Node, damaged, unread

Lines = Iterator[str]

_LOOPS = {0: "serial", 1: "parallel", 2: "vectorized", 3: "unroll"}
_BINDING = 4
_AXES = {0: "spatial", 2: "reduce", 3: "scan", 4: "opaque"}
INDENT = "    "


class _Words(msgspec.Struct, frozen=True):
    """Names of a generation of TVMScript."""

    module: str
    block: str
    allocate: str


_CLASSIC = _Words("tir", "block", "alloc_buffer")
_CURRENT = _Words("tirx", "sblock", "sblock_alloc_buffer")


def module_text(data: Mapping[str, Any]) -> str:
    """Return the program of TVM's JSON as TVMScript: of a module, of a function. Raises JSONError "bad-module-json", "unsupported"."""
    graph = Graph(data)
    words = _CLASSIC if graph.is_old or not _is_current(data) else _CURRENT
    head = ["# from tvm.script import ir as I", f"# from tvm.script import {words.module} as T", "", ""]
    root = graph.root
    if root.kind == "PrimFunc":
        symbol = dict(graph.attributes(graph.find(root, "attrs"))).get("global_symbol")
        return (
            "\n".join([*head, *_function(graph, root, graph.string(symbol) if symbol is not None else "main", words)])
            + "\n"
        )
    if root.kind != "IRModule":
        raise unread(f"an object of kind {root.kind!r}")
    functions = graph.pairs(graph.get(root, "functions"))
    lines: list[str] = []
    attributes = graph.attributes(graph.find(root, "attrs"))
    if attributes:
        lines += [f"I.module_attrs({_Values(graph).items(attributes)})", ""]
    for variable, function in sorted(functions, key=lambda pair: pair[0].index if isinstance(pair[0], Node) else 0):
        if isinstance(variable, str) or function is None:
            raise damaged("a function has no variable")
        if function.kind != "PrimFunc":
            raise unread(f"a function of kind {function.kind!r}")
        lines += [*_function(graph, function, graph.text(variable, "name_hint"), words), ""]
    return "\n".join([*head, "@I.ir_module", "class Module:", *(f"{INDENT}{line}".rstrip() for line in lines)]) + "\n"


def _is_current(data: Mapping[str, Any]) -> bool:
    """Whether a graph is of TVM 0.24 or newer."""
    nodes: list[Any] = data["nodes"]
    kinds = (cast("dict[str, Any]", node).get("type") for node in nodes if isinstance(node, dict))
    return any(str(kind).startswith(("tirx.", "s_tir.")) for kind in kinds)


def _function(graph: Graph, node: Node, name: str, words: _Words) -> Lines:
    return _Function(graph, words).lines(node, name)


class _Values:
    """Writes annotations."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def items(self, pairs: Sequence[tuple[str, Node | None]]) -> str:
        """Return annotations as a dict."""
        return "{" + ", ".join(f"{json.dumps(key)}: {self.value(value)}" for key, value in pairs) + "}"

    def value(self, node: Node | None) -> str:
        """Return one value. Raises JSONError "unsupported"."""
        match node:
            case None:
                return "None"
            case Node(kind="String"):
                return json.dumps(self.graph.string(node))
            case Node(kind="bool"):
                return str(bool(node.data))
            case Node(kind="int"):
                return str(self.graph.integer(node))
            case Node(kind="float"):
                return repr(float(node.data))
            case Node(kind="Array"):
                return f"[{', '.join(map(self.value, self.graph.items(node)))}]"
            case Node(kind="Map"):
                return self.items(self.graph.named(node))
            case Node(kind="IntImm") if self.graph.dtype(node) == "int32":
                return str(self.graph.integer(node))
            case Node(kind="IntImm" | "FloatImm" | "StringImm"):
                return ExpressionWriter(self.graph, Names()).text(node)
            case _:
                raise unread(f"an annotation of kind {node.kind!r}")


class _Function:
    """Writes one function."""

    def __init__(self, graph: Graph, words: _Words) -> None:
        self.graph, self.words = graph, words
        self.names = Names()
        self.expressions = ExpressionWriter(graph, self.names)
        self.values = _Values(graph)

    def lines(self, node: Node, name: str) -> Lines:
        """Yield the lines of the function."""
        graph = self.graph
        buffers = {
            key.index: value for key, value in graph.pairs(graph.find(node, "buffer_map")) if isinstance(key, Node)
        }
        if graph.pairs(graph.find(node, "preflattened_buffer_map")):
            raise unread("a function with flattened buffers")
        parameters: list[str] = []
        matched: list[tuple[str, Node]] = []
        given = [(parameter, buffers.get(parameter.index)) for parameter in graph.items(graph.get(node, "params"))]
        for parameter, buffer in given:
            if buffer is None and not _is_buffer(graph, parameter):
                parameters.append(f"{self._variable(parameter)}: T.{graph.dtype(parameter)}")
                continue
            declared = buffer if buffer is not None else parameter
            if all(size.kind == "IntImm" for size in graph.items(graph.get(self._described(declared), "shape"))):
                parameters.append(f"{self._buffer_name(declared)}: T.Buffer({self._declared(declared)})")
            else:
                handle = self.names.name(
                    Node(-parameter.index - 1, "handle", {}), f"{graph.text(declared, 'name')}_handle"
                )
                parameters.append(f"{handle}: T.handle")
                matched.append((handle, declared))
        attributes = graph.attributes(graph.find(node, "attrs"))
        yield self._decorator(dict(attributes))
        yield f"def {name}({', '.join(parameters)}):"
        attributes = [(key, value) for key, value in attributes if not self._is_implied(key, value, name)]
        if attributes:
            yield f"{INDENT}T.func_attr({self.values.items(attributes)})"
        for _, buffer in matched:
            yield from self._sizes(buffer)
        for handle, buffer in matched:
            yield f"{INDENT}{self._buffer_name(buffer)} = T.match_buffer({handle}, {self._declared(buffer)})"
        yield from self._indented(self._root(graph.get(node, "body")))

    def _decorator(self, attributes: Mapping[str, Node | None]) -> str:
        options = ["private=True"] if "global_symbol" not in attributes else []
        options += ["s_tir=True"] if "s_tir" in attributes else []
        return f"@T.prim_func({', '.join(options)})" if options else "@T.prim_func"

    def _variable(self, node: Node) -> str:
        return self.names.name(node, self.graph.text(node, "name" if "name" in node.fields else "name_hint"))

    def _is_implied(self, key: str, value: Node | None, name: str) -> bool:
        """Whether an attribute follows from the text: that of the decorator, and the name of a public function."""
        if key == "global_symbol":
            return value is not None and self.graph.string(value) == name
        return key == "s_tir"

    def _sizes(self, buffer: Node) -> Lines:
        """Yield declarations of the variables in the shape of a buffer, which its argument defines."""
        described = self._described(buffer)
        for node in (
            *self.graph.items(self.graph.get(described, "shape")),
            *self.graph.items(self.graph.find(described, "strides")),
        ):
            if node.kind in ("Var", "SizeVar") and not self.names.knows(node):
                yield f"{INDENT}{self._variable(node)} = T.{self.graph.dtype(node)}()"

    # -- buffers

    def _described(self, buffer: Node) -> Node:
        """The node with the shape of a buffer: its type since TVM 0.27."""
        return self.graph.get(buffer, "ty") if buffer.kind == "Var" else buffer

    def _buffer_name(self, buffer: Node) -> str:
        return self.names.name(buffer, self.graph.text(buffer, "name"))

    def _declared(self, buffer: Node) -> str:
        """The arguments that declare a buffer."""
        graph, node = self.graph, self._described(buffer)
        if node.kind not in ("Buffer", "BufferType"):
            raise damaged(f"node {buffer.index} is not a buffer")
        found = [self.expressions.tuple_of(graph.items(graph.get(node, "shape"))), f'"{graph.dtype(node)}"']
        scope = graph.text(node, "storage_scope") if "storage_scope" in node.fields else self._scope(node)
        strides = graph.items(graph.find(node, "strides"))
        if strides:
            found.append(f"strides={self.expressions.tuple_of(strides)}")
        offset = graph.find(node, "elem_offset")
        if offset is not None and not self._is_usual_offset(node, offset):
            found.append(f"elem_offset={self.expressions.text(offset)}")
        if scope not in ("", "global"):
            found.append(f"scope={json.dumps(scope)}")
        if graph.number(node, "data_alignment") != 64:
            found.append(f"align={graph.number(node, 'data_alignment')}")
        if graph.number(node, "offset_factor") not in (0, 1):
            found.append(f"offset_factor={graph.number(node, 'offset_factor')}")
        separators = graph.items(graph.find(node, "axis_separators"))
        if separators:
            found.append(f"axis_separators=[{', '.join(str(graph.integer(s)) for s in separators)}]")
        self._require_usual(node)
        return ", ".join(found)

    def _is_usual_offset(self, node: Node, offset: Node) -> bool:
        """Whether an offset is zero in the type of the shape."""
        sizes = self.graph.items(self.graph.get(node, "shape"))
        dtype = self.graph.dtype(sizes[0]) if sizes else "int32"
        return offset.kind == "IntImm" and self.graph.integer(offset) == 0 and self.graph.dtype(offset) == dtype

    def _require_usual(self, node: Node) -> None:
        """Refuse a buffer with parts that are not written."""
        graph = self.graph
        if "buffer_type" in node.fields and graph.number(node, "buffer_type") not in (0, 1):
            raise unread("a buffer that broadcasts")
        if graph.find(node, "layout") is not None or graph.items(graph.find(node, "allocated_addr")):
            raise unread("a buffer with a layout")

    def _scope(self, node: Node) -> str:
        """The scope of a buffer before TVM 0.27: that of its pointer."""
        pointer = self.graph.find(self.graph.get(node, "data"), "type_annotation")
        if pointer is None or "storage_scope" not in pointer.fields:
            return "global"
        return self.graph.text(pointer, "storage_scope")

    # -- statements

    def _root(self, body: Node) -> Lines:
        """Yield the body of a function; its root block is implied, unless it has more than allocations."""
        if body.kind == "BlockRealize":
            block = self.graph.get(body, "block")
            is_bare = not any(
                self.graph.items(self.graph.get(block, f)) for f in ("iter_vars", "reads", "writes", "match_buffers")
            )
            is_bare = (
                is_bare
                and not self.graph.pairs(self.graph.get(block, "annotations"))
                and self.graph.find(block, "init") is None
            )
            if is_bare and self.graph.text(block, "name_hint") == "root":
                yield from self._allocations(block)
                yield from self.statement(self.graph.get(block, "body"))
                return
        yield from self.statement(body)

    def _indented(self, lines: Lines) -> Lines:
        empty = True
        for line in lines:
            empty = False
            yield f"{INDENT}{line}"
        if empty:
            yield f"{INDENT}pass"

    def statement(self, node: Node) -> Lines:
        """Yield the lines of a statement. Raises JSONError "unsupported"."""
        match node.kind:
            case "SeqStmt":
                yield from self._sequence(node)
            case "For":
                yield from self._loop(node)
            case "BlockRealize":
                yield from self._block(node)
            case "BufferStore":
                yield self._store(node)
            case "IfThenElse":
                yield from self._if(node)
            case "While":
                yield from self._while(node)
            case "Bind":
                yield self._bind(node)
            case "LetStmt":
                yield from self._let(node)
            case "Evaluate":
                yield f"T.evaluate({self.expressions.field(node, 'value')})"
            case kind:
                raise unread(f"the statement {kind!r}")

    def _sequence(self, node: Node) -> Lines:
        for part in self.graph.items(self.graph.get(node, "seq")):
            yield from self.statement(part)

    def _loop(self, node: Node) -> Lines:
        graph = self.graph
        variable, kind = graph.get(node, "loop_var"), graph.number(node, "kind")
        step = graph.find(node, "step")
        if step is not None and not (step.kind == "IntImm" and graph.integer(step) == 1):
            raise unread("a loop with a step")
        arguments = [*self._bounds(graph.get(node, "min"), graph.get(node, "extent"))]
        binding = graph.find(node, "thread_binding")
        if (kind == _BINDING) != (binding is not None) or kind not in (*_LOOPS, _BINDING):
            raise unread("a loop of this kind")
        if binding is not None:
            arguments.append(f"thread={json.dumps(graph.text(binding, 'thread_tag'))}")
        annotations = graph.named(graph.find(node, "annotations"))
        if annotations:
            arguments.append(f"annotations={self.values.items(annotations)}")
        if graph.dtype(variable) != graph.dtype(graph.get(node, "extent")):
            raise unread("a loop whose variable has another type than its extent")
        with self.names.scope():
            yield f"for {self._variable(variable)} in T.{_LOOPS.get(kind, 'thread_binding')}({', '.join(arguments)}):"
            yield from self._indented(self.statement(graph.get(node, "body")))

    def _bounds(self, low: Node, extent: Node) -> Lines:
        """Yield the start, if it is not zero, and the end of a range."""
        graph = self.graph
        if low.kind == "IntImm" and graph.integer(low) == 0:
            yield self.expressions.text(extent)
        elif low.kind == extent.kind == "IntImm":
            yield self.expressions.text(low)
            total = graph.integer(low) + graph.integer(extent)
            yield str(total) if graph.dtype(low) == "int32" and total >= 0 else f"T.{graph.dtype(low)}({total})"
        else:
            yield self.expressions.text(low)
            yield f"{self.expressions.text(low)} + {self.expressions.text(extent)}"

    def _block(self, node: Node) -> Lines:
        block = self.graph.get(node, "block")
        values = self.graph.items(self.graph.get(node, "iter_values"))
        iterators = self.graph.items(self.graph.get(block, "iter_vars"))
        if len(values) != len(iterators):
            raise damaged(f"node {node.index} has iterators without values")
        yield f"with T.{self.words.block}({json.dumps(self.graph.text(block, 'name_hint'))}):"
        with self.names.scope():
            yield from self._indented(self._inside(node, block, list(zip(iterators, values, strict=True))))

    def _inside(self, node: Node, block: Node, iterators: Sequence[tuple[Node, Node]]) -> Lines:
        graph = self.graph
        for iterator, value in iterators:
            yield self._iterator(iterator, value)
        predicate = graph.get(node, "predicate")
        if not (predicate.kind == "IntImm" and graph.integer(predicate) == 1):
            yield f"T.where({self.expressions.text(predicate)})"
        matches: list[str] = []
        for match in graph.items(graph.get(block, "match_buffers")):
            buffer, source = graph.get(match, "buffer"), graph.get(match, "source")
            region = self._region(source)
            matches.append(f"{self._buffer_name(buffer)} = T.match_buffer({region}, {self._declared(buffer)})")
        for field in ("reads", "writes"):
            yield f"T.{field}({', '.join(map(self._region, graph.items(graph.get(block, field))))})"
        annotations = graph.named(graph.find(block, "annotations"))
        if annotations:
            yield f"T.{self.words.block}_attr({self.values.items(annotations)})"
        yield from self._allocations(block)
        yield from matches
        init = graph.find(block, "init")
        if init is not None:
            yield "with T.init():"
            yield from self._indented(self.statement(init))
        yield from self.statement(graph.get(block, "body"))

    def _iterator(self, iterator: Node, value: Node) -> str:
        graph = self.graph
        variable, domain = graph.get(iterator, "var"), graph.get(iterator, "dom")
        kind = _AXES.get(graph.number(iterator, "iter_type"))
        if kind is None:
            raise unread("an iterator of this kind")
        low, extent = graph.get(domain, "min"), graph.get(domain, "extent")
        bounds = [*self._bounds(low, extent)]
        if len(bounds) == 1 and extent.kind != "IntImm" and graph.dtype(low) != "int32":
            bounds.insert(0, self.expressions.text(low))  # the type of the start does not follow from a variable
        shown = bounds[0] if len(bounds) == 1 else f"({', '.join(bounds)})"
        source = self.expressions.text(value)
        name = self._variable(variable)
        dtype = "" if graph.dtype(variable) == "int32" else f', dtype="{graph.dtype(variable)}"'
        return f"{name} = T.axis.{kind}({shown}, {source}{dtype})"

    def _allocations(self, block: Node) -> Lines:
        for buffer in self.graph.items(self.graph.get(block, "alloc_buffers")):
            name = self._buffer_name(buffer)
            yield f"{name} = T.{self.words.allocate}({self._declared(buffer)})"

    def _region(self, node: Node) -> str:
        graph = self.graph
        buffer = graph.get(node, "source" if "source" in node.fields else "buffer")
        parts: list[str] = []
        for axis in graph.items(graph.get(node, "region")):
            low, extent = graph.get(axis, "min"), graph.get(axis, "extent")
            is_point = extent.kind == "IntImm" and graph.integer(extent) == 1
            bounds = [self.expressions.text(low)] if is_point else [*self._bounds(low, extent)]
            parts.append(
                bounds[0]
                if is_point
                else ":".join(bounds if len(bounds) == 2 else [self.expressions.text(low), *bounds])
            )
        return f"{self.names[buffer]}[{', '.join(parts) or '()'}]"

    def _store(self, node: Node) -> str:
        if self.graph.find(node, "predicate") is not None:
            raise unread("a store with a predicate")
        indices = self.graph.items(self.graph.get(node, "indices"))
        target = (
            f"{self.names[self.graph.get(node, 'buffer')]}[{', '.join(map(self.expressions.text, indices)) or '()'}]"
        )
        return f"{target} = {self.expressions.field(node, 'value')}"

    def _if(self, node: Node) -> Lines:
        yield f"if {self.expressions.field(node, 'condition')}:"
        yield from self._indented(self.statement(self.graph.get(node, "then_case")))
        other = self.graph.find(node, "else_case")
        if other is not None:
            yield "else:"
            yield from self._indented(self.statement(other))

    def _while(self, node: Node) -> Lines:
        yield f"while {self.expressions.field(node, 'condition')}:"
        yield from self._indented(self.statement(self.graph.get(node, "body")))

    def _bind(self, node: Node) -> str:
        variable = self.graph.get(node, "var")
        value = self.expressions.field(node, "value")
        return f"{self._variable(variable)}: T.let[T.{self.graph.dtype(variable)}] = {value}"

    def _let(self, node: Node) -> Lines:
        variable = self.graph.get(node, "var")
        value = self.expressions.field(node, "value")
        with self.names.scope():
            yield f"with T.LetStmt({value}) as {self._variable(variable)}:"
            yield from self._indented(self.statement(self.graph.get(node, "body")))


def _is_buffer(graph: Graph, parameter: Node) -> bool:
    kind = graph.find(parameter, "ty")
    return kind is not None and kind.kind == "BufferType"


__all__ = ["module_text"]
