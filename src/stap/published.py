"""What others published, each with its source. None of it was measured here: every place that shows it says so."""

from __future__ import annotations

from typing import NamedTuple

PAPER = "STAP: A Shuffle-Tokenized App Predictor with Ultra Long Context for Vocabulary-Free Mobile App Prediction"
MARK = "as published"
METRICS = ("HR@1", "HR@3", "HR@5", "MRR@3", "MRR@5")
Row = tuple[float, ...]  # percent, in the order of METRICS

# The paper's table 4. Its MRU puts the current app first.
PUBLISHED: dict[str, dict[str, Row]] = {
    "LSApp": {"mfu": (29.14, 64.42, 80.45, 44.55, 48.24), "mru": (0.00, 79.95, 87.96, 38.37, 40.21)},
    "Tsinghua": {"mfu": (18.55, 40.74, 52.54, 28.23, 30.92), "mru": (0.00, 55.89, 68.10, 25.45, 28.26)},
}
# Trained -> tested; of the rivals there are figures within a data set only.
PUBLISHED_MODELS: dict[str, dict[str, Row]] = {
    "Tsinghua -> LSApp": {"STAP": (68.95, 85.19, 90.55, 76.20, 77.43)},
    "LSApp -> Tsinghua": {"STAP": (42.63, 62.69, 70.65, 51.66, 53.42)},
    "in Tsinghua": {
        "CoSEM": (31.11, 55.97, 65.25, 42.04, 44.16),
        "NeuSA": (44.33, 61.69, 68.12, 52.06, 53.53),
        "MAPLE": (52.28, 74.17, 81.28, 62.06, 63.69),
        "STAP": (49.99, 71.41, 78.87, 59.52, 61.23),
    },
    "in LSApp": {
        "CoSEM": (45.23, 72.43, 81.04, 57.18, 59.18),
        "NeuSA": (68.74, 77.70, 81.35, 72.72, 73.55),
        "MAPLE": (76.44, 88.48, 92.47, 81.81, 82.72),
        "STAP": (71.27, 86.14, 91.05, 77.90, 79.03),
    },
}
# One standard deviation over five seeds, of STAP.
PUBLISHED_SPREAD: dict[str, Row] = {
    "Tsinghua -> LSApp": (0.07, 0.08, 0.05, 0.07, 0.06),
    "LSApp -> Tsinghua": (0.28, 0.25, 0.28, 0.26, 0.26),
    "in Tsinghua": (1.10, 1.07, 0.94, 1.08, 1.06),
    "in LSApp": (2.45, 1.84, 1.30, 2.16, 2.02),
}
# Table 5, Tsinghua -> LSApp; the base row is that of PUBLISHED_MODELS.
PUBLISHED_ABLATION: dict[str, Row] = {"non-shuffle": (62.12, 77.59, 80.90, 69.17, 69.93)}
# What `previous` would have, solved from the paper's MRU rows: MRR@3 = P2/2 + P3/3 with HR@3 = P2 + P3. HR@1, HR@3.
SOLVED_PREVIOUS: dict[str, Row] = {"LSApp": (70.3, 84.7), "Tsinghua": (40.9, 63.2)}
# Figure 7 and the words beside it: scalar fp32, one thread, more than 3300 events. Milliseconds, and megabytes.
ENGINE = {"largest ms": "< 50", "weights MB": "44", "the rest MB": "156", "in all MB": "200"}


class Elsewhere(NamedTuple):
    """What other papers have, each by a protocol of its own: HR@1, HR@3, HR@5."""

    people: str
    predictor: str
    hits: Row
    remark: str = ""


STANDARD = "standard split of its publication"
TGT = "keeps repeats, knows the target's hour, no validation set"
ELSEWHERE = (
    Elsewhere("Tsinghua", "AppUsage2Vec", (29.1, 48.2, 57.8), STANDARD),
    Elsewhere("Tsinghua", "DeepApp", (28.6, 59.3, 70.8), STANDARD),
    Elsewhere("Tsinghua", "CoSEM", (41.6, 66.8, 75.0), STANDARD),
    Elsewhere("Tsinghua", "NeuSA", (46.4, 65.6, 72.9), STANDARD),
    Elsewhere("Tsinghua", "MAPLE", (51.9, 73.9, 81.2), STANDARD),
    Elsewhere("Tsinghua", "Atten-Transformer (TGT)", (52.4, 72.4, 78.9), TGT),
    Elsewhere("LSApp", "AppUsage2Vec", (60.6, 78.6, 86.2), STANDARD),
    Elsewhere("LSApp", "CoSEM", (49.9, 74.7, 81.5), STANDARD),
    Elsewhere("LSApp", "NeuSA", (68.3, 82.5, 88.3), STANDARD),
    Elsewhere("LSApp", "MAPLE", (71.6, 86.5, 91.5), STANDARD),
    Elsewhere("LSApp", "Atten-Transformer (TGT)", (81.2, 94.9, 96.7), TGT),
    Elsewhere("a phone maker's", "CTR-RAD", (51.9, 81.8, 89.2), "ranks every installed app, re-opens included"),
    Elsewhere("a phone maker's", "CTR-RAD, unseen apps", (27.4, 72.1, 83.4), "the same, apps that training lacked"),
)
