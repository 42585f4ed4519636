"""Exported files: what the engine reads is what it would have made itself; ONNX gives PyTorch's logits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from stap.engine import EngineModel, Settings
from stap.errors import BadInput
from stap.model import export
from stap.model.config import ModelConfig
from stap.model.transformer import Cache

from .reference import SMALL, person, saved, sharp

FUSED = ModelConfig(vocabulary=30, context=32, dim=24, layers=2, heads=3, hidden=20, evidence=12, candidate_heads=2)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
def test_exported_file_is_what_the_engine_makes_itself(tmp_path: Path, dtype: str) -> None:
    source, out = saved(sharp(SMALL), tmp_path), tmp_path / "out.safetensors"
    export.export(source, out, dtype)  # type: ignore[arg-type]
    assert EngineModel(out).weights == dtype
    stored = EngineModel(out).predictor(Settings(cache="fp32"))
    converted = EngineModel(source, dtype).predictor(Settings(cache="fp32"))  # type: ignore[arg-type]
    for event in person(40, 20):
        stored.observe(event)
        converted.observe(event)
    assert np.array_equal(stored.logits(), converted.logits())
    assert out.stat().st_size < {"fp32": 1.01, "fp16": 0.75, "int8": 0.6}[dtype] * source.stat().st_size


def test_whole_numbers_are_those_of_torch_to_the_bit() -> None:
    """Halves go to the even number; a row of zeros stays one."""
    torch.manual_seed(0)
    halves = torch.arange(-127, 128) / 2
    halves[-1] = 127.0  # so that the scale is 1
    rows = torch.stack([halves, torch.zeros(255), *(torch.randn(254, 255) * torch.logspace(-38, 37, 254)[:, None])])
    scale = rows.abs().amax(dim=1).clamp(min=1e-30) / 127
    numbers, scales = export.quantise(rows.numpy())
    assert np.array_equal(scales, scale.numpy())
    assert np.array_equal(numbers, (rows / scale[:, None]).round().to(torch.int8).numpy())
    assert numbers[0, [128, 130, 132]].tolist() == [0, 2, 2], "of 0.5, 1.5, 2.5"
    assert not numbers[1].any()


def stap_without(missing: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command line where a package is not installed."""
    hide = f"import sys; sys.modules[{missing!r}] = None; from stap.cli import main; main()"
    command = [sys.executable, "-c", hide, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
def test_no_torch_is_needed(tmp_path: Path, dtype: str) -> None:
    source, out, same = saved(sharp(FUSED), tmp_path), tmp_path / "out.safetensors", tmp_path / "same.safetensors"
    done = stap_without("torch", "export", source, "-o", out, "--dtype", dtype)
    assert (done.returncode, done.stderr) == (0, "")
    export.export(source, same, dtype)  # type: ignore[arg-type]
    assert EngineModel(out).weights == dtype
    written, wanted = load_file(out), load_file(same)
    assert written.keys() == wanted.keys()
    assert all(torch.equal(written[name], wanted[name]) for name in wanted)


def test_onnx_needs_onnx_alone(tmp_path: Path) -> None:
    source, out = saved(sharp(SMALL), tmp_path), tmp_path / "m.onnx"
    done = stap_without("torch", "export", source, "-o", out, "--format", "onnx")
    assert (done.returncode, done.stderr) == (0, "")
    assert out.stat().st_size > 10_000
    refused = stap_without("onnx", "export", source, "-o", tmp_path / "n.onnx", "--format", "onnx")
    assert refused.returncode == 2
    assert refused.stderr == "stap: stap: onnx is not installed; pip install 'stap[onnx]'\n"
    assert not (tmp_path / "n.onnx").exists()


def test_a_folder_is_exported_only_when_a_run_is_in_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a folder without a trained model; give a run's folder or a model file"):
        export.export(tmp_path, tmp_path / "out.safetensors")
    saved(sharp(SMALL), tmp_path).rename(tmp_path / "model.safetensors")
    export.export(tmp_path, tmp_path / "out.safetensors", "fp16")
    assert EngineModel(tmp_path / "out.safetensors").weights == "fp16"


@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        ModelConfig(vocabulary=30, dim=24, layers=2, heads=3, hidden=20, query_key_norm=True, ordinal_heads=1),
        ModelConfig(vocabulary=30, dim=24, layers=2, heads=3, hidden=20, tied_apps=True, mixed_keys=True),
        ModelConfig(vocabulary=30, dim=24, layers=1, heads=3, hidden=20, mixed_keys=True, pointing_heads=4),
    ],
)
def test_onnx_gives_the_same_logits(tmp_path: Path, config: ModelConfig) -> None:
    model = sharp(config)
    (tmp_path / "run").mkdir()
    saved(model, tmp_path / "run").rename(tmp_path / "run" / "best.safetensors")
    out = tmp_path / "model.onnx"
    export.export(tmp_path / "run", out, format="onnx")
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    cache, rng = Cache(config, 64), np.random.default_rng(0)
    past: list[NDArray[Any]] = [np.zeros((config.layers, config.heads, 0, config.head_dim), np.float32)] * 2
    names = ["past_keys", "past_values"]
    if config.mixed_keys:
        past.append(np.zeros((config.layers, config.heads, 1, config.head_dim), np.float32))
        names.append("last_key")
    if heads := config.pointing_heads:
        past.append(np.zeros((heads, 0, config.head_dim), np.float32))
        past.append(np.zeros(0, np.int64))
        past.append(np.zeros((heads, 1, config.head_dim), np.float32))
        names += ["past_openings", "past_opened", "last_opening"]
    minutes = 29e6 + np.cumsum(rng.exponential(3e4, 20))
    step = 0
    for count in (3, 1, 1, 7, 8):
        now = minutes[step : step + count]
        app, action = rng.integers(config.vocabulary, size=count), rng.integers(2, size=count)
        hour = (now % 1440 / 60).astype(np.float32)
        with torch.inference_mode():
            arrays = (torch.from_numpy(a)[None] for a in (app, action, now, hour))
            wanted = model(*arrays, cache)[0].numpy()
        feed = {"app": app, "action": action, "minutes": now - minutes[0], "hour": hour}
        logits, *past = session.run(None, feed | dict(zip(names, past, strict=True)))
        assert np.abs(logits - wanted).max() < 1e-4
        step += count
        assert past[0].shape[2] == step


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
def test_an_evidence_head_is_exported_in_full(tmp_path: Path, dtype: str) -> None:
    """Its tensors stay float32, to the bit; only the transformer's large matrices shrink."""
    source, out = saved(sharp(FUSED), tmp_path), tmp_path / "out.safetensors"
    export.export(source, out, dtype)  # type: ignore[arg-type]
    before, after = load_file(source), load_file(out)
    head = [name for name in before if name.startswith("evidence.")]
    assert len(head) == 19
    for name in head:
        assert after[name].dtype == torch.float32
        assert torch.equal(before[name], after[name])
    model = EngineModel(out)
    assert (model.weights, model.evidence) == (dtype, FUSED.evidence)
    stored, converted = model.predictor(), EngineModel(source, dtype).predictor()  # type: ignore[arg-type]
    for event in person(80, 20):
        stored.observe(event)
        converted.observe(event)
        assert stored.rank(30) == converted.rank(30)
        assert stored.unseen() == converted.unseen()


def test_an_evidence_head_is_refused_as_onnx(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="ONNX carries the transformer alone") as error:
        export.export(saved(sharp(FUSED), tmp_path), tmp_path / "m.onnx", format="onnx")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "m.onnx").exists()


def test_onnx_is_fp32_only(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="fp32"):
        export.export(saved(sharp(SMALL), tmp_path), tmp_path / "m.onnx", "int8", "onnx")
