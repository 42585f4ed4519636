"""Who gets in, and who does not. docs/security.md names these tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from serve.world import BASE, TOKEN, day, event, ranking, send, serving
from stap.serve.limits import EVENTS, Bucket, Limits
from stap.serve.routes.system import page_files
from stap.serve.security import COOKIE, token_of


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One server for all who change nothing."""
    with serving(tmp_path_factory.mktemp("data")) as client:
        send(client, day())
        yield client


OURS = {"Authorization": f"Bearer {TOKEN}"}


def test_everything_but_health_and_the_page_needs_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, token=None, limits=Limits(1e6, 1e6, strangers=Bucket(1e6, 1e6))) as client:
        paths = client.get("/api/v1/openapi.json", headers=OURS).json()["paths"]
        assert len(paths) >= 15
        for path, methods in paths.items():
            for method in methods:
                asked = client.request(method, path.format(user="me", number="x"))
                assert asked.status_code == (200 if path == "/health" else 401), (method, path)
        assert client.get("/api/v1/openapi.json").status_code == 401
        assert client.get("/anything").status_code == 401
        for path in page_files():
            assert client.get(path).status_code == 200


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "t", "é" * 43, TOKEN.upper()])
def test_a_wrong_token_does_not_get_in(tmp_path: Path, token: str) -> None:
    with serving(tmp_path, token=None) as client:
        for name, value in ((b"Authorization", f"Bearer {token}"), (b"Cookie", f"{COOKIE}={token}")):
            assert client.get("/api/v1/users", headers={name: value.encode()}).status_code == 401
        assert client.get("/", params={"token": token or "y"}).status_code == 401


def test_guessing_is_slowed_down_and_does_not_shut_the_owner_out(tmp_path: Path) -> None:
    with serving(tmp_path, token=None) as client:
        answers = [client.get("/api/v1/users", headers={"Authorization": "Bearer x"}).status_code for _ in range(30)]
        assert answers[0] == 401
        assert answers[-1] == 429
        assert client.get("/api/v1/users", headers=OURS).status_code == 200


