"""STAP as an ONNX graph, with the key/value cache as inputs and outputs. Needs the package onnx.

Inputs, for n new events after p old ones:
    app, action (n,) int64; minutes (n,) float64, since the cache's first event; hour (n,) float32
    past_keys, past_values (N, H, p, D) float32
    last_key (N, H, 1, D) float32, of a model with mixed keys: zeros at first
    past_openings (P, u, D) float32, past_opened (u,) int64, last_opening (P, 1, D) float32, of a model that points
Outputs: logits (n, V); keys, values (N, H, p + n, D): the next call's past; last (N, H, 1, D): its last_key;
openings, opened, opening: its past_openings, past_opened and last_opening.

The graph is written out by hand, in the order of model/transformer.py: nothing in it was guessed by an exporter.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from stap.events import OPEN
from stap.files import replacing
from stap.model.config import ORDINAL_BASE, ModelConfig

OPSET = 17
Arrays = dict[str, NDArray[np.float32]]


class _Graph:
    """Nodes and constants, each under a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: object, dtype: type = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype, order="C"), name))
        return name

    def op(self, kind: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        name = out or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def split(self, value: str, parts: int, axis: int) -> list[str]:
        names = [f"v{len(self.nodes)}_{i}" for i in range(parts)]
        self.nodes.append(helper.make_node("Split", [value], names, axis=axis))
        return names

    def linear(self, x: str, weight: NDArray[np.float32]) -> str:
        return self.op("MatMul", x, self.constant(weight.T))

    def norm(self, x: str, weight: NDArray[np.float32], eps: float) -> str:
        mean = self.op("ReduceMean", self.op("Mul", x, x), axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.constant(eps)))
        return self.op("Mul", self.op("Div", x, root), self.constant(weight))


def _embed(g: _Graph, w: Arrays, dim: int) -> str:
    """x (n, d): W_f multiplied into the tables, as in Transformer.embed."""
    fuse = w["fuse.weight"].astype(np.float64)
    for_app, for_action, for_hour = fuse[:, :dim], fuse[:, dim : 2 * dim], fuse[:, 2 * dim :]
    angle = g.op("Mul", "hour", g.constant(2 * math.pi / 24))
    circle = g.op(
        "Concat", *(g.op("Unsqueeze", g.op(f, angle), g.constant([1], np.int64)) for f in ("Sin", "Cos")), axis=1
    )
    app = g.op("Gather", g.constant(w["embed_app.weight"] @ for_app.T), "app")
    action = g.op("Gather", g.constant(w["embed_action.weight"] @ for_action.T), "action")
    hour = g.op("MatMul", circle, g.constant((for_hour @ w["embed_hour.weight"]).T))
    constant = g.constant(for_hour @ w["embed_hour.bias"] + w["fuse.bias"])
    return g.op("Add", g.op("Add", app, action), g.op("Add", hour, constant))


