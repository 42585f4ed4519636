"""Launchers and system UI: what stands in front between apps, and no person chooses.

The list is conservative. Settings, the phone, the browser, the store are chosen and stay; so does anything not known.
"""

from __future__ import annotations

import re

import polars as pl

PACKAGES = re.compile(
    r"""
    android | system
    | com\.android\.systemui(\..*)? | .*\.systemui
    | ([\w]+\.)+launcher\d? | ([\w]+\.)+(\w*launcher\w*)
    | com\.gau\.go\.launcherex(\..*)?
    | com\.(miui|mi\.android\.globallauncher|mi\.android\.globalminusscreen)(\.home)?
    | com\.(sonyericsson|sonymobile|htc|asus|zui|meizu\.flyme|smartisanos|vivo|bbk)\.(home|launcher)
    | com\.dianxinos\.dxhome | net\.oneplus\.launcher | com\.teslacoilsw\.launcher | com\.htc\.sense\.hsp
    | com\.google\.android\.apps\.nexuslauncher | com\.sec\.android\.app\.\w*launcher\w* | ginlemon\.flowerfree
    | com\.(android|google\.android|samsung\.android|miui|huawei|oplus|coloros)\.(packageinstaller|permissioncontroller)
    | com\.miui\.securitycenter\.permission | com\.lbe\.security\.miui
    | com\.android\.(keyguard|settings\.intelligence\.keyguard) | com\.(sec|samsung)\.android\.(app\.)?keyguard
    | (\w+\.)+(lockscreen|keyguard)(\.\w+)*
    | (\w+\.)*(inputmethod|ime|honeyboard|swiftkey|gokeyboard|softkeyboard)(\.\w+)*
    | com\.(samsung\.android\.app\.aodservice|android\.internal\.app) | com\.google\.android\.setupwizard
    """,
    re.VERBOSE | re.IGNORECASE,
)

NAMES = re.compile(
    r"""
    system\s?ui | android\ system | système\ android | android[- ]system | sistema\ android | system\ android
    | (interface|ui)\ (du\ )?système | interface\ système | system-?ui | systembenutzeroberfläche | iu\ do\ sistema
    | ui\ (del\ )?sistema | interfaz\ del\ sistema | ui\ di\ sistema | interfejs\ systemu
    | системный\ интерфейс | 系統使用者介面 | 系统界面 | システムui | 시스템\ ui
    | systemowy\ menadżer\ pulpitu | systemowy\ launcher | system\ launcher | launcher\s?\d*
    | .*\ (launcher|home\ launcher) | (one\ ui|touchwiz|xperia|miui|emui|lg|htc|zen)\ home | one\ ui(-|\ )startseite
    | (écran|ecran)\ d['’]accueil(\ .*)? | accueil\ one\ ui | startbildschirm | pantalla\ de\ inicio(\ .*)?
    | tela\ inicial(\ .*)? | schermata\ (home|iniziale)(\ .*)? | ekran\ główny(\ .*)? | startscherm(\ .*)?
    | (lock\ ?screen|keyguard|écran\ de\ verrouillage|sperrbildschirm|pantalla\ de\ bloqueo|ekran\ blokady)
    | (package|paket|app)[ -]?installer | package\ installer | paket-?installer | paketinstallationsprogramm
    | programme\ d['’]installation\ (du\ kit|de\ package)s? | instalador\ de\ (paquetes|pacotes)
    | programma\ di\ installazione\ (dei\ )?pacchetti | instalator\ pakietów | установщик\ пакетов
    | permission\ controller | contrôleur\ des\ autorisations
    | gboard | (samsung|microsoft\ swiftkey)\ keyboard | clavier\ samsung | samsung-tastatur | swiftkey(\ keyboard)?
    | android\ keyboard(\ \(aosp\))?
    | loginwindow | lockapp(\.exe)? | screensaverengine | gnome-shell | plasmashell | searchhost\.exe | kscreenlocker.*
    """,
    re.VERBOSE | re.IGNORECASE,
)
PACKAGE = re.compile(r"[A-Za-z]\w*(\.\w+)+|android|system")


def is_system(app: str) -> bool:
    """Whether this package or name is a launcher, a lock screen, a keyboard, an installer or the system itself."""
    pattern = PACKAGES if PACKAGE.fullmatch(app) else NAMES
    return pattern.fullmatch(app) is not None


def drop_system(records: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The records of apps that a person chose, and how many others there were."""
    system = [app for app in records["app"].unique() if is_system(app)]
    if not system:
        return records, 0
    kept = records.filter(~pl.col("app").is_in(system))
    return kept, len(records) - len(kept)
