"""The command line as a person uses it: a real process, real files, exit codes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from train.made import table

from stap import usage
from stap.demo.person import LOG
from stap.model import weights
from stap.model.config import ModelConfig
from stap.model.transformer import Transformer

GOOD = (
    "user,app,start,end\n"
    "u,Mail,2024-05-01 08:00:00,2024-05-01 08:01:00\n"
    "u,Chat,2024-05-01 08:02:00,2024-05-01 08:03:00\n"
)
ROW = "u,Mail,2024-05-01 09:00:00,2024-05-01 09:01:00\n"


def stap(*arguments: str | Path, feed: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stap", *map(str, arguments)]
    done = subprocess.run(command, input=feed, capture_output=True, cwd=cwd, timeout=300)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(GOOD + ROW)
    return path


def test_import_writes_a_usage_table_that_every_command_reads(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    done = stap("import", log, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "3 launches of 1 user" in done.stdout
    assert pl.read_parquet(out)["app"].to_list() == ["Mail", "Chat", "Mail"]
    again = stap("import", out, "-o", tmp_path / "again.csv")
    assert again.returncode == 0, again.stderr
    assert pl.read_csv(tmp_path / "again.csv", try_parse_dates=True).rows() == pl.read_parquet(out).rows()


def test_what_is_still_open_comes_back_to_the_front(tmp_path: Path) -> None:
    """Chat opens over Mail and closes again; then Mail is there, which merging alone cannot know."""
    over = GOOD.replace("08:01:00", "08:09:00")
    for options, apps in (([], ["Mail", "Chat"]), (["--in-front"], ["Mail", "Chat", "Mail"])):
        done = stap("import", "-", "-o", tmp_path / "out.parquet", *options, feed=over.encode())
        assert done.returncode == 0, done.stderr
        assert pl.read_parquet(tmp_path / "out.parquet")["app"].to_list() == apps


def test_a_view_of_other_people_is_refused(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text((GOOD + ROW).replace("\nu,", "\nv,"))
    for command in ("recipe", "rival"):
        done = stap(command, "--data", log, "--view", other, "--out", tmp_path / "made")
        assert done.returncode == 2
        assert "none of its users, e.g. 'v', is in --data" in " ".join(done.stderr.split())
        assert not (tmp_path / "made").exists()


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    usage.save(table(3), path)
    return path


@pytest.mark.slow
def test_train_and_go_on(people: Path, tmp_path: Path) -> None:
    command = ("train", "--data", people, "--out", tmp_path / "run", "--preset", "tiny", "--epochs", "1")
    done = stap(*command)
    assert done.returncode == 0, done.stderr
    assert "best validation loss" in done.stdout
    again = stap(*command)
    assert again.returncode == 2
    assert "there is a run in it; continue it with --resume" in " ".join(again.stderr.split())
    assert stap(*command, "--resume").returncode == 0
    alone = stap("train", "--data", people, "--users", "u0", "--out", tmp_path / "alone")
    assert alone.returncode == 2
    assert "1 user to train on" in alone.stderr
    assert not (tmp_path / "alone").exists()


@pytest.mark.slow
def test_the_recipe_its_rival_and_who_they_are_measured_on(people: Path, tmp_path: Path) -> None:
    made, trees = tmp_path / "run", tmp_path / "gbdt.txt"
    short = ("--preset", "tiny", "--steps", "2", "--prior-steps", "1")
    options = ("--data", people, "--view", people, "--fold", "1/2", "--always", "u0")
    for command in (("recipe", *options, *short, "--out", made), ("rival", *options, "--out", trees)):
        done = stap(*command)
        assert done.returncode == 0, done.stderr
    more = stap("recipe", *options, *short, "--start", made / "model.safetensors", "--out", tmp_path / "more")
    assert more.returncode == 0, more.stderr
    (held,) = json.loads((made / "users.json").read_text())["testing"]
    rankers = ("--model", made / "model.safetensors", "--ranker", trees)
    done = stap("evaluate", people, "--users", held, "--predictors", "stap,gbdt", *rankers)
    assert done.returncode == 0, done.stderr
    assert "gbdt" in done.stdout


def test_adapt_writes_nothing_where_it_cannot_help(people: Path, tmp_path: Path) -> None:
    done = stap("adapt", people, "--user", "u0", "-o", tmp_path / "my.safetensors")
    assert done.returncode == 2
    assert "too few" in done.stderr
    assert not list(tmp_path.iterdir())


def test_standard_input(tmp_path: Path) -> None:
    done = stap("import", "-", "-o", tmp_path / "out.csv", feed=(GOOD + ROW).encode())
    assert done.returncode == 0, done.stderr
    assert len(pl.read_csv(tmp_path / "out.csv")) == 3


def test_evaluate_prints_a_table_and_writes_the_json(log: Path, tmp_path: Path) -> None:
    """Mail Chat Mail: two labels; after Mail nothing else is known (miss), after Chat it is back to Mail (hit)."""
    scores = tmp_path / "scores.json"
    done = stap("evaluate", log, "--predictors", "mru,previous", "--json", scores)
    assert done.returncode == 0, done.stderr
    assert "previous" in done.stdout
    result = json.loads(scores.read_text())
    assert result["protocol"] == "stream"
    assert result["predictors"]["previous"]["pooled"] == {
        "n": 2, "HR@1": 50.0, "HR@3": 50.0, "HR@5": 50.0, "MRR@3": 50.0, "MRR@5": 50.0
    }  # fmt: skip
    assert result["predictors"]["mru"]["users"]["u"]["HR@1"] == 0.0


def test_predict(log: Path) -> None:
    done = stap("predict", log, "-k", "2", "--predictor", "previous", "--json")
    assert [row["app"] for row in json.loads(done.stdout)["ranking"]] == ["Chat"]
    assert json.loads(done.stdout)["unseen"] is None, "a classical predictor knows nothing of unseen apps"


def test_predict_with_the_shipped_model(log: Path) -> None:
    """After Mail Chat Mail only Chat can be ranked; the rest is for an app never seen before."""
    answer = json.loads(stap("predict", log, "--json").stdout)
    (best,) = answer["ranking"]
    assert best["app"] == "Chat"
    assert best["probability"] + answer["unseen"] == pytest.approx(1.0, abs=1e-5)
    shown = stap("predict", log).stdout
    assert "1. Chat" in shown
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
    done = stap("evaluate", some, "--protocol", protocol, "--context", "128", "--json", scores)
    assert done.returncode == 0, done.stderr
    entries = json.loads(scores.read_text())["predictors"]
    assert list(entries) == ["mfu", "mru", "previous", "markov", "ppm", "blend", "stap"]
    assert len({entry["pooled"]["n"] for entry in entries.values()}) == 1
    assert entries["stap"]["pooled"]["HR@3"] > entries["mfu"]["pooled"]["HR@3"]


def test_describe_draws_a_figure(tmp_path: Path) -> None:
    figure, counts = tmp_path / "figure.png", tmp_path / "counts.json"
    done = stap("describe", LOG, "--figure", figure, "--json", counts)
    assert done.returncode == 0, done.stderr
    assert figure.read_bytes().startswith(b"\x89PNG")
    (described,) = json.loads(counts.read_text()).values()
    assert described["users"] == 1
    assert described["events"] == 2 * described["usages"]


def test_demo_shows_a_ranking_and_the_table() -> None:
    done = stap("demo")
    assert done.returncode == 0, done.stderr
    assert "next?" in done.stdout
    for name in ("mfu", "mru", "previous", "markov", "ppm", "blend", "stap"):
        assert f" {name} " in done.stdout
    assert "`stap` predicts" in done.stdout


BAD: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "empty"),
    "columns.csv": (b"who,what\n1,2\n", "column"),
    "dates.csv": ((GOOD + "u,Mail,2024-13-41 09:00:00,2024-05-01 09:01:00\n").encode(), "row 4"),
    "backwards.csv": ((GOOD + "u,Mail,2024-05-01 09:00:00,2024-05-01 08:59:00\n").encode(), "row 4: end before start"),
    "mixed.csv": (GOOD.encode() + ROW.replace("Mail", "Café").encode("latin-1"), "row 4"),
    "nul.csv": (GOOD.encode() + ROW.replace("Mail", "Ma\0il").encode(), "row 4"),
    "long.csv": (GOOD.encode() + b"u," + b"x" * (3 << 20) + b"\n", "row 4"),
    "cut.csv.gz": (gzip.compress((GOOD + ROW * 2000).encode(), 0)[:-5000], "gzip"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_code_2_and_nothing_written(name: str, tmp_path: Path) -> None:
    content, words = BAD[name]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out.parquet"
    done = stap("import", name, "-o", out, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert name in done.stderr
    assert words in done.stderr
    assert "; " in done.stderr, "a remedy follows"
    assert [path.name for path in tmp_path.iterdir()] == [name], "no half-written output"


@pytest.mark.parametrize("name", ["dates.csv", "backwards.csv", "mixed.csv", "nul.csv", "long.csv"])
def test_bad_rows_can_be_skipped_and_are_counted(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(BAD[name][0])
    done = stap("import", tmp_path / name, "-o", tmp_path / "out.csv", "--skip-bad-rows")
    assert done.returncode == 0, done.stderr
    assert "skipped 1 bad row" in done.stderr
    assert pl.read_csv(tmp_path / "out.csv")["app"].to_list() == ["Mail", "Chat"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("evaluate", "nowhere.csv"), "no such file"),
        (("evaluate", LOG, "--predictors", "oracle"), "previous"),
        (("evaluate", LOG, "--users", "nobody"), "no user 'nobody'"),
        (("import", LOG, "-o", "out.docx"), ".parquet or .csv"),
        (("import", LOG, "-o", "no/such/folder/out.csv"), "cannot write"),
        (("bench", "nothing"), "choose one of"),
    ],
)
def test_a_slip_gets_one_line_that_helps(arguments: tuple[str | Path, ...], words: str, tmp_path: Path) -> None:
    done = stap(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_log_in_which_nothing_can_be_scored(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("user,app,start,end\n" + ROW)
    done = stap("evaluate", tmp_path / "one.csv")
    assert done.returncode == 2
    assert "nothing to score" in done.stderr