def _turns(g: _Graph, config: ModelConfig, index: str) -> tuple[str, str]:
    """cos and sin (H, n, D/2): angles in float64 until they are within one turn."""
    k = np.arange(config.head_dim // 2)
    two_pi = g.constant(2 * math.pi, np.float64)

    def angles(values: str, base: float, heads: int) -> list[str]:
        column = g.op("Unsqueeze", values, g.constant([1], np.int64))
        angle = g.op("Mul", column, g.constant(base ** (-2.0 * k / config.head_dim), np.float64))  # (n, D/2)
        turn = g.op("Cast", g.op("Mod", angle, two_pi, fmod=1), to=TensorProto.FLOAT)
        return [g.op("Unsqueeze", turn, g.constant([0], np.int64))] * heads

    turned = angles("minutes", config.time_base, config.heads - config.ordinal_heads)
    if config.ordinal_heads:
        turned += angles(g.op("Cast", index, to=TensorProto.DOUBLE), ORDINAL_BASE, config.ordinal_heads)
    every = g.op("Concat", *turned, axis=0)
    return g.op("Cos", every), g.op("Sin", every)


def _rotate(g: _Graph, x: str, cos: str, sin: str) -> str:
    """x (H, n, D): the pair (x_k, x_{k + D/2}) turns by the k-th angle."""
    a, b = g.split(x, 2, 2)
    first = g.op("Sub", g.op("Mul", a, cos), g.op("Mul", b, sin))
    second = g.op("Add", g.op("Mul", a, sin), g.op("Mul", b, cos))
    return g.op("Concat", first, second, axis=2)


def _shift(g: _Graph, rows: str, last: str) -> tuple[str, str]:
    """Each row (H, n, D) and the one before it: those before, and the last row of all."""
    own = g.op("Concat", last, rows, axis=1)  # (H, 1 + n, D)
    begin, end, axis = (g.constant([value], np.int64) for value in (0, -1, 1))
    after = g.op("Slice", own, end, g.constant([np.iinfo(np.int64).max], np.int64), axis)
    return g.op("Slice", own, begin, end, axis), after


def _attention(
    g: _Graph, w: Arrays, config: ModelConfig, n: int, x: str, cos: str, sin: str, bias: str
) -> tuple[str, dict[str, str]]:
    """out (n, d), and what is kept of block n: keys, values (H, p + n, D); with mixed keys the last one (H, 1, D)."""
    block, heads, dim = f"blocks.{n}.", config.heads, config.head_dim
    rows = g.op("Reshape", g.linear(x, w[block + "attention.qkv.weight"]), g.constant([0, 3 * heads, dim], np.int64))
    query, key, value = g.split(g.op("Transpose", rows, perm=[1, 0, 2]), 3, 0)  # (H, n, D) each
    place, kept = g.constant(n, np.int64), dict[str, str]()
    if config.mixed_keys:
        share = w[block + "attention.key_before"].reshape(heads, 1, dim)
        before, kept["last"] = _shift(g, key, g.op("Gather", "last_key", place))
        key = g.op("Add", key, g.op("Mul", before, g.constant(share)))
    if config.query_key_norm:
        query = g.norm(query, w[block + "attention.query_norm.weight"], config.norm_eps)
        key = g.norm(key, w[block + "attention.key_norm.weight"], config.norm_eps)
    keys = g.op("Concat", g.op("Gather", "past_keys", place), _rotate(g, key, cos, sin), axis=1)
    values = g.op("Concat", g.op("Gather", "past_values", place), value, axis=1)
    query = g.op("Mul", _rotate(g, query, cos, sin), g.constant(1 / math.sqrt(dim)))
    scores = g.op("Add", g.op("MatMul", query, g.op("Transpose", keys, perm=[0, 2, 1])), bias)  # (H, n, p + n)
    mixed = g.op("Transpose", g.op("MatMul", g.op("Softmax", scores, axis=-1), values), perm=[1, 0, 2])
    flat = g.op("Reshape", mixed, g.constant([0, config.dim], np.int64))
    return g.linear(flat, w[block + "attention.out.weight"]), kept | {"keys": keys, "values": values}


def _feedforward(g: _Graph, w: Arrays, n: int, x: str) -> str:
    gate, up = g.split(g.linear(x, w[f"blocks.{n}.feedforward.gate_up.weight"]), 2, 1)
    silu = g.op("Mul", gate, g.op("Sigmoid", gate))
    return g.linear(g.op("Mul", silu, up), w[f"blocks.{n}.feedforward.down.weight"])


def _pointing(g: _Graph, w: Arrays, config: ModelConfig, hidden: str) -> str:
    """What the pointing head adds to the logits (n, V), in the order of model/pointing.py."""
    heads, dim = config.pointing_heads, config.head_dim
    column, row = (g.constant([axis], np.int64) for axis in (1, 0))
    per_head = {name: w[f"pointing.{name}"].reshape(-1, 1, 1) for name in ("fade", "nothing", "floor", "sharpness")}
    rows = g.op("Reshape", g.linear(hidden, w["pointing.qk.weight"]), g.constant([0, 2 * heads, dim], np.int64))
    query, key = g.split(g.op("Transpose", rows, perm=[1, 0, 2]), 2, 0)  # (P, n, D) each
    before, last = _shift(g, key, "last_opening")
    g.op("Identity", last, out="opening")
    key = g.op("Add", key, g.op("Mul", before, g.constant(w["pointing.key_before"].reshape(heads, 1, dim))))
    query, key = (g.norm(x, np.ones(dim, np.float32), config.norm_eps) for x in (query, key))
    opens = g.op("Equal", "action", g.constant(OPEN, np.int64))
    keys = g.op("Concat", "past_openings", g.op("Compress", key, opens, axis=1), out="openings", axis=1)
    pointed = g.op("Concat", "past_opened", g.op("Compress", "app", opens, axis=0), out="opened", axis=0)
    count = g.op("CumSum", g.op("Cast", opens, to=TensorProto.INT64), g.constant(0, np.int64))
    count = g.op("Add", count, g.op("Shape", "past_opened"))
    places = g.op(
        "Range",
        g.constant(1, np.int64),
        g.op("Add", g.op("Size", pointed), g.constant(1, np.int64)),
        g.constant(1, np.int64),
    )
    ago = g.op("Sub", g.op("Unsqueeze", count, column), g.op("Unsqueeze", places, row))  # (n, U)
    since = g.op("Cast", g.op("Max", ago, g.constant(0, np.int64)), to=TensorProto.FLOAT)
    query = g.op("Mul", query, g.constant(np.exp(per_head["sharpness"]) / math.sqrt(dim)))
    score = g.op("MatMul", query, g.op("Transpose", keys, perm=[0, 2, 1]))  # (P, n, U)
    score = g.op("Sub", score, g.op("Mul", since, g.constant(np.exp(per_head["fade"]))))
    same = g.op("Equal", g.op("Unsqueeze", "app", column), g.op("Unsqueeze", pointed, row))
    hide = g.op("Or", g.op("Less", ago, g.constant(0, np.int64)), same)
    score = g.op("Where", hide, g.constant(-1e30), score)
    shape = g.op("Concat", g.constant([heads], np.int64), g.op("Shape", "app"), g.constant([1], np.int64), axis=0)
    nothing = g.op("Expand", g.constant(per_head["nothing"]), shape)
    share = g.op("Softmax", g.op("Concat", nothing, score, axis=2), axis=-1)
    end = g.constant([np.iinfo(np.int64).max], np.int64)
    share = g.op("Slice", share, g.constant([1], np.int64), end, g.constant([2], np.int64))
    each = g.op("OneHot", pointed, g.constant(config.vocabulary, np.int64), g.constant([0.0, 1.0]))  # (U, V)
    share = g.op("Mul", g.op("MatMul", share, each), g.constant(np.exp(-per_head["floor"])))  # (P, n, V)
    hints = g.op("Log", g.op("Add", share, g.constant(1.0)))
    gate = g.op("Add", g.linear(hidden, w["pointing.gate.weight"]), g.constant(w["pointing.gate.bias"]))
    gate = g.op("Unsqueeze", g.op("Transpose", gate, perm=[1, 0]), g.constant([2], np.int64))  # (P, n, 1)
    return g.op("ReduceSum", g.op("Mul", hints, gate), row, keepdims=0)


def build(config: ModelConfig, w: Arrays) -> onnx.ModelProto:
    g = _Graph()
    past = g.op("Slice", g.op("Shape", "past_keys"), g.constant([2], np.int64), g.constant([3], np.int64))  # [p]
    new = g.op("Shape", "app")  # [n]
    whole = g.op("Add", past, new)
    scalars = [g.op("Squeeze", value) for value in (past, whole)]
    index = g.op("Range", *scalars, g.constant(1, np.int64))
    first, second = (g.constant([axis], np.int64) for axis in (0, 1))
    # Row i sees the old events and the first i + 1 new ones.
    seen = g.op("Range", g.constant(0, np.int64), scalars[1], g.constant(1, np.int64))
    hidden = g.op("Greater", g.op("Unsqueeze", seen, first), g.op("Unsqueeze", index, second))
    bias = g.op("Where", hidden, g.constant(-1e30), g.constant(0.0))  # (n, p + n)
    cos, sin = _turns(g, config, index)
    x = _embed(g, w, config.dim)
    kept: dict[str, list[str]] = {}
    for n in range(config.layers):
        normed = g.norm(x, w[f"blocks.{n}.attention_norm.weight"], config.norm_eps)
        out, layer = _attention(g, w, config, n, normed, cos, sin, bias)
        x = g.op("Add", x, out)
        normed = g.norm(x, w[f"blocks.{n}.feedforward_norm.weight"], config.norm_eps)
        x = g.op("Add", x, _feedforward(g, w, n, normed))
        for name, value in layer.items():
            kept.setdefault(name, []).append(g.op("Unsqueeze", value, first))
    for name, layers in kept.items():
        g.op("Concat", *layers, out=name, axis=0)
    head = w["embed_app.weight"].astype(np.float64) @ w["head.weight"] if config.tied_apps else w["head.weight"]
    last = g.norm(x, w["norm.weight"], config.norm_eps)
    named = g.op("MatMul", last, g.constant(head.T))
    g.op("Sum", named, *([_pointing(g, w, config, last)] if config.pointing_heads else []), out="logits")
    return _model(config, g)


def _model(config: ModelConfig, g: _Graph) -> onnx.ModelProto:
    def value(name: str, kind: int, *shape: int | str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, list(shape))

    def cache(name: str, length: str) -> onnx.ValueInfoProto:
        return value(name, TensorProto.FLOAT, config.layers, config.heads, length, config.head_dim)

    inputs = [
        value("app", TensorProto.INT64, "n"),
        value("action", TensorProto.INT64, "n"),
        value("minutes", TensorProto.DOUBLE, "n"),
        value("hour", TensorProto.FLOAT, "n"),
        cache("past_keys", "p"),
        cache("past_values", "p"),
    ]
    outputs = [value("logits", TensorProto.FLOAT, "n", config.vocabulary), cache("keys", "q"), cache("values", "q")]
    if config.mixed_keys:
        one = (TensorProto.FLOAT, config.layers, config.heads, 1, config.head_dim)
        inputs.append(value("last_key", *one))
        outputs.append(value("last", *one))
    if heads := config.pointing_heads:
        for names, length, place in ((inputs, "u", "past_openings past_opened last_opening"), (outputs, "v", "")):
            keys, app, last = (place or "openings opened opening").split()
            names += [value(keys, TensorProto.FLOAT, heads, length, config.head_dim)]
            names += [value(app, TensorProto.INT64, length), value(last, TensorProto.FLOAT, heads, 1, config.head_dim)]
    graph = helper.make_graph(g.nodes, "stap", inputs, outputs, g.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="stap")
    model.ir_version = 8
    helper.set_model_props(model, {"config": config.to_json()})
    return model


def export(config: ModelConfig, tensors: Arrays, out: Path) -> None:
    """Write the graph, beside and renamed."""
    model = build(config, tensors)
    onnx.checker.check_model(model, full_check=True)
    with replacing(out) as draft:
        draft.write_bytes(model.SerializeToString())
