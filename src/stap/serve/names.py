"""Who is here and which apps they hide, in memory: every request asks. Only the writer changes it, commit by commit."""

from __future__ import annotations

from stap.serve.store import Store

NONE: frozenset[str] = frozenset()


class Names:
    """What the store says of users and hidden apps. Any thread may ask; changes are told after their commit."""

    def __init__(self, store: Store) -> None:
        self._users = {person.name: person.user for person in store.people()}
        self._hidden = {user: frozenset(store.hidden(user)) for user in self._users.values()}

    def user(self, name: str) -> int | None:
        return self._users.get(name)

    def hidden(self, user: int) -> frozenset[str]:
        return self._hidden.get(user, NONE)

    def came(self, name: str, user: int) -> None:
        self._users[name] = user

    def left(self, name: str) -> None:
        user = self._users.pop(name, None)
        if user is not None:
            self._hidden.pop(user, None)

    def hid(self, user: int, app: str) -> None:
        self._hidden[user] = self.hidden(user) | {app}

    def showed(self, user: int, app: str) -> None:
        self._hidden[user] = self.hidden(user) - {app}
