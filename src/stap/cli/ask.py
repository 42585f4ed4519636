"""`stap predict`, `stap evaluate`, `stap demo`: what comes next, and who knows it best."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from stap import __version__, evaluate, fleet, registry, sources, terminal, usage
from stap.cli import charts, tables
from stap.cli.options import (
    Cluster,
    Jobs,
    Json,
    Logs,
    Model,
    Name,
    Names,
    NoNotifications,
    Ranker,
    Reader,
    reads_logs,
    say_heard,
    write_json,
)
from stap.demo.person import LOG as DEMO_LOG
from stap.demo.replay import frames
from stap.describe.person import day
from stap.errors import BadInput
from stap.events import WHENEVER, Moment, clock, from_table, moment
from stap.files import named
from stap.jobs import Hands
from stap.predictors.base import ForeseesUnseen, SaysWhy, TakesNotices, fresh
from stap.studies.people import tested
from stap.weights import model_file
from stap.why import Reason, sentence
from stap.windows import VOCABULARY

REPLAYED = 50_000  # launches: a life of them would take minutes, and what was years ago says little


@reads_logs
def evaluate_(
    logs: Logs,
    read: Reader,
    predictors: Names = None,
    model: Model = None,
    ranker: Ranker = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Score a training run: its model, on the people kept for testing."),
    ] = None,
    protocol: Annotated[
        Literal["launch", "stream", "paper"],
        typer.Option(
            help="launch: asked when each app is opened, the one used last may come again; stream: asked at each close "
            "which other app comes next; paper: the same in windows, to stand beside published figures."
        ),
    ] = "launch",
    context: Annotated[
        int | None,
        typer.Option(min=2, max=2**31 - 1, help="Events in a window of the paper protocol, if not the model's own L."),
    ] = None,
    longer_context: Annotated[
        bool, typer.Option("--longer-context", help="Let it be longer than the model was trained for.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="What phi is drawn from, with the user.")] = 0,
    no_notifications: NoNotifications = False,
    by_user: Annotated[bool, typer.Option("--by-user", help="Print HR@1 of every user too.")] = False,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    json: Json = None,
) -> None:
    """Score predictors on a log: how often the app that was opened is among their first 1, 3 or 5 (HR@k, in percent).

    Each meets every person's history once, in the order of time, and has to answer before it is told. docs/protocol.md
    says what is asked, when, and what else `--json` has. A usage table (`stap import -o FILE.parquet`) is read some
    people at a time, so a whole fleet needs no more memory than they do.

    Example: `stap evaluate my.parquet --predictors previous,ppm,blend --json scores.json`,
    `stap evaluate my.parquet --predictors my_module:MyPredictor,markov`, `stap evaluate fleet.parquet --jobs 8`
    """
    names = predictors.split(",") if predictors else registry.USUAL[protocol]
    if run is not None:
        if model is not None or read.users:
            raise BadInput("--run", "given beside --model or --users", "a run has a model and people of its own")
        model, read = run, replace(read, users=tested(run))
    if context is not None and protocol != "paper":
        raise BadInput("--context", "only the paper protocol has windows", "add --protocol paper, or leave it out")
    question = fleet.Question(tuple(names), protocol, model, ranker, seed, not no_notifications)
    with terminal.progress("loading"):
        terms = evaluate.Terms.of(question.makers().values(), context, longer_context)
    if protocol == "paper":
        whose = "as asked" if context else "the model's own L" if "stap" in names else "the paper's L"
        terminal.note(f"note: windows of {terms.context} events, {whose}")
    shards = read.shards(logs, protocol == "launch")
    with terminal.progress("evaluating", len(names) * sum(shard.usages for shard in shards)) as tick:
        scored, heard = fleet.evaluate(shards, replace(question, terms=terms), Hands(jobs, cluster), tick)
        say_heard(*heard)
        if scored.left_out:
            people = f"{len(scored.left_out):,} of {scored.users:,} users"
            terminal.note(f"note: {people} left out: they have more than V = {terms.vocabulary} apps")
        result = scored.result(protocol, terms)
    table = tables.evaluation(result)
    terminal.out.print(table)
    for note in tables.outside(result):
        terminal.note(note)
    if by_user:
        terminal.out.print("", tables.by_user(result))
    files = {
        "model": named(model_file(model)) if "stap" in names else None,
        "rivals": {name: named(path) for name, path in registry.rivals(names, model).items()},
        "ranker": named(ranker) if ranker and "gbdt" in names else None,
    }
    whence = {"version": __version__, "logs": logs, "users": read.users, **files, "seed": seed}
    write_json(whence | result, json, "evaluate", table)


@reads_logs
def predict(
    logs: Logs,
    read: Reader,
    k: Annotated[int, typer.Option("-k", min=1, max=VOCABULARY, help="How many apps.")] = 5,
    predictor: Name = "stap",
    model: Model = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='When somebody looks at the screen, e.g. "2025-03-03 08:00"; else whenever.'),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Say under each app what speaks for it.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank the apps that are opened next, the one used last included; and how likely it is one never seen before.

    Without `--at` nobody knows when that will be, and the log's last event is all there is to go by.

    Example: `stap predict my.parquet -k 3 --at "2025-03-03 08:00"`
    """
    maker, asked_at = registry.maker(predictor, model), _moment(at)
    everything, posted = read.with_notices(logs)
    if len(everything.users) > 1:
        choose = f"choose one with --user ({usage.some(everything.users)})"
        raise BadInput(", ".join(logs), "several users in it", choose)
    corpus = everything.last(REPLAYED)
    if len(corpus.app) < len(everything.app):
        terminal.note(f"note: the last {REPLAYED:,} of {len(everything.app):,} launches were replayed")
    closed, ended = corpus.apps[0][corpus.app[-1]], clock(corpus.end[-1])
    if asked_at.minutes < corpus.end[-1]:
        raise BadInput(f"--at {at}", f"the log goes on until {ended}", "give a later time")
    asked = fresh(maker, corpus.users[0])
    if why and not isinstance(asked, SaysWhy):
        raise BadInput("--why", f"{predictor} gives no reasons", "leave out --why, or --predictor")
    given = posted.get(corpus.users[0], []) if isinstance(asked, TakesNotices) else []
    with terminal.progress("replaying", len(corpus.app)) as tick:
        ranked = evaluate.rank_now(corpus, asked, k, asked_at, tick, given)
    reasons = [asked.why(app, asked_at) for app, _ in ranked] if why and isinstance(asked, SaysWhy) else None
    unseen = asked.unseen(asked_at) if isinstance(asked, ForeseesUnseen) else None
    when = None if asked_at.whenever else clock(asked_at.minutes)
    if json:
        answer = {
            "after": {"app": closed, "action": "close", "time": ended.isoformat()},
            "at": when and when.isoformat(),
            "replayed": len(corpus.app),
            "notifications": len(given),
            "ranking": [
                {"app": name, "probability": probability} | ({"why": _listed(reasons[place])} if reasons else {})
                for place, (name, probability) in enumerate(ranked)
            ],
            "unseen": unseen,
        }
        terminal.out.print_json(data=answer, ensure_ascii=True)
    else:
        shown = f"{_shown(when)}, after" if when else "after"
        terminal.say(f"{shown} closing {closed}, {_shown(ended)}:")
        said = None if reasons is None else [sentence(each) for each in reasons]
        terminal.out.print(charts.explained(ranked, said, unseen) if said else charts.ranking(ranked, unseen=unseen))


