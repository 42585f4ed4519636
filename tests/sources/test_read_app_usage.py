"""Dates, clocks and pseudo-rows of "App Usage" exports, in the manners of many phones."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sources.made import load, write
from stap.errors import BadInput
from stap.sources.formats.app_usage import pseudo_names

HEADER = '"App name","Date","Time","Duration"\n'


def export(folder: Path, *rows: tuple[str, str], app: str = "Mail") -> Path:
    """Rows of (date, time); every other app differs, so that nothing merges."""
    lines = [f'"{app}{number % 2}","{date}","{time}","0:00:01"\n' for number, (date, time) in enumerate(rows)]
    return write(folder, HEADER + "".join(lines), "phone.csv")


def starts(path: Path) -> list[str]:
    return load(path).table["start"].dt.strftime("%Y-%m-%d %H:%M").to_list()


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["2/1/20", "1/31/20", "1/30/20"], ["2020-01-30", "2020-01-31", "2020-02-01"]),
        (["01/02/2020", "31/01/2020"], ["2020-01-31", "2020-02-01"]),
        (["14.01.2023", "31.12.2022"], ["2022-12-31", "2023-01-14"]),
        (["2023-01-14", "2022-12-31"], ["2022-12-31", "2023-01-14"]),
        (["2023. 1. 14.", "2022. 12. 31."], ["2022-12-31", "2023-01-14"]),
        (["14/1/2566", "13/1/2566"], ["2023-01-13", "2023-01-14"]),  # Buddhist years
        (["۱۴/۱/۲۰۲۳", "۱۳/۱/۲۰۲۳"], ["2023-01-13", "2023-01-14"]),
        (["১৪/১/২০২৩", "১৩/১/২০২৩"], ["2023-01-13", "2023-01-14"]),  # Bengali
        (["၁၄/၁/၂၀၂၃", "꤁꤃/1/2023"], ["2023-01-13", "2023-01-14"]),  # Burmese, Kayah Li: found by fuzzing
        (
            ["5/4/20", "4/4/20", "3/4/20", "2/4/20", "1/4/20"],
            ["2020-04-01", "2020-04-02", "2020-04-03", "2020-04-04", "2020-04-05"],
        ),
        (["1/4/20", "2/4/20", "3/4/20"], ["2020-04-01", "2020-04-02", "2020-04-03"]),  # oldest first
    ],
)
def test_the_order_of_dates_is_found_from_the_whole_column(
    tmp_path: Path, dates: list[str], expected: list[str]
) -> None:
    assert [time[:10] for time in starts(export(tmp_path, *((date, "10:00:00") for date in dates)))] == expected


def test_no_single_row_decides(tmp_path: Path) -> None:
    """Every date here exists both ways; only as day/month do they run one way."""
    rows = [
        ("03/05/2020", "09:00:00"),
        ("12/04/2020", "09:00:00"),
        ("11/04/2020", "23:00:00"),
        ("02/04/2020", "08:00:00"),
    ]
    read = load(export(tmp_path, *rows))
    assert read.table["start"].dt.month().to_list() == [4, 4, 4, 5]
    assert "day/month/year" in read.notes[0]
    assert "guess" not in read.notes[0]


def test_a_guess_is_called_one(tmp_path: Path) -> None:
    read = load(export(tmp_path, ("3/4/2020", "10:00:00")))
    assert "guess" in read.notes[0]
    assert starts(export(tmp_path, ("3/4/2020", "10:00:00"))) == ["2020-04-03 10:00"]
    assert starts(export(tmp_path, ("3/4/20", "10:00:00 AM"))) == ["2020-03-04 10:00"]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("00:00:00", "00:00"),
        ("12:00:00 AM", "00:00"),
        ("12:00:00 PM", "12:00"),
        ("9:42:31 p. m.", "21:42"),
        ("9:42:31\u202fPM", "21:42"),
        ("下午9:42:31", "21:42"),
        ("오전 9:42:31", "09:42"),
        ("21.42.31", "21:42"),
        ("9 h 42 min 31 s", "09:42"),
    ],
)
def test_clocks(tmp_path: Path, time: str, expected: str) -> None:
    assert starts(export(tmp_path, ("31/1/2020", time)))[0][11:] == expected


@pytest.mark.parametrize(
    ("date", "time", "why"),
    [
        ("30/2/2020", "10:00:00", "row 4: not a possible date: '30/2/2020'"),
        ("28/2/2020", "25:00:00", "row 4: not a possible time: '25:00:00'"),
        ("28/2/2020", "10:00:00 xm", "row 4: not a possible time"),
        ("28/2/2020", "13:00:00 PM", "row 4: not a possible time"),
        ("soon", "10:00:00", "row 4: not a possible date: 'soon'"),
        ("28/2/²", "10:00:00", "row 4: not a possible date: '28/2/²'"),
        ("28/2/⑳", "10:00:00", "row 4: not a possible date: '28/2/⑳'"),
    ],
)
def test_times_that_are_none(tmp_path: Path, date: str, time: str, why: str) -> None:
    log = export(tmp_path, ("1/3/2020", "10:00:00"), ("29/2/2020", "10:00:00"), (date, time))
    with pytest.raises(BadInput, match=why):
        load(log)
    assert load(log, skip_bad_rows=True).skipped == 1


@pytest.mark.parametrize(
    ("duration", "why"),
    [("soon", "not a duration"), ("-0:00:10", "end before start"), ("9" * 23 + ":00:10", "not a duration")],
)
def test_durations_that_are_none(tmp_path: Path, duration: str, why: str) -> None:
    with pytest.raises(BadInput, match=f"row 2: {why}"):
        load(write(tmp_path, HEADER + f'"Mail","31/1/2020","10:00:00","{duration}"\n'))


def test_a_duration_may_pass_a_day(tmp_path: Path) -> None:
    table = load(write(tmp_path, HEADER + '"Mail","31/1/2020","10:00:00","30:00:00"\n')).table
    assert table["end"].dt.strftime("%d %H").item() == "01 16"


def names(*rows: tuple[str, str]) -> set[str]:
    off, posted, other = pseudo_names(pl.DataFrame(rows, schema=["app", "duration"], orient="row"))
    return {*off, *posted, *other}


@pytest.mark.parametrize(
    "name",
    [
        *("Screen on (unlocked)", "Screen off", "Device boot", "Device shutdown", "Notification posted (Gmail)"),
        *("Écran éteint (verrouillé)", "Écran éteint", "Notifications envoyées (Système Android)", "Appareil allumé"),
        *("Ekran włączony (odblokowany)", "Bildschirm aus (gesperrt)", "Pantalla encendida (desbloqueada)"),
        *("Экран выключен (заблокирован)", "Schermo spento (bloccato)", "Tela desligada", "Scherm uit (vergrendeld)"),
    ],
)
def test_pseudo_rows_in_known_languages(name: str) -> None:
    assert names((name, "0:00:01"), ("Gmail", "0:00:05")) == {name}


def test_notifications_are_known_by_their_structure() -> None:
    """In no language at all: it never lasts, and names other apps of this log."""
    rows = [("Blub (Mail)", "0:00:00"), ("Blub (Chess)", "0:00:00"), ("Blub (Bank)", "0:00:00")]
    apps = [("Mail", "0:00:09"), ("Chess", "0:00:09"), ("Firefox (Beta)", "0:00:09"), ("Screen Time", "0:00:02")]
    assert names(*rows, *apps) == {"Blub (Mail)", "Blub (Chess)", "Blub (Bank)"}


def test_a_screen_state_without_brackets_is_known_from_the_one_with() -> None:
    assert names(("Blub", "0:05:00"), ("Blub (locked)", "0:05:00"), ("Mail", "0:01:00")) == {"Blub", "Blub (locked)"}


def test_a_translated_header_is_recognised_by_the_rows(tmp_path: Path) -> None:
    text = '"Nombre","Fecha","Hora","Duración"\n"Mail","31/1/2020","10:00:00","0:00:01"\n'
    assert load(write(tmp_path, text)).format == "app-usage"


def test_a_date_of_any_length_is_refused_in_a_short_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="row 2: not a date: '1/13/xxxx") as refused:
        load(export(tmp_path, ("1/13/" + "x" * 2_000, "10:00:00")))
    assert len(refused.value.why) < 100
