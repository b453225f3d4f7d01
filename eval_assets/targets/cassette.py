"""
Cassettes: what a target was asked over HTTP and what came back, kept in a file of JSON lines and replayed from it.

A line per run, with its exchanges in order, because a run is what is replayed: the k-th run of a case gets the k-th
that was recorded, whatever order runs finish in. Where requests meet a cassette is `cassette_transport`; here is the
file. A cassette is handed on by context and not by parameter, because every kind of target passes by and none needs to
know of it.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from eval_assets.errors import ConfigError
from eval_assets.model import gojson
from eval_assets.model.cases import Case
from eval_assets.model.runs import RunOutput
from eval_assets.targets.redaction import BLACKED_OUT, Redactor
from eval_assets.targets.target import Target, Unavailable

FORMAT = "eval_assets.cassette.v1"
QUERY = "eval_assets.query"
"""The extension of a request that holds its query, where that travels apart from the URL."""
_SECRET_PARAMETERS = re.compile(r"(?i).*(key|token|secret|sig|signature|password|auth).*")
_RUN_ID = "{run_id}"

RunKey = tuple[str, int]
"""(case_hash, run_index)."""


class CassetteMiss(Unavailable):
    """The cassette holds no reply to this request. What the target would have said is unknown."""


class Request(NamedTuple):
    """What decides the reply: nothing of the headers, and no run id that a body template may hold."""

    method: str
    url: str
    body: Any
    """The JSON, or the text where it is none."""

    @classmethod
    def of(cls, method: str, url: str, content: bytes, *, run_id: str) -> Request:
        """Read a request, with its run id and the keys in its query taken out."""
        text = content.decode(errors="replace").replace(run_id, _RUN_ID)
        try:
            body = json.loads(text)
        except ValueError:
            body = text
        return cls(method, _without_keys(url.replace(run_id, _RUN_ID)), body)

    @property
    def key(self) -> str:
        """Equal for requests that ask the same: method, URL and body, so model, messages, tools and sampling."""
        return hashlib.sha256(gojson.utf8(json.dumps(self, sort_keys=True, ensure_ascii=False))).hexdigest()[:32]


class Response(NamedTuple):
    """A whole reply, decoded."""

    status: int
    content_type: str
    body: bytes


class Exchange(NamedTuple):
    """A request and its reply. None where there was none to be had."""

    request: Request
    response: Response | None


class Recorder:
    """Records every run that is asked while it is in use. Made by `recorder`."""

    replayed_from: None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._of: dict[str, str] = {}
        self._descriptor: int | None = None

    def begin(self, *, suite: str, target: str, evaluation_id: str) -> set[RunKey]:
        """
        Record an evaluation from here on, in place of what the file held of this target.

        Returns:
            The runs of this very evaluation that it holds already, where that was interrupted.

        Raises:
            ConfigError: The file cannot be written, is no cassette, or is being recorded by another process.
        """
        self.close()
        self._of = {"suite": suite, "target": target, "evaluation": evaluation_id}
        kept = [entry for entry in _entries(self.path) if not self._is_superseded(entry)] if _holds(self.path) else []
        _rewrite(self.path, kept)
        self._descriptor = _locked(self.path)
        return {entry.run_key for entry in kept if entry.document.get("evaluation") == evaluation_id}

    async def ask(
        self, target: Target, name: str, case: Case, run_index: int, run_id: str, *, redactor: Redactor
    ) -> RunOutput:
        """Ask a target and record what passed between."""
        asked = Recorded(run_id)
        with _being_asked(asked):
            output = await target.ask(case, run_index, run_id)
        if asked.exchanges or output.unavailable:
            self._append(name, case, run_index, run_id, asked.exchanges, output, redactor)
        return output

    def close(self) -> None:
        """Bring the file into the order of the runs, and let others have it. Safe to call twice."""
        if self._descriptor is None:
            return
        try:
            _rewrite(self.path, sorted(_entries(self.path), key=_order))
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def _append(
        self,
        name: str,
        case: Case,
        run_index: int,
        run_id: str,
        exchanges: Iterable[Exchange],
        output: RunOutput,
        redactor: Redactor,
    ) -> None:
        document = {
            **self._of,
            "asked": name,
            "case": case.name,
            "case_hash": case.hash,
            "run": run_index,
            "run_id": run_id,
            "latency_s": output.latency_s,
            "attempts": output.attempts,
            "unavailable": output.error if output.unavailable else None,
            "exchanges": [_written(exchange, redactor) for exchange in exchanges],
        }
        assert self._descriptor is not None  # noqa: S101  begin() comes before the first run
        # One write of a whole line: a crash loses a run that the journal has not got either.
        line = _line(redactor.value(document))
        written = os.write(self._descriptor, line)
        while written < len(line):
            written += os.write(self._descriptor, line[written:])

    def _is_superseded(self, entry: _Entry) -> bool:
        found = {part: entry.document.get(part) for part in ("suite", "target")}
        same_target = all(found[part] == self._of[part] for part in found)
        return same_target and entry.document.get("evaluation") != self._of["evaluation"]


class Player:
    """Answers from a file every request made while it is in use; the network is never asked. Made by `player`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = ""
        self._groups: dict[str, dict[tuple[str, str], dict[int, _Place]]] = {}
        self._counts: dict[str, Counter[str]] = {}
        for entry in _entries(path):
            of, asked = str(entry.document.get("target")), str(entry.document.get("asked"))
            groups = self._groups.setdefault(str(entry.document.get("case")), {})
            groups.setdefault((of, asked), {})[entry.run_key[1]] = entry.place
        if not self._groups:
            raise ConfigError(f"the cassette {path} holds no run; record one: eval-assets run … --record {path}")
        with path.open("rb") as file:
            self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def replayed_from(self) -> str:
        """Which cassette answers: its name and the beginning of its hash."""
        return f"{self.path.name} (sha256 {self._sha256[:16]})"

    def begin(self, *, suite: str, target: str, evaluation_id: str) -> set[RunKey]:  # noqa: ARG002  # as Recorder's
        """Replay an evaluation from here on. Nothing of it is replayed yet."""
        self._target = target
        return set()

    async def ask(
        self,
        target: Target,
        name: str,
        case: Case,
        run_index: int,
        run_id: str,
        *,
        redactor: Redactor,  # noqa: ARG002  # as Recorder's
    ) -> RunOutput:
        """Ask a target that is answered from the file. Latency and attempts are those recorded."""
        place = self._runs(name, case.name).get(run_index)
        replayed = Replayed(self, name, case.name, run_index, run_id, None if place is None else self._read(place))
        with _being_asked(replayed):
            output = await target.ask(case, run_index, run_id)
        if place is None or replayed.missed:
            return output
        recorded = replayed.document
        told = {"latency_s": recorded.get("latency_s"), "attempts": recorded.get("attempts") or 1}
        return output.model_copy(update={**told, "served_by": f"{self._sha256[:16]}:{place.line}"})

    def close(self) -> None:
        """Nothing is held open."""

    def recorded_times(self, name: str, case_name: str, key: str) -> int:
        """In how many runs of a case a request is recorded."""
        group = f"{name}\x00{case_name}"
        if group not in self._counts:
            runs = [self._read(place) for place in self._runs(name, case_name).values()]
            self._counts[group] = Counter(key for run in runs for key in {each["key"] for each in run["exchanges"]})
        return self._counts[group][key]

    def _runs(self, name: str, case_name: str) -> dict[int, _Place]:
        groups = self._groups.get(case_name, {})
        # A target that was renamed since is found where nobody else can be meant: the key decides whether it answers.
        only = next(iter(groups.values())) if len(groups) == 1 else {}
        return groups.get((self._target, name), only)

    def _read(self, place: _Place) -> dict[str, Any]:
        with self.path.open("rb") as file:
            file.seek(place.offset)
            document: dict[str, Any] = json.loads(file.read(place.length))
        return document


