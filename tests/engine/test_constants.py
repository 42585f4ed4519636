"""What stands in Python and in C++ is the same in both: names, numbers, bounds, and the order in which phi is drawn."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import stap
from stap import _engine, why
from stap import evidence as names
from stap.engine import EngineModel, Settings
from stap.errors import BadInput
from stap.events import Event
from stap.model import config, fusion
from stap.model.config import ModelConfig
from stap.phi import OnlinePhi
from stap.predictors import again, blend, cues, hours, mixer, ppm
from stap.reference import evidence, last_word, launches, notices
from stap.reference import why as reasons

from .reference import saved, sharp

LEAST = {"evidence": 0, "candidate_heads": 0, "launches": 0, "ordinal_heads": 0, "pointing_heads": 0}
WHOLE = {name: (LEAST.get(name, 1), most) for name, most in config.LARGEST.items()} | {
    "ordinal_heads": (0, config.LARGEST["heads"]),
}
REAL = {"time_base": (1.0, 1e12), "norm_eps": (0.0, 1.0)}  # without the ends
ENGINE_ALONE = {"MOST_APPS": 1024, "MOST_APP_BYTES": 4096}  # Python's definitions forget nothing


def test_versions_agree() -> None:
    """That of the package, of its module, of the C header and of the engine."""
    root = Path(__file__).parents[2]
    header = (root / "engine" / "include" / "stap.h").read_text()
    parts = re.findall(r"^#define STAP_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert ".".join(parts) == project["version"] == stap.__version__ == _engine.version()


def test_names_agree() -> None:
    assert names.STATISTICS == _engine.STATISTICS
    assert names.MOMENT == _engine.MOMENT


def test_constants_agree() -> None:
    ours = ENGINE_ALONE | {
        "CANDIDATES": names.CANDIDATES,
        "COMPARED": names.COMPARED,
        "CLIP": fusion.CLIP,
        "LEAST": fusion.LEAST,
        "GENERATION": cues.GENERATION,
        "SUCCESSORS": cues.SUCCESSORS,
        "FADE": cues.FADE,
        "ORDERS": ppm.ORDERS,
        "UNSEEN": ppm.UNSEEN,
        "PLACES": mixer.PLACES,
        "WEIGHT_RATE": mixer.WEIGHT_RATE,
        "BIAS_RATE": mixer.BIAS_RATE,
        "FLOOR": mixer.FLOOR,
        "WEIGHTS": tuple(blend.Blend.weights.values()),
        "STAYS": blend.STAYS,
        "SHARPNESS": hours.SHARPNESS,
        "EVEN": hours.EVEN,
        "USAGE_HALF_LIVES": names.USAGE_HALF_LIVES,
        "MINUTE_HALF_LIVES": names.MINUTE_HALF_LIVES,
        "LONGEST": evidence.LONGEST,
        "SESSION_GAP": evidence.SESSION_GAP,
        "RECENT_FADE": evidence.RECENT_FADE,
        "RANK_FADE": evidence.RANK_FADE,
        "RANK_AFTER_FADE": evidence.RANK_AFTER_FADE,
        "MOST_SURPRISE": evidence.MOST_SURPRISE,
        "TINY": evidence.TINY,
        "RANKS": names.RANKS,
        "PAUSES": again.PAUSES,
        "USUAL": again.USUAL,
        "STRENGTH": again.STRENGTH,
        "WHENEVER_USUAL": again.WHENEVER_USUAL,
        "WHENEVER_STRENGTH": again.WHENEVER_STRENGTH,
        "RETURN_FADE": again.FADE,
        "OWN_FADE": again.OWN_FADE,
        "OWN": again.OWN,
        "HOURLY": again.HOURLY,
        "START": again.START,
        "RATE": again.RATE,
        "SURE": again.SURE,
        "LAUNCH_HALF_LIVES": launches.HALF_LIVES,
        "WAKING_HALF_LIFE": launches.WAKING_HALF_LIFE,
        "LAUNCH_RANK_FADE": launches.RANK_FADE,
        "LAUNCH_RANK_STRENGTH": launches.RANK_STRENGTH,
        "WORD_RATE": last_word.RATE,
        "WORD_BIAS_RATE": (last_word.BIAS_RATE, last_word.BIAS_LAUNCHES, last_word.LEAST_BIAS_RATE),
        "WEIGHT_BOUNDS": last_word.WEIGHT_BOUNDS,
        "MOST_BIAS": last_word.MOST_BIAS,
        "NOTICE_AGES": notices.AGES,
        "NOTICE_START": notices.START,
        "NOTICE_RATES": (notices.RATE, notices.OWN_RATE),
        "MOST_NOTICE": (notices.MOST, notices.MOST_OWN),
        "REASONS": len(why.KINDS),
        "LEAST_STRENGTH": reasons.LEAST_STRENGTH,
        "MOST_TOLD": why.MOST_TOLD,
        "LEAST_TIMES": (reasons.LEAST_TIMES, reasons.ONE_IN_RETURNS, reasons.ONE_IN_TIMES),
        "RECENT_MINUTES": reasons.RECENT_MINUTES,
        "MOST_USED": reasons.MOST_USED,
        "USUAL_HOUR": (reasons.USUAL_COUNT, reasons.USUAL_LIFT),
        "SPANS": reasons.SPANS,
        "CANDIDATE_HEAD": config.CANDIDATE_HEAD,
        "ORDINAL_BASE": config.ORDINAL_BASE,
        "LIMITS": WHOLE | REAL,
    }
    assert ours == _engine.CONSTANTS


def test_the_blend_fades_at_two_of_the_evidences_rates() -> None:
    usages, minutes = _engine.CONSTANTS["USAGE_HALF_LIVES"], _engine.CONSTANTS["MINUTE_HALF_LIVES"]
    assert ppm.LEFT.tolist() == [0.5 ** (1 / half_life) for half_life in (usages[0], usages[-1])]
    assert blend.HALF_LIVES.tolist() == [minutes[0], minutes[3]]


@pytest.mark.parametrize(("name", "end"), [(name, end) for name, ends in REAL.items() for end in ends])
def test_python_refuses_the_ends_of_a_range_too(name: str, end: float) -> None:
    with pytest.raises(BadInput, match="out of range"):
        ModelConfig(**{name: end})  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [0, 1, 77, 2**64 - 1])
@pytest.mark.parametrize("vocabulary", [1, 2, 61, 200])
def test_phi_is_drawn_alike(tmp_path: Path, vocabulary: int, seed: int) -> None:
    """App by app the same indices, also when there are more apps than indices."""
    small = ModelConfig(vocabulary=vocabulary, context=8, dim=8, layers=1, heads=1, hidden=8)
    predictor = EngineModel(saved(sharp(small), tmp_path)).predictor(Settings(seed=seed))
    phi = OnlinePhi(vocabulary, seed)
    indices = []
    for app in [f"app {i}" for i in range(vocabulary + 3)]:
        predictor.observe(Event(app, 1, 0.0, 0.0))
        indices.append(phi.use(app)[0])
        assert predictor.index(app) == indices[-1]
    assert sorted(indices[:vocabulary]) == list(range(vocabulary))
