"""Another model, while the server runs: the old one answers until the new one knows the history."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from serve.world import core_of, day, ranking, send, serving
from stap import Predictor
from stap.errors import BadInput
from stap.serve import adapting, answers, sessions
from stap.serve.adapting import Adapting
from stap.serve.core import Core, Settings
from stap.serve.imports import Imports
from stap.serve.models import EventIn, clock
from stap.weights import shipped


def test_a_replaced_model_learns_the_history_while_the_old_one_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "AT_ONCE", -1)  # nothing is made while a client waits
    model = tmp_path / "model.safetensors"
    shutil.copy(shipped(), model)
    core = Core(Settings(tmp_path / "data", model))
    core.take("me", [EventIn.model_validate(each) for each in day()]).result()
    user = core.user("me")
    core.sessions.anew(user, "me").result()
    at = clock(1_772_600_000_000_000, 0)
    old = answers.ranking(core, "me", 5, at)
    assert not core.reload(), "the same file"
    shutil.copy(shipped("pure"), model)
    assert core.reload()
    meanwhile = answers.ranking(core, "me", 5, at)
    core.sessions.anew(user, "me").result()
    new = answers.ranking(core, "me", 5, at)
    twin = Predictor.load("pure", user="me")
    for each in map(EventIn.model_validate, day()):
        (twin.opened if each.kind == "opened" else twin.closed)(each.app, each.at)
    core.close()
    assert [(each["app"], each["probability"]) for each in new["ranking"]] == twin.rank(5, at)
    assert meanwhile in (old, new)
    assert old["ranking"] != new["ranking"]


def test_an_adapted_model_is_one_person_s_and_one_can_go_back(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for name in ("me", "other"):
            send(client, day(), name)
        before = ranking(client)["ranking"], ranking(client, "other")["ranking"]
        core = core_of(client)
        user = core.user("me")
        shutil.copy(shipped("pure"), core.brains.draft(user))
        core.brains.adopt(user)
        core.sessions.anew(user, "me").result()
        assert ranking(client)["ranking"] != before[0]
        assert ranking(client, "other")["ranking"] == before[1]
        assert client.get("/api/v1/status").json()["adapted"] == {"users": 1, "tried": 0}
    with serving(tmp_path) as client:
        assert ranking(client)["ranking"] != before[0], "also after a restart"
        assert client.get("/api/v1/users/me/adaptation").json()["adapted"]
        assert client.delete("/api/v1/users/me/adaptation").status_code == 204
        assert client.delete("/api/v1/users/me/adaptation").status_code == 400
        assert ranking(client)["ranking"] == before[0]
        told = client.get("/api/v1/users/me/adaptation").json()
        assert (told["adapted"], told["declined"], told["before"]) == (False, True, None)


def test_who_went_back_is_not_tried_again_until_they_want_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "LEAST", 10)
    with serving(tmp_path) as client:
        send(client, day())
        core = core_of(client)
        adapts = Adapting(core, on=False)
        assert adapts._due() == "me"
        shutil.copy(shipped("pure"), core.brains.draft(core.user("me")))
        core.brains.adopt(core.user("me"))
        client.delete("/api/v1/users/me/adaptation")
        assert Adapting(core, on=False)._due() is None
        assert client.post("/api/v1/users/me/adaptation").status_code == 204
        assert Adapting(core, on=False)._due() == "me"
        client.delete("/api/v1/everything")
        assert (tmp_path / adapting.RECORD).read_text() == "{}"


def test_an_attempt_that_the_server_s_end_broke_off_was_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "COMMAND", (sys.executable, "-c", "import time; time.sleep(60)"))
    monkeypatch.setattr(adapting, "LEAST", 10)
    core = Core(Settings(tmp_path))
    core.take("me", [EventIn.model_validate(each) for each in day()]).result()
    adapts = Adapting(core, on=False)
    attempt = Thread(target=adapts.attempt, args=("me",))
    attempt.start()
    while adapts._process is None:
        sleep(0.01)
    adapts.close()
    attempt.join(30)
    assert Adapting(core, on=False)._due() == "me"
    assert adapts.told() is None
    core.close()


def test_a_model_that_cannot_be_read_leaves_the_old_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.safetensors"
    shutil.copy(shipped(), model)
    core = Core(Settings(tmp_path / "data", model))
    model.write_bytes(b"no model")
    assert not core.reload()
    said = capsys.readouterr().err
    assert str(model) in said.replace("\n", "")
    assert "stays" in said
    core.take("me", [EventIn.model_validate(each) for each in day()]).result()
    assert answers.ranking(core, "me", 5, None)["ranking"]
    core.close()


def test_a_server_adapts_where_it_can_unless_it_is_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for installed in (True, False):
        monkeypatch.setattr(adapting, "find_spec", lambda name, there=installed: object() if there else None)
        assert adapting.wanted(None) is installed
        assert not adapting.wanted(False)
    with pytest.raises(BadInput, match=r"--adapt: needs torch.*; pip install"):
        adapting.wanted(True)


@pytest.mark.slow
def test_an_attempt_is_kept_only_where_it_proves_better(tmp_path: Path) -> None:
    core = Core(Settings(tmp_path))
    imports = Imports(core)
    number = imports.demo("me")
    imports._reading.shutdown(wait=True)
    assert imports.told("me", number)["state"] == "done"
    adapts = Adapting(core, on=False)
    found = adapts.attempt("me")
    assert found["positions"] > 100
    assert found["helps"] == (core.user("me") in core.brains.adapted)
    assert adapts.told() == {"users": len(core.brains.adapted), "tried": 1}
    told = adapts.told_of("me")
    assert (told["adapted"], told["tried"]) == (found["helps"], True)
    if found["helps"]:
        assert 0 < told["before"] <= told["after"] <= 100
        assert told["tail"] > 100
    assert answers.ranking(core, "me", 5)["events"] > 1000
    assert not core.brains.draft(core.user("me")).exists()
    imports.close()
    core.close()
