"""Prediction by partial matching, as strong as the sequence of apps alone allows.

Notable:
- cues of one, two and three apps; each corrects the one an app shorter (PPM's escape), and counts fade
- under them, how often each app was used lately, at two rates
- all of these are experts in one log-domain mix whose weights are learned online, with a bias for the latest apps
- bounded memory and constant-time updates: see cues.py
"""

from __future__ import annotations

import numpy as np

from stap.events import Event, Floats
from stap.predictors.coded import NOBODY, Coded, shifted
from stap.predictors.cues import Cues
from stap.predictors.fading import Fading
from stap.predictors.mixer import PLACES, Mixer

ORDERS = 3
LEFT = 0.5 ** (1.0 / np.array([3.0, 200.0]))  # half-lives of the two frequencies, in usages
UNSEEN = 0.02  # of a usage, for every app
# Fitted on half of the UbiqLog users; the other half and other phones hardly tell neighbouring values apart.
WEIGHTS = {"fast": 0.22, "slow": 0.33, "order 1": 0.28, "order 2": 0.08, "order 3": 0.13}


class Ppm(Coded):
    """Experts from the sequence of apps, mixed. `weights` names them in their order and says where each starts."""

    weights = WEIGHTS
    bias_sets = 1

    def __init__(self) -> None:
        super().__init__()
        self._cues = Cues()
        self._frequency = Fading(len(LEFT))
        self._mixer = Mixer(np.array(list(self.weights.values())), self.bias_sets)
        self._past: tuple[int, ...] = ()
        self._latest: list[int] = []  # codes, latest first

    def _open(self, code: int, event: Event) -> None:
        if code < len(self.names):
            if len(self.names) > 1:
                self.probability()  # what is learned must not depend on whether anybody asked
                self._mixer.learn(code)
            self._latest.remove(code)
        self._latest.insert(0, code)
        for start in range(len(self._past)):
            self._cues.add(self._past[start:], code)
        self._frequency.add(code, LEFT)
        self._past = (*self._past, code)[-ORDERS:]

    def forget(self, app: str) -> None:
        """One that was opened: what is left is as if it had never been, and codes behind it move up.

        If it was the current one, the one before it is.
        """
        gone = self._codes[app]
        del self.names[gone]
        self._codes = {name: code for code, name in enumerate(self.names)}
        self._closed |= gone == self.current
        self._forget(gone)
        self.current = self._latest[0] if self._latest else NOBODY
        self._outdate()

    def _forget(self, code: int) -> None:
        self._returns.forget(code)
        self._cues.forget(code, lambda cue: slice(0, len(cue)))
        self._frequency.forget(code)
        self._latest = shifted(self._latest, code)
        self._past = tuple(shifted(self._past, code)) or tuple(self._latest[:1])

    def _predict(self) -> Floats:
        if len(self.names) == 1:
            return np.zeros(1)
        return self._mixer.predict(np.log(self._experts()), *self._mixed())

    def _mixed(self) -> tuple[list[int], int, list[int]]:
        """What the mixer needs besides experts: the latest apps, the current one, the sets of biases that hold."""
        return self._latest[1 : PLACES + 1], self.current, self._bias_sets()

    def _experts(self) -> Floats:
        """(experts, apps) shares, in the order of WEIGHTS."""
        share = np.empty((len(WEIGHTS), len(self.names)))
        rates = len(LEFT)
        frequency = share[:rates]
        np.add(self._frequency.counts(len(self.names)), UNSEEN, out=frequency)
        frequency /= frequency.sum(axis=1, keepdims=True)
        prior: Floats = frequency.sum(axis=0) / rates
        for order in range(1, ORDERS + 1):
            if order <= len(self._past):
                prior = self._cues.sharpen(prior, self._past[-order:])
            share[rates + order - 1] = prior
        return share

    def _bias_sets(self) -> list[int]:
        return [0]
