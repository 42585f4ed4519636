"""Which rows of an "App Usage" export are no app: screen on and off, notifications, boot and shutdown, in any language.

By vocabulary for the common languages, and by structure where a language is not known here: a name like "posted (X)"
that never lasts, with several X that are apps of their own, is a notification in whatever tongue.
"""

from __future__ import annotations

import re

import polars as pl

from stap.sources.reading.localised import words

NAMED = re.compile(r"^(?P<stem>.+?) ?[(（](?P<inner>.+)[)）]$")

LOCKS = words("""
    locked | unlocked | verrouillé | déverrouillé
    gesperrt | entsperrt | bloqueada | desbloqueada
    bloqueado | desbloqueado | bloccato | sbloccato
    zablokowany | odblokowany | vergrendeld | ontgrendeld
    заблокирован | разблокирован | заблоковано | розблоковано | låst
    upplåst | ulåst | låst op | olåst
    lukittu | avattu | kilitli | kilitsiz | kilidi açık
    zamčeno | odemčeno | uzamčen | odemčen | zárolt
    feloldott | blocat | deblocat | κλειδωμένη
    ξεκλείδωτη | terkunci | tidak terkunci | đã khóa
    đã mở khóa | ロック中 | ロック解除 | ロック | 잠김 | 잠금 해제 | 已锁定 | 已解锁 | 已鎖定 | 已解鎖
    锁定 | 解锁 | 鎖定 | 解鎖 | مقفل | مقفلة | غير مقفل
    مفتوح | قفل | باز | נעול | לא נעול | ล็อก | ปลดล็อก
""")
SCREEN = words("""
    screen on | screen off | écran allumé | écran éteint
    bildschirm an | bildschirm aus | bildschirm ein
    pantalla encendida | pantalla apagada | schermo acceso
    schermo spento | tela ligada | tela desligada
    ecrã ligado | ecrã desligado | ekran włączony
    ekran wyłączony | scherm aan | scherm uit
    экран включен | экран выключен | экран включён
    экран выключён | екран увімкнено | екран вимкнено
    skärm på | skärm av | skærm tændt | skærm slukket
    skjerm på | skjerm av | näyttö päällä
    näyttö pois | ekran açık | ekran kapalı
    obrazovka zapnuta | obrazovka vypnuta | kijelző be
    kijelző ki | ecran pornit | ecran oprit | οθόνη ενεργή
    οθόνη ανενεργή | layar hidup | layar mati
    画面オン | 画面オフ | 화면 켜짐 | 화면 꺼짐 | 屏幕开启 | 屏幕关闭 | 屏幕打开 | 亮屏 | 熄屏 | 螢幕開啟 | 螢幕關閉
""")
BOOT = words("""
    notification history enabled | notification history disabled
    historique activé des notifications
    historique désactivé des notifications | historique des notifications activé
    device boot | device shutdown | device startup
    appareil allumé | appareil éteint | gerät gestartet
    gerät eingeschaltet | gerät ausgeschaltet | gerätestart
    dispositivo encendido | dispositivo apagado
    arranque del dispositivo | apagado del dispositivo
    dispositivo acceso | dispositivo spento
    avvio dispositivo | spegnimento dispositivo
    dispositivo ligado | dispositivo desligado
    uruchomienie urządzenia | wyłączenie urządzenia
    urządzenie włączone | urządzenie wyłączone
    apparaat gestart | apparaat uitgeschakeld
    apparaat opgestart | apparaat afgesloten
    устройство включено | устройство выключено
    загрузка устройства | выключение устройства
    enhet startad | enhet avstängd | cihaz açıldı
    cihaz kapandı | zařízení zapnuto | zařízení vypnuto
    デバイスの起動 | デバイスのシャットダウン | 기기 부팅 | 기기 종료 | 设备启动 | 设备关机 | 裝置開機 | 裝置關機
""")
NOTIFICATION = words("""
    notification posted | notification | notifications envoyées
    notification envoyée | notification publiée
    benachrichtigung gesendet | benachrichtigung | notificación publicada
    notificación | notifica inviata
    notifica pubblicata | notificação publicada | notificação
    powiadomienie | opublikowano powiadomienie
    powiadomienie wysłane | melding geplaatst | melding
    уведомление | уведомление отправлено | сповіщення
    avisering | varsel | bildirim | bildirim gönderildi
    oznámení | értesítés | notificare | ειδοποίηση
    通知 | 通知の投稿 | 알림 | 发布通知 | 已发布通知 | 發佈通知
""")


def pseudo_names(frame: pl.DataFrame) -> set[str]:
    """The names in column `app` that are no app. `duration` is still text here."""
    counts = frame.group_by("app").agg(pl.col("duration").str.contains(r"^0+:0+:0+$").all().alias("instant"))
    instant: dict[str, bool] = dict(counts.rows())
    shaped = {name: (match["stem"].lower(), match["inner"]) for name in instant if (match := NAMED.match(name))}
    screens = SCREEN | {stem for stem, inner in shaped.values() if inner.lower() in LOCKS}
    posts = NOTIFICATION | _posts(shaped, instant)
    return {
        name
        for name in instant
        if name.lower() in screens | BOOT or (name in shaped and shaped[name][0] in screens | posts)
    }


def _posts(shaped: dict[str, tuple[str, str]], instant: dict[str, bool]) -> set[str]:
    """Stems that only ever name other apps and never last."""
    inner: dict[str, list[str]] = {}
    for name, (stem, app) in shaped.items():
        inner.setdefault(stem, []).append(app if instant[name] else "")
    return {stem for stem, apps in inner.items() if "" not in apps and sum(app in instant for app in apps) >= 2}
