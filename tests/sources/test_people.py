"""Who is who among several logs: one name is two people, unless a data set or the person who asks says it is one."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sources.made import ACTIVITYWATCH, APP_USAGE, AWARE, DAILY, DUMPSYS, LSAPP, PLAIN, TSINGHUA, load, short, write
from stap import usage
from stap.errors import BadInput
from stap.sources import Imported, Options, read

LATER = PLAIN.replace("2024-05-01", "2024-06-01")
OVERLAP = "user,app,start,end\n" + PLAIN.splitlines(True)[-1] + "u,Bank,2024-05-01 10:00:00,2024-05-01 10:01:00\n"


def put(folder: Path, name: str, text: str) -> Path:
    """A log in folders of its own."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path.parent, text, path.name)


def users(imported: Imported) -> list[str]:
    return imported.table["user"].unique(maintain_order=True).to_list()


def test_one_name_in_two_tables_is_two_people(tmp_path: Path) -> None:
    """Phones that were imported apart: nobody is sewn together from both."""
    for phone, text in (("red", PLAIN), ("blue", LATER)):
        usage.save(load(write(tmp_path, text)).table, tmp_path / f"{phone}.parquet")
    both = read([tmp_path / "red.parquet", tmp_path / "blue.parquet"])
    assert users(both) == ["blue/u", "red/u"]
    assert both.table.height == 4
    (note,) = both.notes
    assert "User 'u' of several logs is taken for different people (blue/u, red/u); --as NAME joins" in note


def test_the_names_do_not_depend_on_the_order_or_on_who_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [put(tmp_path, f"{name}.csv", PLAIN) for name in ("red", "blue", "green")]
    once = read(paths).table
    assert read(paths[::-1]).table.equals(once)
    assert read([tmp_path]).table.equals(once)
    monkeypatch.chdir(tmp_path)
    assert read(["blue.csv", "./green.csv", f"../{tmp_path.name}/red.csv"]).table.equals(once)


def test_only_names_that_meet_are_changed(tmp_path: Path) -> None:
    a = put(tmp_path, "a.csv", PLAIN + PLAIN.split("\n", 1)[1].replace("u,", "v,"))
    assert users(read([a, put(tmp_path, "b.csv", PLAIN)])) == ["a/u", "b/u", "v"]


def test_the_same_file_name_in_two_folders_is_two_people(tmp_path: Path) -> None:
    for person in ("anna", "bea"):
        put(tmp_path, f"{person}/usage.csv", APP_USAGE)
    assert users(read([tmp_path])) == ["anna/usage", "bea/usage"]


def test_the_nearest_folder_that_differs_tells_people_apart(tmp_path: Path) -> None:
    for study in ("north", "south"):
        put(tmp_path, f"{study}/phones/log.csv", PLAIN)
    assert users(read([tmp_path])) == ["north/u", "south/u"]
    put(tmp_path, "south/desktops/log.csv", PLAIN)
    names = users(read([tmp_path]))
    assert len(names) == 3, "no folder alone tells the three apart: the whole path does"
    assert all(name.endswith("log/u") for name in names)


def test_a_new_name_is_never_somebody_else_s(tmp_path: Path) -> None:
    paths = [put(tmp_path, f"here/{name}.csv", PLAIN) for name in ("a", "b")]
    paths.append(put(tmp_path, "there/c.csv", PLAIN.replace("u,", "a/u,")))
    imported = read(paths)
    assert len(users(imported)) == 3
    assert imported.table.height == 6


def test_a_log_named_after_its_file_keeps_its_name(tmp_path: Path) -> None:
    """phone.csv is anonymous, so its user is `phone`; a table has somebody of that name."""
    phone, table = put(tmp_path, "phone.csv", APP_USAGE), put(tmp_path, "my.csv", PLAIN.replace("u,", "phone,"))
    assert users(read([phone, table])) == ["my/phone", "phone"]


def test_a_log_and_its_import_are_one_person(tmp_path: Path) -> None:
    whole = load(put(tmp_path, "phone.csv", PLAIN))
    usage.save(whole.table, tmp_path / "phone.parquet")
    assert read([tmp_path]).table.equals(whole.table)
    assert read([tmp_path / "phone.csv", tmp_path / "phone.csv"]).table.equals(whole.table)


