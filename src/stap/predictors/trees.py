"""LightGBM's text model, checked and written anew before LightGBM sees it.

LightGBM believes what a file says: a child or a feature that is not there is read all the same. So the few lines that
a prediction needs are parsed here, held against each other, and only they are handed on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stap.events import Floats, Longs

MOST_TREES, MOST_LEAVES = 10_000, 4096
_CATEGORICAL = 1  # bit of decision_type


def rewrite(text: str, features: Sequence[str]) -> str:
    """A model of one score over exactly these features, and nothing else; ValueError says what is wrong."""
    head, _, rest = text.partition("\n\n")
    forest, end, _ = rest.partition("\nend of trees")
    says = _pairs(head)
    if not head.startswith("tree\n") or not end or "feature_names" not in says:
        raise ValueError("no whole LightGBM model")
    if says["feature_names"].split(" ") != list(features):
        raise ValueError("made for other features than ours")
    if says.get("num_class") != "1" or says.get("num_tree_per_iteration") != "1":
        raise ValueError("gives more than one score")
    trees = forest.split("Tree=")[1:]
    if not 1 <= len(trees) <= MOST_TREES:
        raise ValueError(f"{len(trees)} trees, outside 1..{MOST_TREES}")
    lines = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={len(features) - 1}",
        "objective=binary sigmoid:1",
        f"feature_names={' '.join(features)}",
        f"feature_infos={' '.join(['none'] * len(features))}",
        "",
    ]
    for number, tree in enumerate(trees):
        try:
            lines += [f"Tree={number}", *_tree(_pairs(tree), len(features)), ""]
        except (KeyError, ValueError, OverflowError) as error:
            raise ValueError(f"tree {number} is damaged ({error})") from None
    return "\n".join([*lines, "end of trees", "", "parameters:", "end of parameters", ""])


def _pairs(text: str) -> dict[str, str]:
    return {key: value for key, equals, value in (line.partition("=") for line in text.splitlines()) if equals}


def _tree(says: dict[str, str], features: int) -> list[str]:
    leaves = int(says["num_leaves"])
    if not 1 <= leaves <= MOST_LEAVES or says["num_cat"] != "0" or says.get("is_linear", "0") != "0":
        raise ValueError("not a kind of tree that we train")
    values = _reals(says, "leaf_value", leaves)
    lines = [f"num_leaves={leaves}", "num_cat=0", _line("leaf_value", values)]
    if leaves > 1:
        lines += _splits(says, leaves, features)
    return [*lines, "is_linear=0", "shrinkage=1"]


def _splits(says: dict[str, str], leaves: int, features: int) -> list[str]:
    feature, kind = _whole(says, "split_feature", leaves - 1), _whole(says, "decision_type", leaves - 1)
    if feature.min() < 0 or feature.max() >= features:
        raise ValueError("it asks for a feature that is not there")
    if kind.min() < 0 or kind.max() > 15 or np.any(kind & _CATEGORICAL):
        raise ValueError("decision_type")
    lines = [_line("split_feature", feature), _line("decision_type", kind)]
    lines.append(_line("threshold", _reals(says, "threshold", leaves - 1)))
    for name in ("left_child", "right_child"):
        child = _whole(says, name, leaves - 1)
        inner = child >= 0
        # A split is younger than the one above it, so no way down can go in a circle.
        if np.any(child[inner] <= np.flatnonzero(inner)) or child.max() >= leaves - 1 or child.min() < -leaves:
            raise ValueError(name)
        lines.append(_line(name, child))
    return lines


def _whole(says: dict[str, str], name: str, count: int) -> Longs:
    return np.array(_words(says, name, count), np.int64)


def _reals(says: dict[str, str], name: str, count: int) -> Floats:
    values = np.array(_words(says, name, count), np.float64)
    if not np.isfinite(values).all():
        raise ValueError(name)
    return values


def _words(says: dict[str, str], name: str, count: int) -> list[str]:
    words = says[name].split()
    if len(words) != count:
        raise ValueError(f"{len(words)} of {name} where {count} belong")
    return words


def _line(name: str, values: Longs | Floats) -> str:
    return f"{name}={' '.join(map(repr, values.tolist()))}"
