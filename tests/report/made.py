"""A result file of every kind of table and mark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EVIL = "<script>alert(1)</script>"


def axis(label: str, low: float, high: float, **more: Any) -> dict[str, Any]:
    return {"label": label, "scale": "linear", "limits": [low, high], **more}


def result(**changes: Any) -> dict[str, Any]:
    table = {
        "title": "A table",
        "headers": ["who", "HR@1", "how"],
        "rows": [["mfu", "18.48", "x"], [EVIL, "31.20 ± 0.10", "a & b_c, 50 %"]],
        "caption": "Percent.",
    }
    line = {"kind": "line", "label": "training", "colour": "#0072b2", "x": [1, 2, 4], "y": [0.5, None, 0.25]}
    bars = {"kind": "bars", "label": "hits", "colour": "#d55e00", "x": [1, 2], "y": [0.1, 0.3], "thick": [0.8, 0.8]}
    level = {"kind": "level", "label": "chance", "colour": "#8a96a3", "at": 0.4}
    chart = {
        "title": "A chart",
        "x": axis("epoch", 1, 4),
        "y": axis("loss", 0, 1),
        "series": [line, bars, level],
    }
    provenance = {
        "study": "mine",
        "question": "Does it hold?",
        "command": "stap study mine --out a",
        "version": "0.1.0",
    }
    figure = {"explained": "What is drawn.", "charts": [chart]}
    return {"provenance": provenance, "tables": [table], "figure": figure} | changes


def write(path: Path, told: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(told if isinstance(told, str) else json.dumps(told))
    return path