def test_formats_can_be_mixed_and_their_users_stay_apart(tmp_path: Path) -> None:
    paths = [write(tmp_path, LSAPP.replace("7\t", "4\t"), "lsapp.tsv"), write(tmp_path, TSINGHUA, "trace.txt")]
    mixed = read(paths)
    assert mixed.format == "lsapp+tsinghua"
    assert users(mixed) == ["8", "lsapp/4", "tsinghua/4"]


@pytest.mark.parametrize(
    ("text", "later"),
    [
        (LSAPP, LSAPP.replace("2018-01", "2018-02")),
        (TSINGHUA, TSINGHUA.replace("20160420", "20160421")),
        (AWARE, AWARE.replace("15834", "15835")),
        (ACTIVITYWATCH, ACTIVITYWATCH.replace("2024-07", "2024-08")),
    ],
    ids=["lsapp", "tsinghua", "aware", "activitywatch"],
)
def test_a_data_set_in_parts_names_the_same_people(tmp_path: Path, text: str, later: str) -> None:
    parts = [put(tmp_path, "x/1.log", text), put(tmp_path, "x/2.log", later)]
    alone = load(parts[0], zone="UTC")
    whole = read(parts, Options(zone="UTC"))
    assert users(whole) == users(alone)
    assert whole.table.height > alone.table.height
    elsewhere = read([parts[0], put(tmp_path, "y/2.log", later)], Options(zone="UTC"))
    assert users(elsewhere) == [f"{folder}/{user}" for folder in "xy" for user in users(alone)]
    assert users(read([tmp_path], Options(zone="UTC"))) == users(alone), "one folder given is one data set"


def test_daily_files_are_one_person_s_in_whatever_way_they_are_given(tmp_path: Path) -> None:
    days = [put(tmp_path, f"x/9_M/{day}.txt", DAILY.replace("-22-", f"-{day}-")) for day in (22, 23)]
    for given in ([tmp_path], [tmp_path / "x"], [tmp_path / "x/9_M"], days):
        assert users(read(given)) == ["9_M"]
    put(tmp_path, "y/9_M/22.txt", DAILY)
    assert users(read([tmp_path / "x/9_M", tmp_path / "y/9_M"])) == ["x/9_M", "y/9_M"]
    assert users(read([tmp_path / "x", tmp_path / "y"])) == ["x/9_M", "y/9_M"]


def test_daily_files_of_an_archive_belong_to_its_folder_or_to_itself(tmp_path: Path) -> None:
    for inside, user in (("9_M/22.txt", "9_M"), ("22.txt", "8_M")):
        with tarfile.open(tmp_path / "8_M.tar", "w") as archive:
            member = tarfile.TarInfo(inside)
            member.size = len(DAILY.encode())
            archive.addfile(member, io.BytesIO(DAILY.encode()))
        packed = write(tmp_path, gzip.compress((tmp_path / "8_M.tar").read_bytes()), "8_M.tar.gz")
        assert users(load(packed)) == [user]


