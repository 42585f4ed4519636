"""Several logs at once, folders, and what nobody chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from sources.made import ACTIVITYWATCH, DUMPSYS, load, write
from stap.sources import Options, read
from stap.sources.reading.system import is_system


def test_one_log_keeps_its_own_repeats(tmp_path: Path) -> None:
    """A B A at one instant is three usages: within a log its order is the truth."""
    rows = "".join(f"u,{app},2024-05-01 08:00:00\n" for app in "ABA")
    assert load(write(tmp_path, "user,app,start\n" + rows)).table["app"].to_list() == ["A", "B", "A"]


def test_a_folder_of_many_logs_passes_over_what_is_none(tmp_path: Path) -> None:
    write(tmp_path, DUMPSYS, "phone.txt")
    write(tmp_path, ACTIVITYWATCH, "desktop.json")
    write(tmp_path, "Read me first.", "README.md")
    write(tmp_path, b"\0\0", ".hidden")
    folder = read([tmp_path], Options(zone="UTC"))
    assert folder.table["user"].unique(maintain_order=True).to_list() == ["pc", "phone"]
    assert any("1 other files were passed over" in note and "README.md" in note for note in folder.notes)


@pytest.mark.parametrize(
    "app",
    [
        *("com.android.systemui", "com.miui.home", "com.sec.android.app.launcher", "com.motorola.launcher3", "android"),
        *("com.google.android.apps.nexuslauncher", "com.android.launcher3", "com.huawei.android.launcher"),
        *("com.google.android.packageinstaller", "com.google.android.permissioncontroller", "com.sonyericsson.home"),
        *("com.google.android.inputmethod.latin", "com.samsung.android.honeyboard", "com.htc.lockscreen"),
        *("System UI", "Systemowy menadżer pulpitu", "Launcher3", "Pixel Launcher", "One UI Home", "Package installer"),
        *("Programme d'installation du kit", "Gboard", "Lock screen", "LockApp.exe"),
    ],
)
def test_what_nobody_chooses(app: str) -> None:
    assert is_system(app)


@pytest.mark.parametrize(
    "app",
    [
        *("com.android.settings", "com.android.chrome", "com.android.vending", "com.android.dialer", "com.whatsapp"),
        *("com.google.android.apps.photos", "com.sec.android.app.camera", "com.google.android.googlequicksearchbox"),
        *("com.ime.bank", "com.google.android.apps.chromecast.app", "com.anime.time", "Home", "Google Home", "Launch"),
        *(
            "Settings",
            "Chrome",
            "Phone",
            "Camera",
            "Messages",
            "Clock",
            "Google Play Store",
            "Android Auto",
            "120",
            "Time",
        ),
        *("com.spacex.launch", "Rocket Launch", "org.mozilla.firefox", "Home Workout", "SwiftKey Beta fans"),
    ],
)
def test_what_a_person_chooses(app: str) -> None:
    assert not is_system(app)