def test_the_printed_address_sets_a_cookie_that_scripts_cannot_read(tmp_path: Path) -> None:
    with serving(tmp_path, token=None) as client:
        visit = client.get("/", params={"token": TOKEN})
        assert (visit.status_code, visit.headers["location"]) == (303, "/")
        cookie = visit.headers["set-cookie"]
        assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
        assert client.get("/api/v1/users").status_code == 200  # the client keeps cookies


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "localhost.evil:8765", ""]
)
def test_a_foreign_host_is_refused_even_with_the_token(client: TestClient, host: str) -> None:
    for path in ("/health", "/", "/api/v1/users"):
        assert client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8765", "file://"]
)
def test_a_foreign_origin_is_refused_and_no_answer_allows_one(client: TestClient, origin: str) -> None:
    refused = client.post("/api/v1/users/me/events", json={"events": day()}, headers={"Origin": origin})
    assert refused.status_code == 403
    asked = client.options("/api/v1/users", headers={"Origin": origin, "Access-Control-Request-Method": "GET"})
    assert not [name for name in (*refused.headers, *asked.headers) if name.startswith("access-control")]
    assert client.get("/api/v1/users", headers={"Origin": BASE}).status_code == 200
    assert client.get("/api/v1/users", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_every_answer_has_a_strict_policy(client: TestClient) -> None:
    for path in ("/", "/health", "/api/v1/users", "/api/v1/nothing", "/api/v1/users/me/ranking?k=-1"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"


def test_a_large_body_is_refused_before_and_while_it_is_read(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        path, large = "/api/v1/users/me/events", b" " * (EVENTS + 1)
        assert client.post(path, content=large).status_code == 413
        assert client.post(path, content=iter([large[:1000]] * (EVENTS // 1000 + 2))).status_code == 413
        assert client.put("/api/v1/users/me/apps/hidden", content=b" " * 70_000).status_code == 413
        assert send(client, day())["accepted"] == 40


def test_a_flood_of_one_user_leaves_the_others_alone(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(a_second=1, at_once=20)) as client:
        send(client, day(), "calm")
        codes = [client.get("/api/v1/users/wild/ranking").status_code for _ in range(40)]
        assert codes.count(429) >= 15
        assert ranking(client, "calm")["events"] == 40


def test_a_flood_of_those_without_a_token_leaves_the_owner_alone(tmp_path: Path) -> None:
    """Any page of the web can have a browser ask for /health, or for the page itself."""
    with serving(tmp_path, Limits(a_second=1, at_once=20), token=None) as client:
        foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        codes = [client.get(path, headers=foreign).status_code for path in ("/health", "/page/page.js") * 20]
        assert codes.count(429) >= 15
        for path in ("/api/v1/users", "/api/v1/status", "/", "/health"):
            assert client.get(path, headers=OURS).status_code == 200, path


@pytest.mark.parametrize(
    "change",
    [
        {"app": ""},
        {"app": "x" * 257},
        {"app": "a\x00b"},
        {"app": "a\nb"},
        {"id": ""},
        {"id": "x" * 65},
        {"kind": "eaten"},
        {"at": "2026-03-02T08:00:00"},
        {"at": "1826-03-02T08:00:00Z"},
        {"at": "9999-12-31T23:59:59-23:59"},
        {"at": 1e300},
        {"more": 1},
        {"app": 7},
        {"at": None},
    ],
)
def test_every_value_of_an_event_is_checked(client: TestClient, change: dict[str, object]) -> None:
    bad = {**event(1, "Mail", 0), **change}
    answer = client.post("/api/v1/users/me/events", json={"events": [event(99, "Mail", 0), bad]})
    assert answer.status_code == 422
    assert set(answer.json()["error"]) == {"where", "why", "remedy"}
    assert client.get("/api/v1/users").json()["users"][0]["events"] == 40, "all of a request or nothing"


@pytest.mark.parametrize(
    "body", [b"\xff\xfe{}", b'{"events": "\xc3"}', b"{", b"[" * 100_000, b'{"events": [{"id": NaN}]}']
)
def test_what_is_no_json_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/v1/users/me/events", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize(
    "query", ["k=0", "k=101", "k=x", "at=now", "at=2026-03-02T08:00:00", "among=", "k=1e9", "reasons=7"]
)
def test_every_number_of_a_question_is_checked(client: TestClient, query: str) -> None:
    assert client.get(f"/api/v1/users/me/ranking?{query}").status_code == 422


@pytest.mark.parametrize("user", ["a b", "x" * 65, "..%2f..%2fetc", "%00", "ü", "a;b"])
def test_a_user_is_a_plain_name(client: TestClient, user: str) -> None:
    assert client.get(f"/api/v1/users/{user}/ranking").status_code in (404, 422)


def test_an_import_is_never_named_by_a_path(tmp_path: Path) -> None:
    """The body is the log; whatever is named is only ever shown again."""
    (tmp_path / "secret.csv").write_text("user,app,start,end\n")
    with serving(tmp_path / "data") as client:
        named = {"X-File-Name": f"..%2f..%2f{tmp_path}%2fsecret.csv"}
        answer = client.post("/api/v1/users/me/imports", content=b"x", headers=named)
        assert answer.status_code == 202
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "secret.csv"]


def test_no_app_is_named_in_logs_or_metrics(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as client:
        send(client, [{**each, "app": "Very Secret"} for each in day()])
        ranking(client, among=["Very Secret"])
        assert "stap_events 40" in client.get("/metrics").text
        assert "Secret" not in client.get("/metrics").text
        assert "Secret" not in json.dumps(client.get("/api/v1/status").json())

        def fail(*_: object) -> None:
            raise RuntimeError("Very Secret")

        monkeypatch.setattr("stap.serve.answers.why", fail)
        broken = client.get("/api/v1/users/me/why", params={"app": "Very Secret"})
        assert broken.status_code == 500
        assert "Secret" not in broken.text
    out, err = capfd.readouterr()
    assert "RuntimeError" in err
    assert "Secret" not in out + err


def test_the_token_is_made_once_and_is_its_owner_s_alone(tmp_path: Path) -> None:
    token = token_of(tmp_path)
    assert token == token_of(tmp_path)
    assert len(token) >= 43
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_what_is_kept_is_its_owner_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder) as client:
        send(client, day())
        ranking(client)
    assert folder.stat().st_mode & 0o077 == 0
    for path in folder.rglob("*.state"):
        assert path.stat().st_mode & 0o077 == 0


def test_a_folder_that_was_there_does_not_open_the_store_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    with serving(folder) as client:
        send(client, day())
        found = {path.name: path.stat().st_mode & 0o077 for path in folder.glob("stap.db*")}
    assert "stap.db-wal" in found
    assert not any(found.values())
