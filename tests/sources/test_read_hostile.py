"""Bad input of every kind: one clear line with the file and the row, or counted and skipped."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
import threading
import tracemalloc
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sources.made import ACTIVITYWATCH, APP_USAGE, DAILY, EVERY, LSAPP, PLAIN, TSINGHUA, load, short, write
from stap.errors import BadInput
from stap.sources import FORMATS, Options, read
from stap.sources.reading import opening, text

CHAT = "u,Chat,2024-05-01 08:03:00,2024-05-01 08:04:00\n"  # row 4 of PLAIN


def refuse(path: Path, message: str, skipped: int | None = 1) -> None:
    """The log is refused with this message in one line; with --skip-bad-rows it is read but for `skipped` rows."""
    with pytest.raises(BadInput) as caught:
        load(path, zone="UTC")
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    if skipped is None:
        with pytest.raises(BadInput):
            load(path, zone="UTC", skip_bad_rows=True)
    else:
        assert load(path, zone="UTC", skip_bad_rows=True).skipped == skipped


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2024-05-01 08:03:00", "2024-05-01 8 o'clock", 'row 4: not a possible time: "2024-05-01 8 o\'clock"'),
        ("2024-05-01 08:03:00", "2024-02-30 08:03:00", "row 4: not a possible time: '2024-02-30 08:03:00'"),
        ("2024-05-01 08:03:00", "2024-13-01 08:03:00", "row 4: not a possible time"),
        ("2024-05-01 08:03:00", "2024-05-01 25:03:00", "row 4: not a possible time"),
        ("2024-05-01 08:03:00", "0001-05-01 08:03:00", "row 4: not a possible time"),
        ("2024-05-01 08:03:00", "", "row 4: not a possible time: nothing"),
        ("08:04:00", "08:02:59", "row 4: end before start"),
        ("u,Chat", "u,", "row 4: no app in it"),
        ("u,Chat", ",Chat", "row 4: no user in it"),
        (CHAT, CHAT[:-1] + ",more\n", "row 4: 5 fields where 4 are expected"),
        (CHAT, "u,Chat\n", "row 4: not a possible time: nothing"),
        (CHAT, CHAT.replace("Chat", "Ch\0at"), "row 4: a NUL byte in it"),
        (CHAT, CHAT.replace("Chat", "a" * 2_000_000), "row 4: a line of more than 1024 KB"),
        (
            CHAT,
            '\n\n"two\nlines",A,2024-05-01 08:03:00,2024-05-01 08:04:00\n' + "u,B,x,y\n",
            "row 8: not a possible time",
        ),
        (CHAT, '"open,A,2024-05-01 08:03:00,2024-05-01 08:04:00\n', "row 4: "),
    ],
)
def test_bad_rows(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in PLAIN
    refuse(write(tmp_path, PLAIN.replace(old, new, 1) if old == CHAT else _last(old, new)), message)


def _last(old: str, new: str) -> str:
    head, _, tail = PLAIN.rpartition(old)
    return head + new + tail


def test_mixed_encodings_name_the_row(tmp_path: Path) -> None:
    refuse(write(tmp_path, PLAIN.encode() + "u,Café,2024-05-01 09:00:00,\n".encode("latin-1")), "row 5: not UTF-8 text")
    log = write(tmp_path, ("u,Café,2024-05-01 09:00:00,2024-05-01 09:00:01\n" * 40_000).encode())  # over block borders
    table = load(write(tmp_path, PLAIN.encode() + log.read_bytes())).table
    assert table["app"].to_list() == ["Mail", "Chat", "Café"]


def test_a_stray_quote_is_no_error(tmp_path: Path) -> None:
    """polars refuses it; the slow reader takes it as people mean it."""
    read_in = load(write(tmp_path, PLAIN.replace("Chat", '5" ruler').replace("u,Mail", 'u,"Ma"il')))
    assert read_in.table["app"].to_list() == ["Mail", '5" ruler']


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    for name, log in EVERY.items():
        plain, marked = write(tmp_path, log), write(tmp_path, log.encode(encoding), "log.mark")
        assert load(marked, zone="UTC").format == name
        assert load(marked, zone="UTC").table.drop("user").equals(load(plain, zone="UTC").table.drop("user"))


def test_broken_utf16(tmp_path: Path) -> None:
    refuse(write(tmp_path, PLAIN.encode("utf-16") + b"\n\0\x00\xd8\x41"), "row 6: broken UTF-16", skipped=None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n  \n", "no format that is known"),
        (b"user,app,start\n", "no app usage in it"),
        (b"who,what,when\nu,Mail,2024-05-01\n", "no format that is known"),
        (b"PK\x03\x04" + b"x" * 600, "a zip archive"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (b"\x1f\x8b\x07" + b"junk" * 9, "the gzip is damaged"),
        (b"\0" * 5000, "row 1: a NUL byte"),
        (b"a" * 3_000_000, "row 1: a line of more than 1024 KB"),
        (b"user,app,start,start\nu,A,1,2\n", "two columns 'start'"),
    ],
)
def test_files_that_are_no_log(tmp_path: Path, content: bytes, message: str) -> None:
    refuse(write(tmp_path, content), message, skipped=None)


@pytest.mark.parametrize("name", FORMATS)
def test_wrong_columns_for_the_format_asked_for(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(write(tmp_path, "a|b\n1|2\n"), format=name, zone="UTC")
    assert "\n" not in str(caught.value)


def test_no_such_file_folder_or_format(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read([tmp_path / "nowhere.csv"])
    with pytest.raises(BadInput, match="no log in this folder"):
        read([tmp_path])
    with pytest.raises(BadInput, match="no such format; use one of lsapp"):
        read([tmp_path], Options(format="excel"))
    write(tmp_path, "nothing of interest", "README")
    with pytest.raises(BadInput, match="no log in this folder"):
        read([tmp_path])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_one_may_not_read(tmp_path: Path) -> None:
    log = write(tmp_path, PLAIN)
    log.chmod(0)
    with pytest.raises(BadInput, match="cannot be read"):
        read([log])


def test_names_with_brackets_and_stars_are_only_names(tmp_path: Path) -> None:
    write(tmp_path, "broken", "log1.csv")
    assert load(write(tmp_path, PLAIN, "log[1].csv")).records == 3
    assert load(write(tmp_path, PLAIN, "log*.csv")).records == 3


@pytest.mark.slow
def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    table = load(write(tmp_path, PLAIN)).table
    table.write_parquet(tmp_path / "x.parquet")
    whole = (tmp_path / "x.parquet").read_bytes()
    refused = 0
    for place in range(4, len(whole), 3):
        broken = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        refused += isinstance(outcome(write(tmp_path, broken), skip=False), str)
    assert refused > 20


def test_a_user_with_one_usage_is_valid(tmp_path: Path) -> None:
    assert len(load(write(tmp_path, "user,app,start\nu,Mail,2024-05-01 08:00:00\n")).table) == 1


class TestWrappings:
    def test_gzip_is_known_by_its_bytes_and_tar_by_its_own(self, tmp_path: Path) -> None:
        whole = short(load(write(tmp_path, LSAPP)))
        tar = _tar({"lsapp/._lsapp.tsv": b"\0junk", "lsapp/lsapp.tsv": LSAPP.encode()})
        for wrapped in (gzip.compress(LSAPP.encode()), tar, gzip.compress(tar), gzip.compress(gzip.compress(tar))):
            assert short(load(write(tmp_path, wrapped, "lsapp.tsv"))) == whole

    @pytest.mark.parametrize("log", [LSAPP, TSINGHUA], ids=["lsapp", "tsinghua"])
    def test_a_truncated_gzip_names_the_row_where_it_ends(self, tmp_path: Path, log: str) -> None:
        packed = gzip.compress((log + "".join(log.splitlines(True)[-1:]) * 2000).encode())
        refuse(write(tmp_path, packed[:-9], "log.gz"), "the gzip ends too early")
        with pytest.raises(BadInput, match=r"row \d+: the gzip ends too early; fetch the file again"):
            load(tmp_path / "log.gz")

    def test_the_line_that_breaks_off_is_left_out(self, tmp_path: Path) -> None:
        packed = gzip.compress((LSAPP + "8\t3\t2018-01-16 07:00:45\tMusic").encode())
        kept = load(write(tmp_path, packed[:-8]), skip_bad_rows=True)  # all the text is there, its checksum is not
        assert (kept.table["app"].to_list(), kept.skipped) == (["Chess", "Mail", "Mail", "Mail"], 1)

    def test_a_bomb_is_stopped(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(opening, "RATIO_FROM", 1 << 20)
        refuse(write(tmp_path, gzip.compress(b"a" * (16 << 20))), "decompression bomb", skipped=None)

    def test_a_truncated_tar_in_a_gzip_keeps_what_is_whole(self, tmp_path: Path) -> None:
        packed = gzip.compress(
            _tar({"lsapp.tsv": (LSAPP + "8\t3\t2018-01-16 07:00:45\tMail\tOpened\n" * 3000).encode()}), 0
        )
        log = write(tmp_path, packed[:40_000], "lsapp.tsv.gz")
        refuse(log, "the gzip ends too early")
        assert 900 < load(log, skip_bad_rows=True).records < 1100
        refuse(write(tmp_path, gzip.decompress(packed)[:40_000], "lsapp.tar"), "the tar ends too early")

    def test_a_damaged_tar(self, tmp_path: Path) -> None:
        tar = _tar({"lsapp.tsv": LSAPP.encode() * 100})
        refuse(write(tmp_path, tar[:300] + b"x" * 300 + tar[600:]), "a damaged tar", skipped=None)
        refuse(write(tmp_path, _tar({"empty": b""})), "a tar without a file", skipped=None)

    def test_a_member_s_path_is_never_a_path_here(self, tmp_path: Path) -> None:
        load(write(tmp_path, _tar({"../../escaped.csv": PLAIN.encode()}), "x.tar"))
        assert sorted(file.name for file in tmp_path.rglob("*")) == ["x.tar"]
        assert not (tmp_path.parent / "escaped.csv").exists()

    @pytest.mark.parametrize("name", FORMATS)
    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EVERY[name].encode())))
        assert read(["-"], Options(zone="UTC")).format == name

    def test_a_pipe_can_be_named(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        feeder = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(PLAIN.encode()),))
        feeder.start()
        assert load(pipe).table.height == 2
        feeder.join()

    def test_no_scratch_is_left_behind(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(scratch))
        load(write(tmp_path, gzip.compress(PLAIN.encode())))
        with pytest.raises(BadInput):
            load(write(tmp_path, gzip.compress(PLAIN.encode())[:-9]))
        assert list(scratch.iterdir()) == []


def _tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.slow
def test_a_line_of_a_gigabyte_is_never_held(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    block = b"a" * (1 << 24)
    with open(log, "wb") as file:
        file.write(PLAIN.encode())
        for _ in range(64):
            file.write(block)
        file.write(b"\n" + CHAT.encode())
    tracemalloc.start()
    refuse(log, "row 5: a line of more than 1024 KB")
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


def test_json_documents_have_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stap.sources.formats.activitywatch.LARGEST", 100)
    refuse(write(tmp_path, ACTIVITYWATCH), "a document of more than", skipped=None)


def test_lines_on_the_border_of_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short blocks: characters and lines lie across their borders."""
    monkeypatch.setattr(text, "LONGEST_LINE", 64)
    rows = "".join(f"u,é{'ü' * (n % 9)},2024-05-01 08:00:{n:02d}\n" for n in range(60))
    assert load(write(tmp_path, "user,app,start\n" + rows)).records == 60
    refuse(
        write(tmp_path, "user,app,start\n" + rows + "u," + "b" * 99 + ",2024-05-02 08:00\n" + rows),
        "row 62: a line of more",
    )


logs = st.sampled_from([*EVERY.values(), DAILY])
junk = st.sampled_from(
    ["\0", '"', "\n", ",", "\t", " ", "9" * 30, "-1", "NaN", "null", "{", "[", "1e400", "\r", "١", "("]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs, st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), junk), max_size=4), st.booleans())
@example(APP_USAGE, [(0.0, 400, "")], True)
def test_whatever_is_done_to_a_log_it_is_read_or_refused(
    tmp_path: Path, log: str, edits: list[tuple[float, int, str]], skip: bool
) -> None:
    for place, length, new in edits:
        at = int(place * len(log))
        log = log[:at] + new + log[at + length :]
    result = outcome(write(tmp_path, log), skip)
    if isinstance(result, str):
        assert "\n" not in result
    else:
        assert (result["end"] >= result["start"]).all()
        assert result.height > 0


def outcome(path: Path, skip: bool) -> pl.DataFrame | str:
    try:
        return load(path, skip_bad_rows=skip, zone="Europe/Berlin").table
    except BadInput as error:
        return str(error)
