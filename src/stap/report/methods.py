"""How the figures of a report were made, for whoever reads it without the project."""

from __future__ import annotations

TERMS = (
    (
        "Task",
        "Given a person's app events so far, rank the apps that may be opened next. No app's name means anything.",
    ),
    (
        "Protocol launch",
        "Asked when somebody opens an app: which one? The app used last is among the candidates. Candidates are the "
        "apps that this person has opened before; a first-ever app is a miss.",
    ),
    (
        "Protocol stream",
        "One pass over a person's usages in the order of time, asked at each close which other app comes next. "
        "Neighbouring usages of one app are merged. Candidates as in launch.",
    ),
    (
        "Protocol paper",
        "As the paper scores: windows of L events, a fresh start at each, a prediction after every open and every "
        "close, candidates are all apps of the person's whole history. People with more than V apps are left out.",
    ),
    (
        "Metrics",
        "HR@k: how often the app that came is among the first k. MRR@k: the mean of 1 / its place, 0 beyond k. In "
        "percent, higher is better. Ties count against the predictor.",
    ),
    (
        "± and intervals",
        "± is one standard deviation over seeds, where a result has several. An interval of 95 % is a bootstrap over "
        "people: had other people been drawn, the figure would lie there.",
    ),
    (
        "Who is tested",
        "Nobody whom the model was trained on. Across data sets: trained on all people of one (8:2 for training and "
        "validation), tested on all of another. Within one: people split 7:1:2. Splits are by person, from the seed.",
    ),
    (
        "As published",
        "Figures marked so are others', taken from their publications. They are of other people and other logs: they "
        "stand beside ours, and are not to be compared digit by digit.",
    ),
)