class TestOnePerson:
    """--as NAME."""

    def test_two_exports_become_one_person(self, tmp_path: Path) -> None:
        may = put(tmp_path, "may.csv", APP_USAGE)
        june = put(tmp_path, "june.csv", APP_USAGE.replace('"1/1', '"6/1'))
        imported = read([may, june], Options(as_user="me"))
        assert users(imported) == ["me"]
        assert imported.table["app"].to_list() == ["Chess", "Mail", "Chess", "Chess", "Mail", "Chess"]
        whole = usage.merge(imported.table)
        assert whole["end"].dt.month().to_list() == [1, 1, 6, 6, 6], "Chess to Chess merges, as in one log"
        assert not any("different people" in note for note in imported.notes)

    def test_what_both_hold_counts_once(self, tmp_path: Path) -> None:
        both = read([put(tmp_path, "a.csv", PLAIN), put(tmp_path, "b.csv", OVERLAP)], Options(as_user="u"))
        assert [app for _, app, _, _ in short(both)] == ["Mail", "Chat", "Bank"]
        assert (both.records, both.format) == (5, "plain")
        assert both.notes == ("1 records stood in more than one log and count once.",)

    def test_logs_of_any_kind_and_name(self, tmp_path: Path) -> None:
        paths = [put(tmp_path, "a/log.txt", DUMPSYS), put(tmp_path, "b/log.csv", PLAIN), put(tmp_path, "x", AWARE)]
        assert users(read(paths, Options(as_user="me, myself", zone="UTC"))) == ["me, myself"]
        assert users(read(paths[:1], Options(as_user="me"))) == ["me"]
        assert users(read([tmp_path], Options(as_user="me", zone="UTC"))) == ["me"]

    @pytest.mark.parametrize("folder", [False, True], ids=["one file", "a data set"])
    def test_a_log_of_several_users_is_refused(self, tmp_path: Path, folder: bool) -> None:
        if folder:
            given, names = tmp_path / "all", "8_M, 9_M"
            for user in ("8_M", "9_M"):
                put(tmp_path, f"all/{user}/22.txt", DAILY)
        else:
            given, names = put(tmp_path, "lsapp.tsv", LSAPP), "7, 8"
        with pytest.raises(BadInput) as error:
            read([put(tmp_path, "mine.csv", PLAIN), given], Options(as_user="me"))
        assert str(given) in str(error.value)
        assert f"several users in it ({names}), and --as me is one person; import one of them" in str(error.value)
        assert "\n" not in str(error.value)

    def test_nobody_is_called_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match=r"--as: .* is no name"):
            read([put(tmp_path, "a.csv", PLAIN)], Options(as_user=" "))


def test_the_same_users_can_be_joined_by_name(tmp_path: Path) -> None:
    first = PLAIN + PLAIN.split("\n", 1)[1].replace("u,", "v,")
    paths = [put(tmp_path, "a.csv", first), put(tmp_path, "b.csv", LATER)]
    joined = read(paths, Options(same_users=True))
    assert (users(joined), joined.notes) == (["u", "v"], ())
    assert joined.table.height == 6


def test_repeats_within_a_log_stay_when_another_is_there(tmp_path: Path) -> None:
    """A B A at one instant is three usages, whatever else is read."""
    rows = "".join(f"u,{app},2024-05-01 08:00:00\n" for app in "ABA")
    paths = [put(tmp_path, "a.csv", "user,app,start\n" + rows), put(tmp_path, "b.csv", LATER.replace("u,", "v,"))]
    imported = read(paths)
    assert imported.table["app"].to_list() == ["A", "B", "A", "Mail", "Chat"]
    assert [note.split(":")[0] for note in imported.notes] == ["u"], "instants, and nothing that stood twice"


class TestCommandLine:
    def run(self, *arguments: str | Path) -> tuple[int, str]:
        command = [sys.executable, "-m", "stap", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        return done.returncode, " ".join(done.stderr.split())

    def test_import_joins_one_person_s_exports(self, tmp_path: Path) -> None:
        paths = [put(tmp_path, "may.csv", PLAIN), put(tmp_path, "june.csv", LATER.replace("u,", "v,"))]
        assert self.run("import", *paths, "--as", "me", "-o", tmp_path / "me.parquet") == (0, "")
        assert load(tmp_path / "me.parquet").table["user"].to_list() == ["me"] * 4
        assert self.run("import", *paths, "--same-users", "-o", tmp_path / "all.parquet") == (0, "")
        code, said = self.run("import", tmp_path / "all.parquet", "--as", "me", "-o", tmp_path / "one.parquet")
        assert code == 2
        assert "all.parquet: several users in it (u, v), and --as me is one person" in said
        assert not (tmp_path / "one.parquet").exists()

    def test_evaluate_scores_people_of_one_name_apart_and_says_so(self, tmp_path: Path) -> None:
        paths = [put(tmp_path, f"{name}.csv", PLAIN) for name in ("red", "blue")]
        code, said = self.run("evaluate", *paths, "--predictors", "mru", "--json", tmp_path / "scores.json")
        assert code == 0
        assert "User 'u' of several logs is taken for different people (blue/u, red/u)" in said
        scores = json.loads((tmp_path / "scores.json").read_text())
        assert list(scores["predictors"]["mru"]["users"]) == ["blue/u", "red/u"]
