"""The "App Usage" app's CSV export: App name, Date, Time, Duration; newest first; a footer at the end.

Dates and times come in the phone's own manner, which is settled from the whole file: see `localised`. Screen,
notification and boot rows stand among the apps under localised names. They are known by vocabulary in the common
languages, and by structure elsewhere: a name like "posted (X)" that never lasts, with several X that are apps of their
own, is a notification in whatever tongue. Screen and boot rows lie between apps. The log names nobody.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import polars as pl

from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import ascii_digits, take_spans
from stap.sources.reading.localised import NUMBERS, take_local_times, words
from stap.sources.reading.rows import ROW
from stap.sources.reading.tables import read_header, read_table, split
from stap.sources.reading.text import clean
from stap.usage import BETWEEN

NAME = "app-usage"
COLUMNS = ["app", "date", "time", "duration"]
HEADER = ["app name", "date", "time", "duration"]
DURATION = r"^(-?)([0-9]{1,6}):([0-9][0-9]?):([0-9][0-9]?)$"
NAMED = re.compile(r"^(?P<stem>.+?) ?[(（](?P<inner>.+)[)）]$")

LOCKS = words("""
    locked | unlocked | verrouillé | déverrouillé | gesperrt | entsperrt | bloqueada | desbloqueada
    bloqueado | desbloqueado | bloccato | sbloccato | zablokowany | odblokowany | vergrendeld | ontgrendeld
    заблокирован | разблокирован | заблоковано | розблоковано | låst | upplåst | ulåst | låst op | olåst
    lukittu | avattu | kilitli | kilitsiz | kilidi açık | zamčeno | odemčeno | uzamčen | odemčen | zárolt
    feloldott | blocat | deblocat | κλειδωμένη | ξεκλείδωτη | terkunci | tidak terkunci | đã khóa | đã mở khóa
    ロック中 | ロック解除 | ロック | 잠김 | 잠금 해제 | 已锁定 | 已解锁 | 已鎖定 | 已解鎖 | 锁定 | 解锁 | 鎖定
    解鎖 | مقفل | مقفلة | غير مقفل | مفتوح | قفل | باز | נעול | לא נעול | ล็อก | ปลดล็อก
""")
SCREEN = words("""
    screen on | screen off | écran allumé | écran éteint | bildschirm an | bildschirm aus | bildschirm ein
    pantalla encendida | pantalla apagada | schermo acceso | schermo spento | tela ligada | tela desligada
    ecrã ligado | ecrã desligado | ekran włączony | ekran wyłączony | scherm aan | scherm uit | экран включен
    экран выключен | экран включён | экран выключён | екран увімкнено | екран вимкнено | skärm på | skärm av
    skærm tændt | skærm slukket | skjerm på | skjerm av | näyttö päällä | näyttö pois | ekran açık
    ekran kapalı | obrazovka zapnuta | obrazovka vypnuta | kijelző be | kijelző ki | ecran pornit
    ecran oprit | οθόνη ενεργή | οθόνη ανενεργή | layar hidup | layar mati | 画面オン | 画面オフ | 화면 켜짐
    화면 꺼짐 | 屏幕开启 | 屏幕关闭 | 屏幕打开 | 亮屏 | 熄屏 | 螢幕開啟 | 螢幕關閉
""")
HISTORY = words("""
    notification history enabled | notification history disabled | historique activé des notifications
    historique désactivé des notifications | historique des notifications activé
""")
BOOT = words("""
    device boot | device shutdown | device startup | appareil allumé | appareil éteint | gerät gestartet
    gerät eingeschaltet | gerät ausgeschaltet | gerätestart | dispositivo encendido | dispositivo apagado
    arranque del dispositivo | apagado del dispositivo | dispositivo acceso | dispositivo spento
    avvio dispositivo | spegnimento dispositivo | dispositivo ligado | dispositivo desligado
    uruchomienie urządzenia | wyłączenie urządzenia | urządzenie włączone | urządzenie wyłączone
    apparaat gestart | apparaat uitgeschakeld | apparaat opgestart | apparaat afgesloten | устройство включено
    устройство выключено | загрузка устройства | выключение устройства | enhet startad | enhet avstängd
    cihaz açıldı | cihaz kapandı | zařízení zapnuto | zařízení vypnuto | デバイスの起動
    デバイスのシャットダウン | 기기 부팅 | 기기 종료 | 设备启动 | 设备关机 | 裝置開機 | 裝置關機
""")
NOTIFICATION = words("""
    notification posted | notification | notifications envoyées | notification envoyée | notification publiée
    benachrichtigung gesendet | benachrichtigung | notificación publicada | notificación | notifica inviata
    notifica pubblicata | notificação publicada | notificação | powiadomienie | opublikowano powiadomienie
    powiadomienie wysłane | melding geplaatst | melding | уведомление | уведомление отправлено | сповіщення
    avisering | varsel | bildirim | bildirim gönderildi | oznámení | értesítés | notificare | ειδοποίηση
    通知 | 通知の投稿 | 알림 | 发布通知 | 已发布通知 | 發佈通知
