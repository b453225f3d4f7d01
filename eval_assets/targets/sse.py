"""Server-sent events: bytes as they arrive, cut into events. Knows no wire format, and no network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")


class StreamBroken(Exception):  # never leaves targets/: after the last attempt it becomes Unavailable
    """A stream that ended early, or whose server says it is overloaded. Another attempt may be answered."""


class Event(NamedTuple):
    """One event. Providers repeat its name within the data, so the data alone is enough."""

    name: str
    data: str


class Decoder:
    """
    Cuts a stream into events; lines, characters and events may be split over chunks anywhere.

    Only CR, LF and CR LF end a line: JSON may hold the other separators that `str.splitlines` would cut at.

    Source:
        WHATWG HTML, "Server-sent events". Unlike there, an event at the very end needs no blank line after it.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._held = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that this chunk completes."""
        *lines, self._rest = _LINE_END.split(self._held_back(self._rest + chunk))
        self._rest += self._held
        for line in lines:
            yield from self._take(line.decode(errors="replace"))

    def end(self) -> Iterator[Event]:
        """What the stream ended on."""
        for line in (*_LINE_END.split(self._rest), b""):
            yield from self._take(line.decode(errors="replace"))
        self._rest = b""

    def _held_back(self, read: bytes) -> bytes:
        # The LF of a CR LF may be in the next chunk.
        self._held = b"\r" if read.endswith(b"\r") else b""
        return read.removesuffix(self._held) if self._held else read

    def _take(self, line: str) -> Iterator[Event]:
        if not line:
            if self._data:
                yield Event(self._name, "\n".join(self._data))
            self._name, self._data = "", []
            return
        field, _, value = line.removeprefix("\ufeff").partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
        elif field == "event":
            self._name = value.removeprefix(" ")
