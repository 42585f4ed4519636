"""Events in, answers out, over HTTP and without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest

from serve.world import APPS, core_of, day, event, ranking, send, serving
from stap import Predictor
from stap.serve.life import Life
from stap.serve.models import EventIn
from stap.serve.store import Row


def test_events_sent_again_change_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        assert send(client, day()) == {"accepted": 40, "known": 0}
        before = ranking(client)
        assert send(client, day()) == {"accepted": 0, "known": 40}
        assert ranking(client) == before


def test_a_ranking_is_that_of_a_predictor_that_saw_the_same(tmp_path: Path) -> None:
    predictor = Predictor.load(user="me")
    for each in map(EventIn.model_validate, day()):
        (predictor.opened if each.kind == "opened" else predictor.closed)(each.app, each.at)
    at = EventIn.model_validate(event(0, "x", 10_000)).at
    with serving(tmp_path) as client:
        send(client, day())
        found = ranking(client, k=3)
    assert [(each["app"], each["probability"]) for each in found["ranking"]] == predictor.rank(3, at)
    assert found["events"] == 40
    everything = predictor.rank(100, at)
    assert sum(chance for _, chance in everything) + found["unseen"] == pytest.approx(1, abs=1e-5)


def test_events_in_any_order_make_the_same_session(tmp_path: Path) -> None:
    events, shuffled = day(), day()
    Random(1).shuffle(shuffled)
    with serving(tmp_path / "in order") as client:
        send(client, events)
        wanted = ranking(client, k=5)
    with serving(tmp_path / "shuffled") as client:
        for each in shuffled:
            send(client, [each])
            ranking(client)  # so that it is learned at once, and what comes late has to be put in its place
        assert ranking(client, k=5) == wanted
        assert client.get("/api/v1/users/me/statistics").json()["apps"][0]["usages"] > 1


def test_a_restart_changes_no_answer(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day())
        wanted, told = ranking(client), client.get("/api/v1/users/me/statistics").json()
    with serving(tmp_path) as client:
        assert ranking(client) == wanted
        assert client.get("/api/v1/users/me/statistics").json() == told


def test_only_these_apps_and_never_those(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day())
        assert {each["app"] for each in ranking(client, among=["Mail", "Chat"])["ranking"]} == {"Mail", "Chat"}
        assert "Mail" not in {each["app"] for each in ranking(client, without=["Mail"])["ranking"]}
        shown = [*APPS[::-1][:3]]
        assert set(ranking(client, steady=shown, k=3)["row"]) == {
            each["app"] for each in ranking(client, k=3)["ranking"]
        }


def test_a_hidden_app_is_not_shown_until_it_is_wanted_again(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day())
        best = ranking(client)["ranking"][0]["app"]
        for hidden in (True, False):
            assert client.put("/api/v1/users/me/apps/hidden", json={"app": best, "hidden": hidden}).status_code == 204
            assert (best not in {each["app"] for each in ranking(client)["ranking"]}) is hidden


def test_a_forgotten_app_leaves_the_store_and_every_answer(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day())
        assert client.post("/api/v1/users/me/apps/forget", json={"app": "Mail"}).status_code == 204
        everything = ranking(client, k=100), client.get("/api/v1/users/me/statistics").text
        assert "Mail" not in str(everything)
        assert "Mail" not in client.get("/api/v1/users/me/history").text


def test_an_app_that_is_being_forgotten_is_not_shown_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stap.serve.sessions.AT_ONCE", -1)  # nothing is made while a client waits
    begun, go_on, learn = Event(), Event(), Life.learn

    def slowly(life: Life, rows: Sequence[Row]) -> None:
        if rows:
            begun.set()
            assert go_on.wait(60)
        learn(life, rows)

    with serving(tmp_path) as client:
        send(client, day())
        core = core_of(client)
        core.sessions.anew(core.user("me"), "me").result()
        assert "Mail" in str(ranking(client)["ranking"])
        monkeypatch.setattr(Life, "learn", slowly)
        forgetting = Thread(target=core.forget, args=("me", "Mail"))
        forgetting.start()
        assert begun.wait(60)
        try:
            assert "Mail" not in str(ranking(client, k=100)["ranking"])
        finally:
            go_on.set()
            forgetting.join(60)
        send(client, [event(99, "Mail", 200)])
        core.sessions.anew(core.user("me"), "me").result()
        assert "Mail" in str(ranking(client)["ranking"]), "as an app that is new"


def test_history_pages_backwards_without_a_gap(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day(launches=25))
        found, before = [], None
        while True:
            params = {"limit": 4} | ({} if before is None else {"before": before})
            page = client.get("/api/v1/users/me/history", params=params).json()
            found += page["usages"]
            if not page["more"]:
                break
            before = found[-1]["start"]
    assert [usage["app"] for usage in found] == [each["app"] for each in day(launches=25)[::2]][::-1]


def test_an_event_that_has_not_come_yet_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        response = client.post("/api/v1/users/me/events", json={"events": [event(1, "Mail", 60 * 24 * 365 * 30)]})
        assert response.status_code == 400
        assert response.json()["error"]["where"] == "at"


def test_events_that_nobody_asks_about_are_learned_all_the_same(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day(launches=5))
        ranking(client)
        session = core_of(client).sessions._session(1, "me")
        for first in range(5, 1205, 150):
            send(client, day(first, 150))
            going = session.making
            if going is not None:
                going.result(30)
        assert session.life is not None
        assert session.life.habits.events + len(session.arrived) == 2410
        assert len(session.arrived) < 300
