"""A connection that asks one question after the other, with as little work as there can be: the server is measured."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, Self


class Line(NamedTuple):
    """An open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: str

    @classmethod
    async def to(cls, port: int, token: str) -> Self:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        return cls(reader, writer, head)

    async def ask(self, method: str, path: str, body: str = "") -> tuple[int, str]:
        """(status, body)."""
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{self.head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin1").lower()
        if "transfer-encoding: chunked" in head:
            text = await self._chunks()
        else:
            text = await self.reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
        return int(head.split(maxsplit=2)[1]), text.decode()

    async def _chunks(self) -> bytes:
        found = b""
        while size := int(await self.reader.readline(), 16):
            found += await self.reader.readexactly(size)
            await self.reader.readline()
        await self.reader.readline()
        return found

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()
