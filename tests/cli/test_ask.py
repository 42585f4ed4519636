"""What comes next, and who knows it best."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from cli.made import ROW, call, stap, started, write
from stap import __version__, registry
from stap.demo.person import LOG
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer
from stap.usage import notifications_of


def test_evaluate_prints_a_table_and_writes_the_json(log: Path, tmp_path: Path) -> None:
    """Mail Chat Mail: two launches asked about; Chat was never seen before (a miss), Mail was (`previous` hits)."""
    scores = tmp_path / "scores.json"
    done = stap("evaluate", log, "--predictors", "mru,previous", "--json", scores)
    assert done.returncode == 0, done.stderr
    assert "previous" in done.stdout
    said = " ".join(done.stdout.split())
    assert "HR@1 of the 1 launches more than a minute after the last close; at once: of the 1 others" in said
    assert "This log cannot tell which launches came from a home screen" in said
    result = json.loads(scores.read_text())
    assert result["protocol"] == "launch"
    assert result["predictors"]["previous"]["pooled"] == {
        "n": 2, "HR@1": 50.0, "HR@3": 50.0, "HR@5": 50.0, "MRR@3": 50.0, "MRR@5": 50.0
    }  # fmt: skip
    assert result["predictors"]["mru"]["users"]["u"]["HR@1"] == 0.0, "Mail comes second, after Chat"
    assert result["predictors"]["mru"]["pause"]["MRR@3"] == 50.0


def test_launches_are_asked_when_they_come(tmp_path: Path) -> None:
    """Mail, Mail after an hour, Chat at once, Mail an hour later: `again` is right the first time, second the last."""
    path, scores = tmp_path / "log.csv", tmp_path / "scores.json"
    rows = [("Mail", 8, 0), ("Mail", 9, 0), ("Chat", 9, 2), ("Mail", 10, 0)]
    lines = [
        f"u,{app},2024-05-01 {hour:02}:{minute:02}:00,2024-05-01 {hour:02}:{minute + 1:02}:30"
        for app, hour, minute in rows
    ]
    path.write_text("user,app,start,end\n" + "\n".join(lines) + "\n")
    done = stap("evaluate", path, "--predictors", "again,mru,blend", "--json", scores)
    assert done.returncode == 0, done.stderr
    entry = json.loads(scores.read_text())["predictors"]["again"]
    assert [entry[part]["n"] for part in ("pooled", "pause", "at_once", "foreseen")] == [3, 2, 1, 3]
    assert entry["pause"] == {"n": 2, "HR@1": 50.0, "HR@3": 100.0, "HR@5": 100.0, "MRR@3": 75.0, "MRR@5": 75.0}
    assert entry["at_once"]["HR@5"] == 0.0, "Chat was never seen before"
    assert (entry["home"], entry["resumed"]) == (None, None), "the log cannot tell"


def test_notifications_beside_a_table_are_given_unless_they_are_left_out(tmp_path: Path) -> None:
    """Also when its log is asked what comes next. `again` cannot take any."""
    rows = [(app, start) for start, app in enumerate(["Mail", "Chat", "Maps"] * 6)]
    lines = [f"u,{app},2024-05-01 08:{2 * n:02}:00,2024-05-01 08:{2 * n:02}:30" for app, n in rows]
    log, scores = tmp_path / "log.csv", tmp_path / "scores.json"
    log.write_text("user,app,start,end\n" + "\n".join(lines) + "\n")
    posted = [f"u,{app},2024-05-01 08:{2 * n - 1:02}:00" for app, n in rows[1:]]
    notifications_of(log).write_text("user,app,time\n" + "\n".join(posted) + "\n")
    given = []
    for option in ([], ["--no-notifications"]):
        asked = call("evaluate", log, "--protocol", "launch", "--predictors", "again,stap", "--json", scores, *option)
        assert asked.exit_code == 0
        entries = json.loads(scores.read_text())["predictors"]
        given.append([entries[name]["notifications"] for name in ("again", "stap")])
    assert given == [[0, 17], [0, 0]]
    assert json.loads(call("predict", log, "--json").stdout)["notifications"] == 17
    assert json.loads(call("predict", log, "--json", "--predictor", "ppm").stdout)["notifications"] == 0


def test_predict(log: Path) -> None:
    done = stap("predict", log, "-k", "2", "--predictor", "previous", "--json")
    assert [row["app"] for row in json.loads(done.stdout)["ranking"]] == ["Chat"]
    assert json.loads(done.stdout)["unseen"] is None, "a classical predictor knows nothing of unseen apps"


def test_predict_with_the_shipped_model(log: Path) -> None:
    """After Mail Chat Mail both may come, Mail again; the rest is for an app never seen before."""
    answer = json.loads(stap("predict", log, "--json").stdout)
    assert {row["app"] for row in answer["ranking"]} == {"Chat", "Mail"}
    assert sum(row["probability"] for row in answer["ranking"]) + answer["unseen"] == pytest.approx(1.0, abs=1e-5)
    shown = stap("predict", log).stdout
    assert f"1. {answer['ranking'][0]['app']}" in shown
    assert f"{100 * answer['unseen']:.1f} %" in next(line for line in shown.splitlines() if "never seen before" in line)


def test_a_model_of_ones_own_replaces_the_shipped_one(log: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.safetensors"
    config = ModelConfig(vocabulary=20, context=16, dim=16, layers=1, heads=2, hidden=8)
    weights.save(Transformer(config), own)
    answer = json.loads(stap("predict", log, "--json", "--model", own).stdout)
    assert answer["unseen"] == 0, "a pure model"
    assert {row["app"] for row in answer["ranking"]} == {"Mail", "Chat"}
    for command in ("demo", "evaluate"):
        done = stap(command, *([log] if command == "evaluate" else []), "--model", tmp_path / "none")
        assert done.returncode == 2
        assert "No such file" in done.stderr


@pytest.mark.parametrize("protocol", ["stream", "paper"])
def test_evaluate_has_the_shipped_model_beside_the_classical_ones(protocol: str, tmp_path: Path) -> None:
    scores, some = tmp_path / "scores.json", tmp_path / "some.csv"
    some.write_text("".join(LOG.read_text().splitlines(keepends=True)[:301]))
    window = ("--context", "128") if protocol == "paper" else ()
    done = stap("evaluate", some, "--protocol", protocol, *window, "--json", scores)
    assert done.returncode == 0, done.stderr
    entries = json.loads(scores.read_text())["predictors"]
    assert list(entries) == ["mfu", "mru", "previous", "markov", "ppm", "blend", "stap"]
    assert len({entry["pooled"]["n"] for entry in entries.values()}) == 1
    assert entries["stap"]["pooled"]["HR@3"] > entries["mfu"]["pooled"]["HR@3"]


@pytest.mark.slow
def test_demo_shows_a_ranking_and_the_table() -> None:
    done = started("demo")
    assert done.returncode == 0, done.stderr
    assert "now?" in done.stdout
    assert "launch protocol" in done.stdout
    for name in registry.USUAL["launch"]:
        assert f"\n{name} " in done.stdout
    assert "`stap` predicts" in done.stdout


def test_a_log_in_which_nothing_can_be_scored(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("user,app,start,end\n" + ROW)
    done = stap("evaluate", tmp_path / "one.csv")
    assert done.returncode == 2
    assert "nothing to score" in done.stderr


def model_file(path: Path, vocabulary: int = 20, evidence: int = 0) -> Path:
    """A model for windows of 16 events."""
    weights.save(Transformer(ModelConfig(vocabulary, 16, 16, layers=1, heads=2, hidden=8, evidence=evidence)), path)
    return path


def several(path: Path) -> Path:
    """u and v have 3 apps each, w has 230."""
    few = [(user, app) for user in "uv" for app in "abcab" * 8]
    return write(path, *few, *(("w", f"app {number % 230}") for number in range(240)))


def test_the_paper_protocol_cuts_windows_as_the_model_was_trained_and_says_so(tmp_path: Path) -> None:
    log, model = several(tmp_path / "log.csv"), model_file(tmp_path / "m.safetensors")
    done = call("evaluate", log, "--users", "u,v", "--protocol", "paper", "--model", model, "--json", tmp_path / "json")
    assert done.exit_code == 0, done.output
    assert "windows of 16 events, the model's own L" in done.stderr
    assert json.loads((tmp_path / "json").read_text())["context"] == 16
    alone = call("evaluate", log, "--users", "u,v", "--protocol", "paper", "--predictors", "mru,ppm")
    assert "windows of 4096 events, the paper's L" in alone.stderr


def test_a_context_beyond_the_model_s_has_to_be_asked_for_twice(tmp_path: Path) -> None:
    log, model = several(tmp_path / "log.csv"), model_file(tmp_path / "m.safetensors")
    words = ("evaluate", log, "--users", "u", "--predictors", "stap", "--protocol", "paper", "--model", model)
    refused = call(*words, "--context", "32")
    assert "32 events, but the model was trained for 16; use at most 16, or add --longer-context" in str(
        refused.exception
    )
    for more in (("--context", "32", "--longer-context"), ("--context", "8")):
        done = call(*words, *more)
        assert done.exit_code == 0, done.output
        assert f"windows of {more[1]} events, as asked" in done.stderr


def test_a_context_is_of_the_paper_protocol_only() -> None:
    done = stap("evaluate", LOG, "--predictors", "mru", "--context", "64")
    assert done.returncode == 2
    assert "only the paper protocol has windows" in done.stderr


def test_an_odd_context_is_one_clear_line() -> None:
    done = stap("evaluate", LOG, "--protocol", "paper", "--predictors", "mru", "--context", "15")
    assert (done.returncode, done.stderr) == (2, "stap: --context: 15 is odd, and a usage is two events; use 16\n")


def test_who_has_more_apps_than_v_is_left_out_and_counted(tmp_path: Path) -> None:
    log, scores = several(tmp_path / "log.csv"), tmp_path / "scores.json"
    words = ("evaluate", log, "--protocol", "paper", "--json", scores, "--predictors")
    done = call(*words, "mru")
    assert "1 of 3 users left out: they have more than V = 200 apps" in done.stderr
    assert json.loads(scores.read_text())["users left out"] == ["w"]
    model = model_file(tmp_path / "roomy.safetensors", vocabulary=256)
    roomy = call(*words, "mru,stap", "--model", model)
    assert roomy.exit_code == 0, roomy.output
    assert "left out" not in roomy.stderr
    result = json.loads(scores.read_text())
    assert result["users left out"] == []
    assert "w" in result["predictors"]["stap"]["users"]
    assert call("evaluate", log, "--predictors", "mru", "--json", scores).exit_code == 0
    assert json.loads(scores.read_text())["users left out"] == [], "stream has room for everybody"


def test_the_json_says_what_was_measured_with_what(tmp_path: Path) -> None:
    log, run, scores = several(tmp_path / "log.csv"), tmp_path / "run", tmp_path / "scores.json"
    run.mkdir()
    model = model_file(run / "best.safetensors")
    words = ("evaluate", log, "--users", "u", "--predictors", "mru,stap", "--json", scores, "--seed", "7")
    assert call(*words, "--model", run).exit_code == 0
    result = json.loads(scores.read_text())
    assert result["logs"] == [str(log)]
    assert result["model"] == {"file": str(model), "sha256": sha256(model.read_bytes()).hexdigest()[:16]}
    assert (result["ranker"], result["protocol"], result["context"]) == (None, "launch", None)
    assert (result["seed"], result["version"]) == (7, __version__)
    assert call("evaluate", log, "--predictors", "mru", "--json", scores).exit_code == 0
    assert json.loads(scores.read_text())["model"] is None, "none took part"


@pytest.mark.parametrize("evidence", [0, 8])
@pytest.mark.parametrize("protocol", ["stream", "paper"])
def test_another_seed_is_another_phi_in_both_protocols(protocol: str, evidence: int, tmp_path: Path) -> None:
    log, model = several(tmp_path / "log.csv"), model_file(tmp_path / "m.safetensors", evidence=evidence)
    words = ("evaluate", log, "--users", "u,v", "--predictors", "stap", "--protocol", protocol, "--model", model)

    def scores(seed: int) -> dict[str, float]:
        done = call(*words, "--seed", str(seed), "--json", tmp_path / "scores.json")
        assert done.exit_code == 0, done.output
        pooled: dict[str, float] = json.loads((tmp_path / "scores.json").read_text())["predictors"]["stap"]["pooled"]
        return pooled

    assert scores(1) == scores(1)
    assert any(scores(seed) != scores(1) for seed in (2, 3, 4)), "an untrained model likes some indices more"


def test_predict_names_the_last_event(log: Path) -> None:
    done = call("predict", log, "--predictor", "previous")
    assert done.stdout.splitlines()[0] == "after closing Mail, Wed 1 May 2024 09:01:"
    after = json.loads(call("predict", log, "--predictor", "previous", "--json").stdout)["after"]
    assert after == {"app": "Mail", "action": "close", "time": "2024-05-01T09:01:00"}


def test_predict_at_a_time(log: Path) -> None:
    """Mail was closed at 9:01. `again` has it first an hour later, and second at once."""

    def first(*at: str) -> str:
        done = call("predict", log, "--predictor", "again", "--json", *at)
        assert done.exit_code == 0, done.exception
        return str(json.loads(done.stdout)["ranking"][0]["app"])

    assert first("--at", "2024-05-01 10:00") == "Mail"
    assert first("--at", "2024-05-01T09:01:30") == "Chat"
    done = call("predict", log, "--predictor", "again", "--at", "2024-05-01 10:00")
    assert done.stdout.splitlines()[0] == "Wed 1 May 2024 10:00, after closing Mail, Wed 1 May 2024 09:01:"
    answers = [json.loads(call("predict", log, "--json", *at).stdout) for at in ((), ("--at", "2024-05-01 10:00"))]
    assert [answer["at"] for answer in answers] == [None, "2024-05-01T10:00:00"]
    for answer in answers:
        shares = sum(row["probability"] for row in answer["ranking"])
        assert shares + answer["unseen"] == pytest.approx(1.0, abs=1e-5), "unseen is asked of the same moment"
    assert answers[0]["ranking"] != answers[1]["ranking"]


def test_predict_says_why(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under each app, in lines of 60 columns; in the JSON as data. Chat was opened at 9:00, and Mail at 9:01."""
    monkeypatch.setenv("COLUMNS", "60")
    shown = call("predict", log, "--why", "--at", "2024-05-01 10:00").stdout.splitlines()
    assert [line.split(",")[0] for line in shown[1::2]] == ["1. Mail", "2. Chat", "an app never seen before"]
    assert all(line.startswith("   ") and len(line) <= 60 for line in shown[2::2])
    ranking = json.loads(call("predict", log, "--why", "--json").stdout)["ranking"]
    for row in ranking:
        for reason in row["why"]:
            assert reason["strength"] > 0
            assert reason["sentence"]
    done = call("predict", log, "--why", "--predictor", "mfu")
    assert str(done.exception) == "--why: mfu gives no reasons; leave out --why, or --predictor"


