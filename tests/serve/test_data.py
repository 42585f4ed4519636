"""Logs that are handed over, what is taken away, and what is deleted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest
from starlette.testclient import TestClient

from serve.world import APPS, core_of, day, event, ranking, send, serving
from stap.demo.person import LOG
from stap.serve import imports, store
from stap.serve.core import Core, Settings


def followed(client: TestClient, response: Any) -> Any:
    assert response.status_code == 202, response.text
    while (told := client.get(f"/api/v1/users/me/imports/{response.json()['import']}").json())["state"] in (
        "reading",
        "learning",
    ):
        assert 0 <= told["share"] <= 1
        time.sleep(0.05)
    return told


def test_the_demo_person_is_imported_and_known(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        told = followed(client, client.post("/api/v1/users/me/demo"))
        assert told["state"] == "done"
        assert told["events"] > 1000
        assert client.get("/api/v1/users/me/ranking").json()["events"] == told["events"]
        again = followed(client, client.post("/api/v1/users/me/demo"))
        assert (again["state"], again["events"]) == ("done", 0)


def test_a_log_handed_over_is_read_as_stap_import_reads_it(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        named = {"X-File-Name": "my%20phone.csv"}
        told = followed(client, client.post("/api/v1/users/me/imports", content=LOG.read_bytes(), headers=named))
        assert told["state"] == "done"
        assert ranking(client)["events"] == told["events"]
        assert not list((tmp_path / "uploads").glob("*/*"))


def test_what_is_no_log_fails_with_the_name_that_it_was_given(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        named = {"X-File-Name": "holiday.txt"}
        told = followed(client, client.post("/api/v1/users/me/imports", content=b"no log at all\n" * 9, headers=named))
        assert told["state"] == "failed"
        assert "holiday.txt" in told["error"]["where"]
        assert str(tmp_path) not in json.dumps(told)


def test_an_export_holds_everything_and_can_be_sent_again(tmp_path: Path) -> None:
    with serving(tmp_path / "one") as client:
        send(client, day())
        client.put("/api/v1/users/me/apps/hidden", json={"app": "Mail", "hidden": True})
        lines = [json.loads(line) for line in client.get("/api/v1/users/me/export").text.splitlines()]
        wanted = ranking(client, k=9, without=["Mail"])
    assert lines[0]["user"] == "me"
    assert {"hidden": "Mail"} in lines
    events = [line for line in lines if "id" in line]
    assert sorted(events, key=str) == sorted(day(), key=str)
    with serving(tmp_path / "two") as client:
        send(client, events)
        assert ranking(client, k=9, without=["Mail"]) == wanted


def test_nothing_of_a_deleted_user_stays_on_the_disk(tmp_path: Path) -> None:
    secret = "Very Secret App"
    with serving(tmp_path) as client:
        send(client, [{**each, "app": secret} for each in day()])
        send(client, day(), "other")
        ranking(client)
        assert client.delete("/api/v1/users/me").status_code == 204
        assert client.get("/api/v1/users/me/ranking").status_code == 404
        assert ranking(client, "other")["events"] == 40
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"Mail" in kept
    assert secret.encode() not in kept


def test_everything_is_deleted(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for user in ("me", "other"):
            send(client, day(), user)
            ranking(client, user)
        assert client.delete("/api/v1/everything").status_code == 204
        assert client.get("/api/v1/users").json() == {"users": []}
    assert b"Mail" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("what", ["users/me", "everything"])
def test_an_import_brings_nothing_back_of_who_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(imports, "PART", 500)
    take, begun, go_on = Core.take, Event(), Event()

    def slowly(core: Core, *args: Any, **named: Any) -> Any:
        done = take(core, *args, **named)
        begun.set()
        assert go_on.wait(60)
        return done

    monkeypatch.setattr(Core, "take", slowly)
    with serving(tmp_path) as client:
        response = client.post("/api/v1/users/me/demo")
        assert begun.wait(60)
        Timer(0.2, go_on.set).start()  # the deletion waits for the part that is on its way
        assert client.delete(f"/api/v1/{what}").status_code == 204
        told = followed(client, response)
        assert told["state"] == "failed"
        assert "deleted meanwhile" in told["error"]["why"]
        assert client.get("/api/v1/users").json()["users"] == []


def test_hit_rates_by_day_stand_beside_again_and_blend(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        followed(client, client.post("/api/v1/users/me/demo"))
        client.get("/api/v1/users/me/statistics")
        core = core_of(client)
        if (counting := core.scores.count(core.user("me"), "me")) is not None:
            counting.result()
        told = client.get("/api/v1/users/me/statistics").json()
    assert 20 <= len(told["hits"]) <= 31
    for first, third in zip(told["hits"], told["hits3"], strict=True):
        assert first["day"] == third["day"]
        assert all(0 <= first[name] <= third[name] <= 1 for name in ("stap", "again", "blend"))
    overall = {name: sum(day["n"] * day[name] for day in told["hits"]) for name in ("stap", "again")}
    assert overall["stap"] > overall["again"]


def test_an_import_that_fails_half_way_is_answered_from_as_far_as_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"App{n // 20} {n % 2},2026-03-02 {n // 60:02}:{n % 60:02}:00\n" for n in range(600))
    monkeypatch.setattr(imports, "PART", 100)
    monkeypatch.setattr(store, "MOST_APPS", 20)
    with serving(tmp_path) as client:
        send(client, day())
        ranking(client)
        told = followed(client, client.post("/api/v1/users/me/imports", content=f"app,start\n{rows}".encode()))
        assert told["state"] == "failed"
        assert told["events"] > 0
        before = ranking(client, k=20)
    with serving(tmp_path) as client:
        assert ranking(client, k=20) == before


def test_everything_of_everybody_is_exported_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        send(client, day(), "ann")
        send(client, day(), "bob")
        alone = [client.get(f"/api/v1/users/{user}/export").text.splitlines()[1:] for user in ("ann", "bob")]
        together = [line for line in client.get("/api/v1/everything").text.splitlines() if "version" not in line]
    assert together == alone[0] + alone[1]
    assert len(together) == 80


def test_what_salvage_left_goes_with_everything(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        (tmp_path / f"{store.DAMAGED}0123").write_bytes(b"Mail")
        assert client.delete("/api/v1/everything").status_code == 204
    assert not list(tmp_path.glob("*damaged*"))


def test_an_upload_that_is_on_its_way_is_withdrawn_too(tmp_path: Path) -> None:
    core = Core(Settings(tmp_path))
    hands = imports.Imports(core)
    job, path = hands.place("me", "log.csv")
    hands.withdraw("me")
    path.write_text("app,start\nMail,2026-03-02 08:00:00\n")
    hands.begin(job, path, None)
    hands._reading.shutdown()
    assert hands.told("me", job.number)["state"] == "failed"
    assert core.store.people() == []
    core.close()


def test_words_of_a_refusal_are_those_of_who_hands_over(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        named = {"x-file-name": "catalog"}
        content = b"app,start\nMail,yesterday\n"
        told = followed(client, client.post("/api/v1/users/me/imports", content=content, headers=named))
    assert told["error"]["where"] == "catalog, row 2"
    assert told["error"]["remedy"].endswith("(of `stap import`: hand over the file that it writes)")


def test_what_was_exported_can_be_imported_again(tmp_path: Path) -> None:
    events = [event(99, "Mail", 59.5, "notified")]
    for number in range(20):  # another app each time: one that is back within a minute would be the same launch
        events.append(event(2 * number, APPS[number % 5], 3.0 * number))
        events.append(event(2 * number + 1, APPS[number % 5], 3.0 * number + 2, "closed"))
    with serving(tmp_path / "old") as client:
        send(client, events)
        exported = client.get("/api/v1/users/me/export").content
        wanted = ranking(client, k=5)
    with serving(tmp_path / "new") as client:
        headers = {"x-file-name": "stap-me.jsonl", "x-time-zone": "UTC"}
        told = followed(client, client.post("/api/v1/users/me/imports", content=exported, headers=headers))
        assert told["state"] == "done", told
        assert ranking(client, k=5)["ranking"] == wanted["ranking"]