Cassette = Recorder | Player


class Recorded:
    """A run that is being recorded: its exchanges so far."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.exchanges: list[Exchange] = []

    def add(self, request: Request, response: Response | None) -> None:
        """Keep an exchange. One that repeats the last request is another attempt at it, and takes its place."""
        if self.exchanges and self.exchanges[-1].request == request:
            self.exchanges.pop()
        self.exchanges.append(Exchange(request, response))


class Replayed:
    """A run that is being replayed: what is recorded of it, and how far it got."""

    def __init__(
        self, player: Player, name: str, case_name: str, run_index: int, run_id: str, document: dict[str, Any] | None
    ) -> None:
        self.run_id = run_id
        self.document = document or {"exchanges": []}
        self.missed = False
        self._asked = (name, case_name, run_index)
        self._player = player
        self._turn = 0

    def answer(self, request: Request) -> Response:
        """
        The recorded reply to this request, which is the next of its run.

        Raises:
            CassetteMiss: No such request is recorded here.
            Unavailable: There was no reply when it was recorded either.
        """
        exchanges, turn = self.document["exchanges"], self._turn
        unavailable = self.document.get("unavailable")
        is_next = turn < len(exchanges) and exchanges[turn]["key"] == request.key
        if unavailable and (not exchanges or (is_next and turn == len(exchanges) - 1)):
            raise Unavailable(unavailable, attempts=self.document.get("attempts") or 1)
        if not is_next or exchanges[turn]["response"] is None:
            self.missed = True
            raise CassetteMiss(self._miss(request))
        self._turn += 1
        return _read_response(exchanges[turn]["response"])

    def _miss(self, request: Request) -> str:
        name, case_name, run_index = self._asked
        recorded = self._player.recorded_times(name, case_name, request.key)
        turn = f", turn {self._turn + 1}" if self._turn else ""
        advice = "what is asked has changed since" if not recorded else "it was recorded fewer times than it is asked"
        return (
            f"{self._player.path.name} holds no reply to key {request.key} ({request.method} {request.url}) for run "
            f"{run_index} of case {case_name!r}{turn}: recorded {recorded}, asked {run_index + 1}; {advice}. "
            "Record it again with --record"
        )


class CassetteTarget:
    """A target of which every run passes a cassette."""

    def __init__(self, cassette: Cassette, name: str, target: Target, *, redactor: Redactor) -> None:
        self._cassette = cassette
        self._name = name
        self._target = target
        self._redactor = redactor

    async def ask(self, case: Case, run_index: int, run_id: str) -> RunOutput:
        return await self._cassette.ask(self._target, self._name, case, run_index, run_id, redactor=self._redactor)


_IN_USE: ContextVar[Cassette | None] = ContextVar("cassette_in_use", default=None)
_ASKED: ContextVar[Recorded | Replayed | None] = ContextVar("cassette_asked", default=None)


def recorder(path: Path) -> Recorder:
    """
    Record to a file; one that is a cassette already keeps what it holds of other targets.

    Raises:
        ConfigError: The file is there and no cassette, or cannot be made.
    """
    if _holds(path):
        _check_header(path)
    elif not path.parent.is_dir():
        raise ConfigError(f"the folder {path.parent} of the cassette does not exist; make it first")
    return Recorder(path)


def player(path: Path) -> Player:
    """
    Replay from a file.

    Raises:
        ConfigError: There is no such file, it is no cassette, holds no run, or a line that cannot be read.
    """
    if not path.is_file():
        raise ConfigError(f"there is no cassette {path}; record one: eval-assets run … --record {path}")
    return Player(path)


@contextlib.contextmanager
def in_use(cassette: Cassette | None) -> Iterator[None]:
    """Let every target that is opened in the block pass a cassette; None leaves all as it is."""
    token = _IN_USE.set(cassette)
    try:
        yield
    finally:
        _IN_USE.reset(token)
        if cassette is not None:
            cassette.close()


def current() -> Cassette | None:
    """The cassette in use."""
    return _IN_USE.get()


def is_replaying() -> bool:
    """Whether the network is not to be asked, so that no key is needed."""
    return isinstance(_IN_USE.get(), Player)


def asked() -> Recorded | Replayed | None:
    """The run that is being asked, where it passes a cassette."""
    return _ASKED.get()


@contextlib.contextmanager
def _being_asked(run: Recorded | Replayed) -> Iterator[None]:
    token = _ASKED.set(run)
    try:
        yield
    finally:
        _ASKED.reset(token)


class _Place(NamedTuple):
    line: int
    offset: int
    length: int


class _Entry(NamedTuple):
    """A line of a cassette without its exchanges, which may be larger than memory together."""

    place: _Place
    document: dict[str, Any]
    source: Path

    @property
    def run_key(self) -> RunKey:
        return str(self.document.get("case_hash")), int(self.document["run"])


def _order(entry: _Entry) -> tuple[str, str, bool, int, int]:
    of = entry.document
    number = str(of.get("run_id")).rpartition("-")[2]
    is_judge = of.get("asked") != of.get("target")
    return str(of.get("suite")), str(of.get("target")), is_judge, int(number) if number.isdecimal() else 0, of["run"]


def _holds(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _check_header(path: Path) -> None:
    with path.open("rb") as file:
        try:
            header = json.loads(file.readline())
        except ValueError:
            header = None
    found = header.get("format") if isinstance(header, dict) else None
    if found != FORMAT:
        raise ConfigError(f"{path}:1: found format {found!r}, wanted {FORMAT!r}; this file is no cassette")


def _entries(path: Path) -> Iterator[_Entry]:
    """Every run of a cassette. A last line that was torn in the writing is left out."""
    _check_header(path)
    offset = 0
    torn: str | None = None
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if torn is not None:
                raise ConfigError(torn)
            place, offset = _Place(number, offset, len(line)), offset + len(line)
            if number == 1 or not line.strip():
                continue
            try:
                yield _Entry(place, _head(json.loads(line)), path)
            except (ValueError, TypeError, KeyError) as error:
                torn = f"{path}:{number}: this line of the cassette cannot be read ({error}); record it again"


def _head(document: Any) -> dict[str, Any]:
    for exchange in document["exchanges"]:
        _ = (exchange["key"], exchange["response"])
    if not isinstance(document["run"], int):
        raise TypeError(f"`run` is {document['run']!r}")
    return {key: value for key, value in document.items() if key != "exchanges"}


def _rewrite(path: Path, entries: Iterable[_Entry]) -> None:
    """The file anew with these lines, written aside and renamed; left alone where nothing would change."""
    listed = list(entries)
    header = _line({"format": FORMAT})
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as draft:
        draft.write(header)
        for entry in listed:
            with entry.source.open("rb") as source:
                source.seek(entry.place.offset)
                draft.write(source.read(entry.place.length).rstrip(b"\n") + b"\n")
        draft.flush()
        os.fsync(draft.fileno())
    Path(draft.name).chmod(0o644)
    Path(draft.name).replace(path)


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ConfigError(f"the cassette {path} is being recorded by another process; name another file") from None
    return descriptor


def _line(document: Any) -> bytes:
    return gojson.utf8(json.dumps(document, ensure_ascii=False)) + b"\n"


def _written(exchange: Exchange, redactor: Redactor) -> dict[str, Any]:
    # The key is of what was asked, before redaction: what is written is for people, the key is for finding it again.
    response = exchange.response
    return {
        "key": exchange.request.key,
        "request": exchange.request._asdict(),
        "response": None if response is None else _written_response(response, redactor),
    }


def _written_response(response: Response, redactor: Redactor) -> dict[str, Any]:
    written: dict[str, Any] = {"status": response.status, "content_type": response.content_type}
    try:
        text = response.body.decode()
    except UnicodeDecodeError:
        # What is not text is redacted as what it would be read as, or a key would hide in the base64.
        shown = redactor.text(response.body.decode("latin-1")).encode("latin-1", errors="replace")
        return {**written, "base64": base64.b64encode(shown).decode()}
    try:
        return {**written, "json": json.loads(text)}
    except (ValueError, RecursionError):
        return {**written, "text": text}


def _read_response(written: dict[str, Any]) -> Response:
    if "json" in written:
        body = json.dumps(written["json"]).encode()
    elif "text" in written:
        body = gojson.utf8(written["text"])
    else:
        body = base64.b64decode(written["base64"])
    return Response(written["status"], written["content_type"], body)


def _without_keys(url: str) -> str:
    parts = urlsplit(url)
    if not parts.query and "@" not in parts.netloc:
        return url
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    shown = [(name, BLACKED_OUT if _SECRET_PARAMETERS.fullmatch(name) else value) for name, value in pairs]
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=urlencode(shown, safe="*")))
