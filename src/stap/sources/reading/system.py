"""Launchers and system UI: what stands in front between apps, and no person chooses.

Home screens and lock screens lie between two launches, the rest does not: a keyboard or a dialog belongs to its app.
The lists are conservative. Settings, the phone, the browser, the store are chosen and stay; so does anything not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import polars as pl

from stap.usage import BETWEEN

Kind = Literal["home", "off", "other"]  # a home screen, a lock screen, anything else that no person chooses

PATTERNS: dict[Kind, str] = {
    "home": r"""
    (\w+\.)+\w*launcher(\d|ex)?
    | com\.(miui|sonyericsson|sonymobile|asus|zui|smartisanos)\.home | com\.dianxinos\.dxhome | ginlemon\.flowerfree
    # by name
    | launcher\s?\d* | .*\ launcher | systemowy\ (menadżer\ pulpitu|launcher)
    | (one\ ui|touchwiz|xperia|miui|emui|lg|htc|zen)\ home | accueil\ one\ ui | one\ ui[ -]startseite
    | écran\ d['’]accueil(\ .*)? | startbildschirm | startscherm | pantalla\ de\ inicio(\ .*)? | tela\ inicial(\ .*)?
    | schermata\ (home|iniziale)(\ .*)? | ekran\ główny(\ .*)?
    """,
    "off": r"""
    (\w+\.)+(lockscreen|keyguard)(\.\w+)* | com\.samsung\.android\.app\.aodservice
    # by name
    | lock\ ?screen | keyguard | écran\ de\ verrouillage | sperrbildschirm | pantalla\ de\ bloqueo | ekran\ blokady
    | loginwindow | lockapp(\.exe)? | screensaverengine | kscreenlocker\w*
    """,
    "other": r"""
    android | system | (\w+\.)+systemui(\.\w+)*
    # parts of launchers
    | com\.gau\.go\.launcherex(\.\w+)+ | com\.htc\.launcher(\.\w+)+
    # installers and permission dialogs
    | (\w+\.)+(packageinstaller|permissioncontroller|setupwizard) | com\.lbe\.security\.miui
    # keyboards
    | (\w+\.)+(inputmethod|honeyboard|gokeyboard|\w*softkeyboard|swiftkey)(\.\w+)* | (\w+\.)+(htc)?ime
    # the system by name
    | system[ -]?ui | android[ -]system | système\ android | sistema\ android | system\ android
    | interface\ (du\ )?système | systembenutzeroberfläche | systemowy\ interfejs | interfejs\ systemu | iu\ do\ sistema
    | iu\ syst\. | ui\ (del|di)\ sistema | ui\ sistema | interfaz\ del\ sistema
    | системный\ интерфейс | 系统界面 | 系統使用者介面 | 시스템\ ui
    # installers and permission dialogs by name
    | package\ installer | paket-?installer | instalator\ pakietów | instalador\ de\ (paquetes|pacotes)
    | programme\ d['’]installation\ (du\ kit|de\ packages?) | установщик\ пакетов
    | programma\ di\ installazione\ (dei\ )?pacchetti | permission\ controller | contrôleur\ des\ autorisations
    # keyboards and desktop shells by name
    | gboard | samsung\ keyboard | clavier\ samsung | samsung-tastatur | (microsoft\ )?swiftkey(\ keyboard)?
    | android\ keyboard\ \(aosp\) | gnome-shell | plasmashell
    """,
}
LONGEST = 255  # characters of a package's name; patterns take a time that grows faster than what they look at
KNOWN = {kind: re.compile(pattern, re.VERBOSE | re.IGNORECASE) for kind, pattern in PATTERNS.items()}


def system_kind(app: str) -> Kind | None:
    """What this package or name is, if it is a launcher, a lock screen, a keyboard, an installer or the system."""
    if len(app) > LONGEST:
        return None
    return next((kind for kind, pattern in KNOWN.items() if pattern.fullmatch(app)), None)


def is_system(app: str) -> bool:
    return system_kind(app) is not None


def set_aside(records: pl.DataFrame, kind: Callable[[str], Kind | None]) -> tuple[pl.DataFrame, int]:
    """The records of apps that a person chose, and how many others there were.

    Home and lock screens stay as rows that lie between, as column `between` tells; the rest goes.
    """
    kinds = {app: each for app in records["app"].unique() if (each := kind(app))}
    if not kinds:
        return records, 0
    if "between" not in records.columns:
        records = records.with_columns(between=pl.lit(None, BETWEEN))
    kind_of = pl.col("app").replace_strict(kinds, default=None, return_dtype=pl.String)
    ours = pl.col("between").is_null()
    dropped = records.select((ours & kind_of.is_not_null()).sum()).item()
    kept = records.filter(~ours | kind_of.is_null() | (kind_of != "other"))
    return kept.with_columns(between=pl.coalesce("between", kind_of.cast(BETWEEN, strict=False))), dropped