""")


def sniff(head: Head) -> float:
    """By the header, or, where that is translated too, by the shape of the first rows."""
    header, *rows = [split(line, ",") for line in head.lines[:4]] or [[]]
    if len(header) != len(COLUMNS):
        return 0.0
    if [name.lower() for name in header] == HEADER:
        return 1.0
    rows = [row for row in rows if len(row) == len(COLUMNS)]
    return 0.8 if rows and all(re.match(NUMBERS, row[1]) and re.match(DURATION, row[3]) for row in rows) else 0.0


def read(log: Log, options: Options) -> Records:
    log = clean(log)
    _, header = read_header(log, ",")
    frame = _without_footer(read_table(log, ",", COLUMNS, skip=header))
    frame = log.sieve.require(frame, *COLUMNS).with_columns(ascii_digits(name) for name in COLUMNS[1:])
    pseudo = pseudo_names(frame)
    timed, order = take_local_times(log.sieve, frame.filter(~pl.col("app").is_in(pseudo.other)), frame)
    timed = timed.reverse() if order.newest_first else timed
    posts = pl.col("app").is_in(list(pseudo.posted))
    notifications = timed.filter(posts).select(pl.col("app").replace(pseudo.posted), time="start")
    notes = [order.note(log.name)]
    if any(pseudo):
        notes.append(f"{log.name}: screen, notification and boot rows are no app, and no usage was made of them.")
    return Records(_spans(log, timed.filter(~posts), pseudo.off), tuple(notes), notifications=notifications)


def _spans(log: Log, frame: pl.DataFrame, off: list[str]) -> pl.DataFrame:
    """Apps from start to end, and screen rows between them, whose length does not matter."""
    is_off = pl.col("app").is_in(off)
    end = pl.when(is_off).then("start").otherwise(pl.col("start") + pl.duration(seconds=_seconds("duration")))
    frame = frame.with_columns(end=end, between=pl.when(is_off).then(pl.lit("off", BETWEEN)))
    frame = log.sieve.reject(frame, pl.col("end").is_null(), "not a duration:", show="duration")
    return take_spans(log.sieve, frame)


def _without_footer(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows up to the last one with a date: what follows is prose about the export."""
    last = frame.filter(pl.col("date").is_not_null())[ROW].max()
    return frame if last is None else frame.filter(pl.col(ROW) <= last)


@cache
def _seconds(column: str) -> pl.Expr:
    """h:mm:ss, where h may pass 24 and a minus makes it bad later."""
    parts = pl.col(column).str.strip_chars().str.extract_groups(DURATION).struct
    hours, minutes, seconds = (parts.field(str(i)).cast(pl.Int64) for i in (2, 3, 4))
    total = hours * 3600 + minutes * 60 + seconds
    return pl.when(parts.field("1") == "-").then(-total).otherwise(total)


class Pseudo(NamedTuple):
    """Names that are no app."""

    off: list[str]  # the screen went on or off, the phone was started or shut down
    posted: dict[str, str]  # a notification, and the app it came from
    other: list[str]


def pseudo_names(frame: pl.DataFrame) -> Pseudo:
    """The names in column `app` that are no app. `duration` is still text here."""
    counts = frame.group_by("app").agg(pl.col("duration").str.contains(r"^0+:0+:0+$").all().alias("instant"))
    instant: dict[str, bool] = dict(counts.rows())
    shaped = {name: (match["stem"].lower(), match["inner"]) for name in instant if (match := _named(name))}
    screens = SCREEN | {stem for stem, inner in shaped.values() if inner.lower() in LOCKS}
    posts = NOTIFICATION | _posts(shaped, instant)
    off = {name for name in instant if name.lower() in screens | BOOT or shaped.get(name, ("",))[0] in screens}
    posted = {name: app for name, (stem, app) in shaped.items() if stem in posts and name not in off}
    return Pseudo(sorted(off), posted, [name for name in instant if name.lower() in HISTORY])


def _named(name: str) -> re.Match[str] | None:
    return NAMED.match(name) if name.endswith((")", "）")) else None  # the other way round it takes its time


def _posts(shaped: dict[str, tuple[str, str]], instant: dict[str, bool]) -> set[str]:
    """Stems that only ever name other apps and never last."""
    inner: dict[str, list[str]] = {}
    for name, (stem, app) in shaped.items():
        inner.setdefault(stem, []).append(app if instant[name] else "")
    return {stem for stem, apps in inner.items() if "" not in apps and sum(app in instant for app in apps) >= 2}