@pytest.mark.parametrize("option", [("--jobs", "9" * 30), ("--protocol", "paper", "--context", "9" * 30)])
def test_numbers_that_nobody_means_are_refused(log: Path, option: tuple[str, ...]) -> None:
    done = call("evaluate", log, "--predictors", "mfu", *option)
    assert done.exit_code == 2
    assert "less than or equal" in done.output


def test_predict_at_no_time_or_one_that_is_past(log: Path) -> None:
    for at, why in (
        ("soon", "no time"),
        ("2024-05-01 09:00", "the log goes on until 2024-05-01 09:01:00"),
        ("2024-05-01 10:00+05:00", "a time with a zone, and a log shows its person's wall clock"),
        ("2024-05-01T10:00Z", "a time with a zone"),
    ):
        assert why in str(call("predict", log, "--at", at).exception)


def test_predict_replays_no_more_than_the_last_usages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stap.cli.ask.REPLAYED", 3)
    log = write(tmp_path / "log.csv", *(("u", app) for app in "abcde"))
    done = call("predict", log, "--predictor", "mru", "--json", "-k", "9")
    assert [row["app"] for row in json.loads(done.stdout)["ranking"]] == ["e", "d", "c"]
    assert "the last 3 of 5 launches were replayed" in done.stderr
    monkeypatch.setattr("stap.cli.ask.REPLAYED", 5)
    assert not call("predict", log, "--predictor", "mru").stderr


