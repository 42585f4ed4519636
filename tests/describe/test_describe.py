"""`stap describe LOG --prior N` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

from prior.test_people import as_table
from typer.testing import CliRunner

from stap import prior
from stap.cli import app
from stap.usage import save


def test_describe_puts_synthetic_people_beside_a_log(tmp_path: Path) -> None:
    log, figure, figures = tmp_path / "log.csv", tmp_path / "prior.png", tmp_path / "prior.json"
    save(as_table(prior.people(2, 8, (110, 110))), log)
    done = CliRunner().invoke(
        app, ["describe", str(log), "--prior", "20", "--figure", str(figure), "--json", str(figures)]
    )
    assert done.exit_code == 0, done.output
    assert "2 people of the logs, 20 of the prior" in done.output
    assert "HR@1 previous" in done.output
    assert figure.read_bytes().startswith(b"\x89PNG")
    compared = json.loads(figures.read_text())["prior"]
    row = next(row for row in compared["statistics"] if row["statistic"] == "distinct apps")
    assert row["real"][0] <= row["real"][1] <= row["real"][2]
    assert 0 <= row["inside"] <= 100
