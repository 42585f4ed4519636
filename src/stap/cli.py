"""The command line: parses, calls, prints. Errors a person can cause end in one line and exit code 2."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from stap import __version__, evaluate, registry, show, sources, terminal, usage
from stap.demo.person import LOG as DEMO_LOG
from stap.demo.replay import moments
from stap.describe import comparison, counts
from stap.describe.figure import draw_comparison
from stap.errors import BadInput, extra
from stap.events import Corpus, merged
from stap.files import replacing
from stap.predictors import CLASSICAL
from stap.predictors.base import ForeseesUnseen
from stap.train import presets
from stap.train.people import hold_out
from stap.train.presets import WITHOUT
from stap.weights import shipped
from stap.windows import CONTEXT

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Rank the apps a person will open next, without knowing what any app is. Start with: stap demo",
)

Logs = Annotated[list[str], typer.Argument(metavar="LOG...", help="Any log that `import` reads; - is standard input.")]
Format = Annotated[str | None, typer.Option("--format", help=f"Do not guess the format: {', '.join(sources.FORMATS)}.")]
Zone = Annotated[str | None, typer.Option("--zone", help="Time zone of a log kept in UTC, e.g. Europe/Berlin.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad-rows", help="Leave bad rows out, count them, go on.")]
KeepSystem = Annotated[bool, typer.Option("--keep-system", help="Keep launchers and system UI.")]
Users = Annotated[str | None, typer.Option("--users", help="Only these users, comma-separated.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures here as JSON.")]
View = Annotated[
    list[str] | None,
    typer.Option("--view", metavar="LOG", help="The same users as another logger saw them (`import --in-front`)."),
]
Always = Annotated[str, typer.Option(metavar="USERS", help="Who trains in every fold, comma-separated.")]
Ranker = Annotated[Path | None, typer.Option("--ranker", metavar="FILE", help="The trees that `gbdt` predicts with.")]
Names = Annotated[str, typer.Option("--predictors", help=f"Comma-separated, from {', '.join(CLASSICAL)}, stap, gbdt.")]
Model = Annotated[
    Path | None,
    typer.Option("--model", metavar="FILE", help="What `stap` predicts with, instead of the shipped model."),
]

ALL = ",".join(registry.USUAL)
BENCHES = {
    "import": "imports",
    "windows": "windows",
    "stream": "stream",
    "training": "training",
    "muon": "muon",
    "latency": "latency",
    "shipped": "shipped",
    "people": "people",
    "loggers": "loggers",
}
WITH_OPTIONS = ("people", "loggers")


def _read(paths: list[str], users: str | None, options: sources.Options) -> sources.Imported:
    """Read, and tell the person what they should know about it."""
    read = sources.read(paths, options)
    if users is not None:
        table = usage.only_users(read.table, users.split(","), ", ".join(paths))
        posted = read.notifications.join(table.select("user").unique(), on="user", how="semi", maintain_order="left")
        read = replace(read, table=table, notifications=posted)
    skipped = (f"skipped {read.skipped:,} bad {'row' if read.skipped == 1 else 'rows'}",) if read.skipped else ()
    for note in (*read.notes, *skipped):
        terminal.note(f"note: {note}")
    return read


def _view(logs: list[str] | None, people: Corpus, options: sources.Options) -> Corpus | None:
    """The same users as another logger saw them."""
    if not logs:
        return None
    seen = merged(_read(logs, None, options).table)
    if not set(seen.users) & set(people.users):
        raise BadInput(
            "--view", f"none of its users, e.g. {seen.users[0]!r}, is in --data", "give another log of the same users"
        )
    return seen


def _write_json(figures: dict[str, Any], path: Path | None) -> None:
    if path is not None:
        with replacing(path) as draft:
            draft.write_text(json.dumps(figures, indent=1) + "\n")
        terminal.note(f"wrote {path}")


@app.command("import")
def import_(
    logs: Logs,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Usage table: .parquet or .csv.")],
    format: Format = None,
    zone: Zone = None,
    skip_bad_rows: SkipBad = False,
    keep_system: KeepSystem = False,
    in_front: Annotated[
        bool, typer.Option("--in-front", help="Where records overlap, an app still open comes back to the front.")
    ] = False,
    as_user: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="All these logs are one person's, called NAME.")
    ] = None,
    same_users: Annotated[
        bool, typer.Option("--same-users", help="A user's name is the same person in all these logs.")
    ] = False,
    merge_gap: Annotated[
        str, typer.Option(metavar="SECONDS|all", help="An app away for longer is a new launch; all: never (the paper).")
    ] = f"{usage.GAP:g}",
    users: Users = None,
) -> None:
    """Turn any supported log into a usage table.

    Example: `adb shell dumpsys usagestats | stap import - -o my.parquet`,
    `stap import may.csv june.csv --as me -o me.parquet`
    """
    gap = sources.parse_gap(merge_gap)
    options = sources.Options(format, zone, skip_bad_rows, keep_system, in_front, as_user, same_users, gap)
    read = _read(logs, users, options)
    usage.save(read.table, out, read.notifications)
    what = "usages" if gap is None else "launches"
    posted = f" and {len(read.notifications):,} notifications" if len(read.notifications) else ""
    people = read.table["user"].n_unique()
    terminal.out.print(
        f"{read.format}: {read.records:,} records, {read.dropped:,} of launchers and system UI dropped, "
        f"{len(read.table):,} {what}{posted} of {people:,} {'user' if people == 1 else 'users'} -> {out}",
        soft_wrap=True,
        markup=False,
    )


@app.command("describe")
def describe_(
    logs: Logs,
    figure: Annotated[Path, typer.Option("--figure", metavar="PNG", help="Where the figure goes.")] = Path(
        "distributions.png"
    ),
    format: Format = None,
    zone: Zone = None,
    skip_bad_rows: SkipBad = False,
    keep_system: KeepSystem = False,
    users: Users = None,
    prior: Annotated[
        int | None,
        typer.Option("--prior", metavar="N", min=20, help="Put N synthetic people beside all logs together."),
    ] = None,
    json: Json = None,
) -> None:
    """Count what is in each log and draw its distributions (distinct apps and events per user).

    With --prior the figure and a table show what sets people apart, for the logs' people and for synthetic ones.

    Example: `stap describe my.parquet --figure my.png`
    """
    options = sources.Options(format, zone, skip_bad_rows, keep_system)
    corpora = {log: merged(_read([log], users, options).table) for log in logs}
    figures: dict[str, Any] = {log: counts.counts(corpus) for log, corpus in corpora.items()}
    for log, counted in figures.items():
        terminal.out.print(f"[bold]{log}[/]", show.description(counted))
    if prior is None:
        counts.draw_distributions(corpora, figure)
    else:
        people = comparison.pool(corpora)
        with terminal.progress("comparing", comparison.work(people, prior)) as tick:
            compared = comparison.compare(people, prior, tick)
        figures["prior"] = compared.summary()
        terminal.out.print(show.comparison(figures["prior"]))
        draw_comparison(compared, figure)
    terminal.say(f"wrote {figure}")
    _write_json(figures, json)


@app.command("evaluate")
def evaluate_(
    logs: Logs,
    predictors: Names = ALL,
    model: Model = None,
    ranker: Ranker = None,
    protocol: Annotated[Literal["stream", "paper"], typer.Option(help="See docs/protocol.md.")] = "stream",
    context: Annotated[int, typer.Option(min=2, help="Window length in events (paper protocol).")] = CONTEXT,
    by_user: Annotated[bool, typer.Option("--by-user", help="Print HR@1 of every user too.")] = False,
    format: Format = None,
    zone: Zone = None,
    skip_bad_rows: SkipBad = False,
    keep_system: KeepSystem = False,
    users: Users = None,
    json: Json = None,
) -> None:
    """Score predictors on a log: HR@k and MRR@k, in percent, people apart and pooled.

    Example: `stap evaluate my.parquet --predictors previous,ppm,blend --json scores.json`
    """
    names = predictors.split(",")
    makers = {name: registry.maker(name, model, ranker, protocol) for name in names}
    corpus = merged(_read(logs, users, sources.Options(format, zone, skip_bad_rows, keep_system)).table)
    with terminal.progress("evaluating", len(makers) * len(corpus.app)) as tick:
        result = evaluate.run(corpus, makers, protocol, context, tick)
    terminal.out.print(show.evaluation(result))
    if by_user:
        terminal.out.print(show.per_user(result))
    _write_json(result, json)


@app.command()
def predict(
    logs: Logs,
    user: Annotated[str | None, typer.Option("--user", help="Whose next app; needed when the log has several.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=200, help="How many apps.")] = 5,
    predictor: Annotated[str, typer.Option("--predictor", help=f"One of {', '.join(CLASSICAL)}, stap.")] = "stap",
    model: Model = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    format: Format = None,
    zone: Zone = None,
    skip_bad_rows: SkipBad = False,
    keep_system: KeepSystem = False,
) -> None:
    """Rank the apps that come next, after the log's last event; and say how likely it is one never seen before.

    Example: `stap predict my.parquet -k 3`
    """
    ranker = registry.maker(predictor, model)()
    table = _read(logs, user, sources.Options(format, zone, skip_bad_rows, keep_system)).table
    if table["user"].n_unique() > 1:
        people = ", ".join(table["user"].unique().sort()[:5])
        raise BadInput(", ".join(logs), "several users in it", f"choose one with --user ({people}, ...)")
    ranked = evaluate.rank_now(merged(table), ranker, k)
    unseen = ranker.unseen() if isinstance(ranker, ForeseesUnseen) else None
    if json:
        best = [{"app": name, "probability": probability} for name, probability in ranked]
        terminal.out.print_json(data={"ranking": best, "unseen": unseen})
    else:
        terminal.out.print(show.ranking(ranked, unseen=unseen))


@app.command("train")
def train_(
    data: Annotated[list[str], typer.Option("--data", metavar="LOG", help="A log to train on; may be repeated.")],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="The run's folder.")],
    preset: Annotated[
        Literal["shipped", "paper", "small", "tiny"] | None,
        typer.Option(
            help="Where the settings come from (small). `shipped`: the model that ships; `paper`: the paper's; "
            "`small`: the paper's idea on two cores; `tiny`: for tests, takes seconds and learns nothing worth using."
        ),
    ] = None,
    without: Annotated[str | None, typer.Option(metavar="PART", help=f"Leave one out: {', '.join(WITHOUT)}.")] = None,
    config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML that changes settings.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out; its own config.toml counts.")
    ] = False,
    start_or_resume: Annotated[
        bool, typer.Option("--start-or-resume", help="Go on if there is a run, begin one if not: for clusters.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Of split, weights, people, order and phi.")] = None,
    fold: Annotated[str | None, typer.Option(metavar="K/N", help="Hold out the K-th of N parts of the users.")] = None,
    split: Annotated[
        str | None, typer.Option(metavar="A:B[:C]", help="Training : validation : testing, by user, e.g. 7:1:2.")
    ] = None,
    always: Annotated[
        list[str] | None, typer.Option(metavar="USERS", help="Who trains in every fold, comma-separated.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data (not of `shipped`).")] = None,
    view: View = None,
    format: Format = None,
    zone: Zone = None,
    skip_bad_rows: SkipBad = False,
    keep_system: KeepSystem = False,
    users: Users = None,
) -> None:
    """Train a model on people's logs into a run folder; needs `pip install 'stap[train]'`.

    Example: `stap train --data phones.parquet --out runs/a --preset small`
    """
    run = extra("stap.train.run")
    options = sources.Options(format, zone, skip_bad_rows, keep_system)
    people = merged(_read(data, users, options).table)
    given: dict[str, Any] = {"seed": seed, "fold": fold, "epochs": epochs, "split": presets.parse_split(split)}
    given["always"] = [name for names in always for name in names.split(",")] if always else None
    begin = "either" if start_or_resume else "resume" if resume else "new"
    settings = presets.settle(out, begin, preset, config, without, given)
    run.train(people, settings, out, ", ".join(data), begin, _view(view, people, options))


@app.command("rival")
def rival_(
    data: Annotated[list[str], typer.Option("--data", metavar="LOG", help="A log to train on; may be repeated.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The trees, as LightGBM's text.")],
    fold: Annotated[str, typer.Option(metavar="K/N", help="Hold out the K-th of N parts of the users.")] = "",
    always: Always = "",
    view: View = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds, the positions and the trees.")] = 0,
    format: Format = None,
    zone: Zone = None,
    skip_bad_rows: SkipBad = False,
    keep_system: KeepSystem = False,
    users: Users = None,
) -> None:
    """Train `gbdt`, boosted trees on the same evidence as the model; needs `pip install 'stap[train]'`.

    Example: `stap rival --data phones.parquet --fold 1/5 --out gbdt.txt`, then
    `stap evaluate others.parquet --predictors blend,gbdt --ranker gbdt.txt`
    """
    rival = extra("stap.train.rival")
    options = sources.Options(format, zone, skip_bad_rows, keep_system)
    people = merged(_read(data, users, options).table)
    training, _ = hold_out(people, fold, seed, [name for name in always.split(",") if name])
    seen = _view(view, people, options)
    with terminal.progress("growing trees", rival.TREES) as tick:
        rival.train(training, out, seed, tick=tick, view=seen)
    terminal.say(f"wrote {out}, trained on {len(training.users):,} users")


@app.command("adapt")
def adapt_(
    log: Annotated[list[str], typer.Argument(metavar="LOG...", help="One person's log, any that `import` reads.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The adapted model.")],
    user: Annotated[str | None, typer.Option(help="Whose, where the log has several users.")] = None,
    model: Model = None,
    format: Format = None,
    zone: Zone = None,
    skip_bad_rows: SkipBad = False,
    keep_system: KeepSystem = False,
) -> None:
    """Fine-tune the shipped model to one person, here and privately; needs `pip install 'stap[train]'`.

    The last 30 % of the log are held back. Only where the adapted model is better on them is it written.

    Example: `stap adapt my-phone.csv -o my.safetensors`, then `stap predict my-phone.csv --model my.safetensors`
    """
    adapt = extra("stap.train.adapt")
    table = _read(log, user, sources.Options(format, zone, skip_bad_rows, keep_system)).table
    corpus = merged(table)
    with terminal.progress("learning", adapt.STEPS) as advance:
        proof = adapt.adapt(model or shipped(), corpus, out, ", ".join(log), advance)
    show.proof(proof)
    if not proof.helps:
        raise BadInput(", ".join(log), "the adapted model is not surely better on its tail", "keep the shipped one")
    terminal.note(f"wrote {out}")


@app.command("export")
def export_(
    source: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run's folder (its best model) or a model file.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Where it goes.")],
    dtype: Annotated[Literal["fp32", "fp16", "int8"], typer.Option(help="Of the large matrices.")] = "fp32",
    format: Annotated[
        Literal["safetensors", "onnx"], typer.Option(help="onnx has the cache as inputs and outputs.")
    ] = ("safetensors"),
) -> None:
    """Write a model as a smaller file for the engine, or as ONNX.

    Example: `stap export runs/a -o model.safetensors --dtype int8`
    """
    extra("stap.model.export").export(source, out, dtype, format)
    terminal.say(f"wrote {out}, {out.stat().st_size / 1e6:.1f} MB")


@app.command()
def demo(
    seconds: Annotated[float, typer.Option(help="How long the replay may take on a screen.", min=0)] = 8.0,
    model: Model = None,
) -> None:
    """Replay four weeks of an invented person's phone: live top 5, then a table of all predictors.

    Example: `stap demo --seconds 3`
    """
    corpus = merged(sources.read([DEMO_LOG]).table)
    makers = {name: registry.maker(name, model) for name in ALL.split(",")}
    played = list(moments(corpus, 0, makers["stap"]()))
    terminal.out.print(
        f"Four weeks of a phone, {len(corpus.app):,} usages of {len(corpus.apps[0])} apps; `stap` predicts."
    )
    show.replay(played, seconds)
    with terminal.progress("evaluating", len(makers) * len(corpus.app)) as tick:
        result = evaluate.run(corpus, makers, "stream", CONTEXT, tick)
    terminal.out.print(show.evaluation(result))
    terminal.out.print("Your own log: [bold]stap evaluate FILE[/] (docs: README.md)")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(BENCHES)}.")],
    json: Json = None,
) -> None:
    """Measure speed, memory or accuracy beside a peer, in the same run. `people` and `loggers` take more options.

    Example: `stap bench import --json import.json`,
    `stap bench people --data phones.parquet --runs runs/fold1 runs/fold2`,
    `stap bench people --zero-shot others.parquet --model model.safetensors --ranker gbdt.txt`,
    `stap bench loggers others.parquet`
    """
    if name not in BENCHES:
        raise BadInput("stap bench", f"no benchmark {name!r}", f"choose one of {', '.join(BENCHES)}")
    if context.args and name not in WITH_OPTIONS:
        raise BadInput("stap bench", f"{name} takes no {context.args[0]}", "leave it out")
    module = import_module(f"stap.{'studies' if name in WITH_OPTIONS else 'bench'}.{BENCHES[name]}")
    figures: dict[str, Any] = module.run(context.args) if name in WITH_OPTIONS else module.run()
    _write_json(figures, json)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        terminal.out.print(f"stap {__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point: one clear line for what a person can mend, nothing else."""
    try:
        app()
    except BadInput as error:
        terminal.note(f"stap: {error}")
        sys.exit(2)
    except BrokenPipeError:  # `stap ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
