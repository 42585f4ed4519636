"""What a person gives and takes back: demo, import, hide, forget, export, delete."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event

import pytest
from browsing import barriers
from playwright.sync_api import Browser, Page, expect

from serve.page.visit import habits, row, served, visit
from stap.demo.person import LOG
from stap.serve.core import Core

pytestmark = pytest.mark.slow
BROKEN = "user,app,start,end\nme,Mail,2025-03-03 08:00:00,2025-03-03 08:01:00\nme,Chat,2025-13-03 08:02:00,\n"
DROP = """([name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name, { type: "text/csv" }));
    const event = (kind) => document.body.dispatchEvent(
        new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));
    event("dragenter");
    const shown = !document.getElementById("drop").hidden;
    event("drop");
    return shown && document.getElementById("drop").hidden;
}"""


def drop(page: Page, name: str, text: str) -> None:
    assert page.evaluate(DROP, [name, text])


def drop_path(page: Page, path: Path) -> None:
    """As the system does it when somebody lets go of a file or a folder over the page."""
    line = page.context.new_cdp_session(page)
    dragged = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        line.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": dragged})


def test_the_first_visit_offers_the_demo_person(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site, visit(browser, site.address) as page:
        page.get_by_role("button", name="Try the demo person").click()
        expect(page.locator("#imports progress")).to_be_visible()
        expect(page.locator("#row .card")).to_have_count(5)
        expect(page.locator("#welcome")).to_be_hidden()
        expect(page.locator("#imports")).to_contain_text("events learned")
        expect(page.locator("#timeline rect.usage").first).to_be_visible()  # the last day there was


def test_a_log_is_imported_by_dropping_it_on_the_page(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site, visit(browser, site.address) as page:
        expect(page.locator("#link")).to_have_text("Live")
        drop(page, "my phone.csv", LOG.read_text())
        expect(page.locator("#imports .file")).to_have_text("my phone.csv")
        expect(page.locator("#row .card")).to_have_count(5)
        assert site.get("/users")["users"][0]["events"] == 2 * (len(LOG.read_text().splitlines()) - 1)


def test_a_bad_log_gets_the_servers_own_words(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site, visit(browser, site.address) as page:
        expect(page.locator("#link")).to_have_text("Live")
        drop(page, "broken.csv", BROKEN)
        failed = page.locator("#imports .failed")
        expect(failed).to_contain_text("Not imported")
        expect(failed.locator(".reason")).to_contain_text("broken.csv")
        expect(failed.locator(".reason")).to_contain_text("3")  # the row
        expect(failed.locator(".remedy")).not_to_be_empty()
        page.get_by_role("button", name="Dismiss broken.csv").click()
        expect(failed).to_have_count(0)
        expect(page.get_by_role("button", name="Try the demo person")).to_be_visible()


def test_an_import_is_told_to_every_open_page(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site, visit(browser, site.address) as page, visit(browser, site.address) as other:
        for each in (page, other):
            expect(each.locator("#link")).to_have_text("Live")
        drop(page, "my phone.csv", LOG.read_text())
        for each in (page, other):
            expect(each.locator("#row .card")).to_have_count(5)
            expect(each.locator("#imports .file")).to_have_text("my phone.csv")
            expect(each.locator("#imports .state")).to_contain_text("events learned")
        drop(other, "broken.csv", BROKEN)
        for each in (page, other):
            expect(each.locator("#imports .failed .reason")).to_contain_text("broken.csv")
            expect(each.locator("#imports > li")).to_have_count(2)


def test_of_a_dropped_folder_every_log_is_taken_and_the_rest_is_counted(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    (folder / "phone").mkdir(parents=True)
    lines = LOG.read_text().splitlines(keepends=True)
    (folder / "one.csv").write_text("".join(lines[:200]))
    (folder / "phone" / "two.csv").write_text("".join([lines[0], *lines[200:400]]))
    (folder / "broken.csv").write_text(BROKEN)
    (folder / "letter.txt").write_text("Dear all,\nno log is in here.\n" * 9)
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n")
    (folder / ".hidden.csv").write_text(BROKEN)
    with served(tmp_path / "data") as site, visit(browser, site.address) as page:
        expect(page.locator("#link")).to_have_text("Live")
        drop_path(page, folder)
        entries = page.locator("#imports > li")
        expect(entries.first).to_contain_text("exports")
        expect(entries.first.locator(".state")).to_have_text("3 logs, 3 other files passed over")
        expect(entries).to_have_count(4)
        expect(page.locator("#imports .failed .reason")).to_contain_text("broken.csv")
        assert site.get("/users")["users"][0]["events"] == 2 * 399
        page.reload()
        (folder / "one.csv").unlink()
        (folder / "broken.csv").unlink()
        (folder / "phone" / "two.csv").unlink()
        expect(page.locator("#link")).to_have_text("Live")
        drop_path(page, folder)
        expect(page.locator("#imports .failed .reason")).to_have_text("exports: no log in this folder")


def test_a_hidden_app_leaves_the_row_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address) as page:
            expect(page.locator("#row .card")).to_have_count(5)
            app = row(page)[0]
            page.locator("#row button").first.click()
            page.get_by_role("dialog").get_by_role("button", name="Hide").click()
            expect(page.locator("#row .name", has_text=app)).to_have_count(0)
            page.get_by_role("button", name=f"Show {app}").click()
            expect(page.get_by_role("button", name=f"Hide {app}")).to_be_visible()
            assert app in {each["app"] for each in site.get("/users/me/ranking", k=7)["ranking"]}


def test_a_forgotten_app_leaves_no_trace(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address) as page:
            page.get_by_role("button", name="Forget Maps").click()
            dialog = page.get_by_role("dialog")
            dialog.get_by_role("button", name="Cancel").click()
            assert "Maps" in site.api.get("/users/me/export").text
            page.get_by_role("button", name="Forget Maps").click()
            dialog.get_by_role("button", name="Forget it").click()
            expect(page.locator("#app-list")).not_to_contain_text("Maps")
            expect(page.locator("#row")).not_to_contain_text("Maps")
            assert "Maps" not in site.api.get("/users/me/export").text


def test_while_an_app_is_being_forgotten_its_line_says_so(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long history is learned anew without it."""
    asked, go_on, forget = list[str](), Event(), Core.forget

    def slowly(core: Core, name: str, app: str) -> None:
        asked.append(app)
        assert go_on.wait(120)
        forget(core, name, app)

    monkeypatch.setattr(Core, "forget", slowly)
    with served(tmp_path) as site:
        site.launched(*habits())
        with visit(browser, site.address) as page:
            button = page.get_by_role("button", name="Forget Maps")
            button.click()
            page.get_by_role("dialog").get_by_role("button", name="Forget it").click()
            line = page.locator("#app-list li", has_text="Maps")
            expect(line).to_contain_text("Being forgotten")
            expect(button).to_be_focused()
            expect(button).to_be_disabled()
            assert barriers(page) == []
            page.keyboard.press("Enter")
            go_on.set()
            expect(page.locator("#app-list")).not_to_contain_text("Maps")
    assert asked == ["Maps"]


def test_the_export_is_everything(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits(2))
        with visit(browser, site.address) as page:
            with page.expect_download() as waiting:
                page.get_by_role("link", name="Export everything").click()
            lines = waiting.value.path().read_text().splitlines()
            assert waiting.value.suggested_filename == "stap-me.jsonl"
            assert sum('"opened"' in line for line in lines) == len(habits(2))
            assert all(isinstance(json.loads(line), dict) for line in lines)


def test_everything_is_deleted_after_the_word_is_typed(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.launched(*habits(2))
        with visit(browser, site.address) as page:
            page.get_by_role("button", name="Delete everything…").click()
            dialog = page.get_by_role("dialog")
            yes = dialog.get_by_role("button", name="Delete everything")
            expect(yes).to_be_disabled()
            page.keyboard.press("Enter")  # in the empty field
            assert site.get("/users")["users"]
            page.keyboard.type("delete")
            expect(yes).to_be_enabled()
            page.keyboard.press("Enter")
            expect(page.get_by_role("heading", name="What comes next?")).to_be_visible()
            assert site.get("/users") == {"users": []}
