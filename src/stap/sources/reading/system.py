"""Launchers and system UI: what stands in front between apps, and no person chooses.

The list is conservative. Settings, the phone, the browser, the store are chosen and stay; so does anything not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

PACKAGES = re.compile(
    r"""
    android | system | (\w+\.)+systemui(\.\w+)*
    # home screens
    | (\w+\.)+\w*launcher(\d|ex)? | com\.gau\.go\.launcherex(\.\w+)* | com\.htc\.launcher(\.\w+)*
    | com\.(miui|sonyericsson|sonymobile|asus|zui|smartisanos)\.home | com\.dianxinos\.dxhome | ginlemon\.flowerfree
    # lock screens
    | (\w+\.)+(lockscreen|keyguard)(\.\w+)* | com\.samsung\.android\.app\.aodservice
    # installers and permission dialogs
    | (\w+\.)+(packageinstaller|permissioncontroller|setupwizard) | com\.lbe\.security\.miui
    # keyboards
    | (\w+\.)+(inputmethod|honeyboard|gokeyboard|\w*softkeyboard|swiftkey)(\.\w+)* | (\w+\.)+(htc)?ime
    """,
    re.VERBOSE | re.IGNORECASE,
)
NAMES = re.compile(
    r"""
    # the system
    system[ -]?ui | android[ -]system | système\ android | sistema\ android | system\ android
    | interface\ (du\ )?système | systembenutzeroberfläche | systemowy\ interfejs | interfejs\ systemu | iu\ do\ sistema
    | ui\ (del|di)\ sistema | ui\ sistema | interfaz\ del\ sistema
    | системный\ интерфейс | 系统界面 | 系統使用者介面 | 시스템\ ui
    # home screens
    | launcher\s?\d* | .*\ launcher | systemowy\ (menadżer\ pulpitu|launcher)
    | (one\ ui|touchwiz|xperia|miui|emui|lg|htc|zen)\ home | accueil\ one\ ui | one\ ui[ -]startseite
    | écran\ d['’]accueil(\ .*)? | startbildschirm | startscherm | pantalla\ de\ inicio(\ .*)? | tela\ inicial(\ .*)?
    | schermata\ (home|iniziale)(\ .*)? | ekran\ główny(\ .*)?
    # lock screens
    | lock\ ?screen | keyguard | écran\ de\ verrouillage | sperrbildschirm | pantalla\ de\ bloqueo | ekran\ blokady
    | loginwindow | lockapp(\.exe)? | screensaverengine | kscreenlocker\w*
    # installers and permission dialogs
    | package\ installer | paket-?installer | instalator\ pakietów | instalador\ de\ (paquetes|pacotes)
    | programme\ d['’]installation\ (du\ kit|de\ packages?) | установщик\ пакетов
    | programma\ di\ installazione\ (dei\ )?pacchetti | permission\ controller | contrôleur\ des\ autorisations
    # keyboards and desktop shells
    | gboard | samsung\ keyboard | clavier\ samsung | samsung-tastatur | (microsoft\ )?swiftkey(\ keyboard)?
    | android\ keyboard\ \(aosp\) | gnome-shell | plasmashell
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_system(app: str) -> bool:
    """Whether this package or name is a launcher, a lock screen, a keyboard, an installer or the system itself."""
    return any(pattern.fullmatch(app) for pattern in (PACKAGES, NAMES))


def drop_apps(records: pl.DataFrame, unchosen: Callable[[str], bool]) -> tuple[pl.DataFrame, int]:
    """The records of apps that a person chose, and how many others there were."""
    apps = [app for app in records["app"].unique() if unchosen(app)]
    kept = records.filter(~pl.col("app").is_in(apps))
    return kept, len(records) - len(kept)