@pytest.mark.slow
def test_predict_ends_soon_on_a_million_apps(tmp_path: Path) -> None:
    log = write(tmp_path / "log.parquet", *(("u", f"app {number}") for number in range(1_000_000)))
    done = started("predict", log)  # within the limit that `stap` has
    assert done.returncode == 0, done.stderr
    assert "the last 50,000 of 1,000,000 launches" in done.stderr


def test_predict_wants_one_user_and_names_some(tmp_path: Path) -> None:
    for users, said in (("abcde", "(a, b, c, d, e)"), ("abcdef", "(a, b, c, d, e, ...)")):
        log = write(tmp_path / "log.csv", *((user, app) for user in users for app in "xy"))
        assert str(call("predict", log).exception).endswith(f"several users in it; choose one with --user {said}")


def test_names_with_commas_and_several_users(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", *((user, app) for user in ("Ann, 1", "b", "c") for app in "xyx"))
    one = call("predict", log, "--user", "Ann, 1", "--predictor", "previous")
    assert one.exit_code == 0, one.exception
    some = call("evaluate", log, "--users", "Ann, 1", "--users", "b,c", "--predictors", "mru", "--by-user")
    for user in ("Ann, 1", "b", "c"):
        assert f"\n{user} " in some.stdout


EVIL = "\x1b[31mred\u202eelif"


def test_names_that_would_command_the_terminal_are_spelled_out(tmp_path: Path) -> None:
    log = write(tmp_path / "log.parquet", *(("u" + EVIL, app) for app in ("a", EVIL, "b", EVIL)))
    shown = (
        call("predict", log, "--predictor", "mru"),
        call("predict", log, "--why"),
        call("evaluate", log, "--predictors", "mru", "--by-user"),
        call("describe", log, "--figure", tmp_path / "figure.png"),
        call("import", log, "-o", tmp_path / "out.parquet"),
    )
    for done in shown:
        assert done.exit_code == 0, done.exception
        assert not {"\x1b", "\u202e"} & set(done.output)
    assert all("\\x1b[31mred\\u202eelif" in done.output for done in shown[:4])
    wrong = stap("predict", log, "--user", "nobody")
    assert "the users are u\\x1b[31mred\\u202eelif" in wrong.stderr
    answer = call("predict", log, "--predictor", "mru", "--json").stdout
    assert answer.isascii()
    assert json.loads(answer)["after"]["app"] == EVIL