def _listed(reasons: list[Reason]) -> list[dict[str, Any]]:
    return [asdict(reason) | {"sentence": reason.sentence} for reason in reasons]


def _moment(at: str | None) -> Moment:
    """What --at says, on the person's wall clock."""
    if at is None:
        return WHENEVER
    remedy = 'give one like "2025-03-03 08:00"'
    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        raise BadInput(f"--at {at}", "no time", remedy) from None
    if when.tzinfo is not None:
        raise BadInput(f"--at {at}", "a time with a zone, and a log shows its person's wall clock", remedy)
    return moment(when)


def _shown(when: datetime) -> str:
    return f"{day(when)} {when:%Y %H:%M}"


def demo(
    seconds: Annotated[float, typer.Option(help="How long the replay may take on a screen.", min=0)] = 8.0,
    model: Model = None,
) -> None:
    """Replay four weeks of an invented person's phone: live top 5, then a table of all predictors.

    Example: `stap demo --seconds 3`
    """
    corpus = from_table(sources.read([DEMO_LOG]).table)
    makers = {name: registry.maker(name, model) for name in registry.USUAL["launch"]}
    with terminal.progress("replaying", len(corpus.app)) as tick:
        played = list(frames(corpus, 0, fresh(makers["stap"], corpus.users[0]), tick=tick))
    terminal.out.print(
        f"Four weeks of a phone, {len(corpus.app):,} launches of {len(corpus.apps[0])} apps; `stap` predicts."
    )
    charts.replay(played, seconds)
    with terminal.progress("evaluating", len(makers) * len(corpus.app)) as tick:
        result = evaluate.run(corpus, makers, "launch", evaluate.Terms(), tick)
    terminal.out.print(tables.evaluation(result))
    terminal.out.print("Your own log: [bold]stap evaluate FILE[/] (docs: README.md)")
