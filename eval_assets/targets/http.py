"""
The one HTTP client: pool, time-outs, attempts, and a cap on what is read. Knows no wire format.

Everything that can go wrong on the way to a reply and back leaves here as `Unavailable`. When to ask again is decided
in `retrying`, who may send in `limits`, what must not be shown in `redaction`.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.cookiejar
import itertools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport, HttpxAiohttpClient

from eval_assets.targets import cassette, credentials, limits, retrying
from eval_assets.targets.cassette import QUERY
from eval_assets.targets.cassette_transport import CassetteTransport
from eval_assets.targets.limits import Limiter, Turn, WaitTooLong
from eval_assets.targets.redaction import Redactor, without_what_varies
from eval_assets.targets.retrying import RETRIED_STATUSES, Patience, Waits
from eval_assets.targets.specs import EndpointSpec
from eval_assets.targets.sse import StreamBroken
from eval_assets.targets.target import Unavailable

_T = TypeVar("_T")

_CONNECT_S = 10.0
# Shorter than the five seconds of uvicorn and Node: asking over a connection that just closes costs an attempt.
_KEEPALIVE_S = 4.0
_DRAIN_S = 0.1
_EXCERPT = 200
_MB = 1_000_000
_BYTES_PER_TOKEN = 4
_NEVER_RETRIED = (
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.TooManyRedirects,
    httpx.InvalidURL,
    aiohttp.ClientSSLError,
    ssl.SSLCertVerificationError,
)
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict, aiohttp.ClientError, OSError)
"""`httpx-aiohttp` lets through what it cannot map, such as an answer that is not HTTP; `OSError` includes time-outs."""


class Reply(NamedTuple):
    """A whole HTTP reply."""

    status: int
    content_type: str
    body: bytes
    attempts: int
    """Tries it took, this one included."""
    turn: Turn | None = None
    """What it counts as against `tokens_per_minute`."""

    @property
    def is_success(self) -> bool:
        return httpx.codes.is_success(self.status)

    @property
    def is_redirect(self) -> bool:
        return httpx.codes.is_redirect(self.status)

    @property
    def text(self) -> str:
        """The body as text, whatever it holds."""
        return self.body.decode(errors="replace")


class Streamed(NamedTuple, Generic[_T]):
    """A reply, and what was made of it where it was an event stream; its body is then empty."""

    reply: Reply
    made: _T | None


class HttpClient:
    """Posts, tries again where that can help, and says clearly when there is no reply. Made by `open_client`."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        timeout_s: float,
        patience: Patience,
        limiter: Limiter,
        max_body_mb: float = 32.0,
        query: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._patience = patience
        self._limiter = limiter
        self._max_body_mb = max_body_mb
        self._query = dict(query or {})
        self._redactor = Redactor(secrets)

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Reply:
        """
        Post a body and read the whole reply, whatever its status, after the retries it deserves.

        Raises:
            Unavailable: There was no reply, even after retries.
        """
        streamed: Streamed[None] = await self._post(url, body, headers, None)
        return streamed.reply

    async def post_streaming(
        self,
        url: str,
        *,
        body: bytes,
        headers: Mapping[str, str],
        read: Callable[[AsyncIterator[bytes]], Awaitable[_T]],
    ) -> Streamed[_T]:
        """
        Post a body and hand the event stream that comes back to `read`, chunk by chunk, after the retries it deserves.

        Each attempt is read anew. `read` may return before the stream ends, and raises StreamBroken where another
        attempt may help. A reply that is no event stream is read whole, and nothing is made of it.

        Raises:
            Unavailable: There was no reply or no whole stream, even after retries.
        """
        return await self._post(url, body, headers, read)

    def settle(self, reply: Reply, *, tokens: int) -> None:
        """Count what a reply really cost against `tokens_per_minute`, instead of the guess its request was sent on."""
        if reply.turn is not None:
            self._limiter.settle(reply.turn, tokens)

    def excerpt(self, text: str) -> str:
        """
        The beginning of a reply, on one line, fit to be shown, stored and counted.

        Secrets are blacked out before it is cut, and what differs from reply to reply is left out, because a report
        counts reasons.
        """
        shown = without_what_varies(" ".join(self.redact(text).split()))
        return shown if len(shown) <= _EXCERPT else shown[:_EXCERPT] + "…"

    def redact(self, text: str) -> str:
        """The text with every secret this client knows blacked out."""
        return self._redactor.text(text)

    async def _post(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        read: Callable[[AsyncIterator[bytes]], Awaitable[_T]] | None,
    ) -> Streamed[_T]:
        waits, guess = retrying.waits_of_this_run(), len(body) / _BYTES_PER_TOKEN
        for attempt in itertools.count(1):
            try:
                async with self._limiter.turn(waits, self._patience, guess=guess) as turn:
                    return await self._send(_Request(url, body, headers, attempt), turn, read)
            except WaitTooLong as failure:
                raise Unavailable(self.redact(str(failure)), attempts=max(attempt - 1, 1)) from None
            except _Refused as refused:
                if attempt >= self._patience.max_attempts:
                    return Streamed(refused.reply, None)
                await self._back_off(refused, attempt, waits, why=_refusal(url, refused.reply))
            except (StreamBroken, _TooLarge, *_FAILURES) as failure:
                reason = self.redact(self._reason(url, failure))
                if attempt >= self._patience.max_attempts or not _may_pass(failure):
                    raise Unavailable(reason, attempts=attempt) from failure
                await self._back_off(failure, attempt, waits, why=reason)
        raise AssertionError("unreachable")

    async def _send(
        self, request: _Request, turn: Turn, read: Callable[[AsyncIterator[bytes]], Awaitable[_T]] | None
    ) -> Streamed[_T]:
        """Send once, and tell the limiter how it went while the place is still held: nobody slips in between."""
        try:
            streamed = await self._exchange(request, turn, read)
        except StreamBroken:
            self._limiter.lower(turn)
            raise
        except _Refused as refused:
            if refused.reply.status in retrying.RATE_LIMITED:
                self._limiter.lower(turn)
            if refused.told_s:
                self._limiter.pause(refused.told_s, why=_refusal(request.url, refused.reply))
            raise
        if streamed.reply.is_success:
            self._limiter.rise()
        return streamed

    async def _exchange(
        self, request: _Request, turn: Turn, read: Callable[[AsyncIterator[bytes]], Awaitable[_T]] | None
    ) -> Streamed[_T]:
        extensions = {QUERY: self._query} if self._query else {}
        # The transport's own read timeout starts anew with every byte, so a server that drips would never time out.
        async with (
            asyncio.timeout(self._timeout_s),
            self._client.stream(
                "POST", request.url, content=request.body, headers=request.headers, extensions=extensions
            ) as response,
        ):
            reply = Reply(response.status_code, response.headers.get("content-type", ""), b"", request.attempt, turn)
            chunks = self._capped(response)
            if read is not None and reply.is_success and "event-stream" in reply.content_type:
                made = await read(chunks)
                await _drain(chunks)
                return Streamed(reply, made)
            reply = reply._replace(body=b"".join([chunk async for chunk in chunks]))
        if reply.status in RETRIED_STATUSES:
            told_s = retrying.told_wait_s(reply.status, response.headers, reply.body)
            raise _Refused(reply, told_s=told_s)
        return Streamed(reply, None)

    async def _capped(self, response: httpx.Response) -> AsyncIterator[bytes]:
        left = self._max_body_mb * _MB
        async for chunk in response.aiter_bytes():
            left -= len(chunk)
            if left < 0:
                raise _TooLarge
            yield chunk

    async def _back_off(self, failure: Exception, attempt: int, waits: Waits, *, why: str) -> None:
        told_s = failure.told_s if isinstance(failure, _Refused) else None
        if told_s:
            return  # the limiter holds everyone of this key back until then, and some of them a little longer
        rate_limited = isinstance(failure, _Refused) and failure.reply.status in retrying.RATE_LIMITED
        seconds = retrying.backoff_s(attempt, rate_limited=rate_limited, ceiling_s=self._patience.max_wait_s)
        try:
            limits.check_run(seconds, waits, self._patience, why=why)
        except WaitTooLong as too_long:
            raise Unavailable(self.redact(str(too_long)), attempts=attempt) from None
        await limits.sleep(seconds, waits)

    def _reason(self, url: str, failure: Exception) -> str:
        cause = _cause(failure)
        if isinstance(cause, StreamBroken):
            return f"{url} streamed no whole answer: {self.excerpt(str(cause))}"
        if isinstance(cause, _TooLarge):
            return f"the answer of {url} is larger than max_body_mb ({self._max_body_mb:g} MB)"
        if isinstance(cause, aiohttp.ConnectionTimeoutError):
            seconds = min(self._timeout_s, _CONNECT_S)
            return f"could not connect to {url} within {seconds:g} s. Is the server running, and is base_url right?"
        if isinstance(cause, (TimeoutError, httpx.TimeoutException)):
            return f"no answer from {url} within {self._timeout_s:g} s. Raise timeout_s, or look at the server."
        detail = self.excerpt(str(getattr(cause, "os_error", cause))) or type(cause).__name__
        if isinstance(cause, (aiohttp.ClientSSLError, ssl.SSLError)):
            return f"could not trust {url}: {detail}. SSL_CERT_FILE may name further authorities."
        if isinstance(cause, (aiohttp.ClientConnectorError, httpx.ConnectError)):
            return f"could not connect to {url}: {detail}. Is the server running, and is base_url right?"
        if isinstance(cause, (aiohttp.ClientConnectionError, httpx.NetworkError)):
            return f"{url} closed the connection without an answer: {detail}"
        return f"no readable answer from {url}: {type(cause).__name__}: {detail}"


@contextlib.asynccontextmanager
async def open_client(spec: EndpointSpec, *, concurrency: int) -> AsyncIterator[HttpClient]:
    """
    Open the client of one target for one evaluation.

    Args:
        spec: Who is asked, and how politely.
        concurrency: Requests in flight at most; fewer while the provider says it is too much.
    """
    limiter = limits.limiter_of(credentials.identity(spec))
    limiter.open(
        concurrency=concurrency,
        requests_per_minute=None if cassette.is_replaying() else spec.requests_per_minute,
        tokens_per_minute=None if cassette.is_replaying() else spec.tokens_per_minute,
    )
    async with _httpx_client(concurrency, spec.timeout_s) as client:
        yield HttpClient(
            client,
            timeout_s=spec.timeout_s,
            patience=Patience(spec.max_attempts, spec.max_wait_s, spec.max_run_wait_s),
            limiter=limiter,
            max_body_mb=spec.max_body_mb,
            query=spec.query,
            secrets=credentials.secrets(spec),
        )


def _httpx_client(concurrency: int, timeout_s: float) -> httpx.AsyncClient:
    return _Client(
        verify=httpx.create_ssl_context(),
        limits=httpx.Limits(
            max_connections=concurrency, max_keepalive_connections=concurrency, keepalive_expiry=_KEEPALIVE_S
        ),
        timeout=httpx.Timeout(connect=min(timeout_s, _CONNECT_S), read=timeout_s, write=timeout_s, pool=None),
        # Runs are independent: what a server remembers of one by a cookie must not reach the next.
        cookies=http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(allowed_domains=[])),
        # A proxy that the environment names cannot reach this machine's own loopback.
        mounts={"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None},
        follow_redirects=False,
    )


class _Client(HttpxAiohttpClient):
    """httpx over aiohttp: httpx's own pool costs O(connections²) per request."""

    def _init_transport(
        self, *_: Any, transport: httpx.AsyncBaseTransport | None = None, **options: Any
    ) -> httpx.AsyncBaseTransport:
        return CassetteTransport(transport or _Transport(**options))

    def _init_proxy_transport(self, proxy: httpx.Proxy, *_: Any, **options: Any) -> httpx.AsyncBaseTransport:
        return CassetteTransport(_Transport(proxy=proxy, **options))


class _Transport(AiohttpTransport):
    def get_client(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self.limits.max_connections or 0,
            keepalive_timeout=self.limits.keepalive_expiry,
            ssl=self.ssl_context,
        )
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # Last of all, so that a key in a query is in no log of httpx, no cassette and no error that shows the request.
        query = request.extensions.get(QUERY)
        if not query:
            return await super().handle_async_request(request)
        url = request.url.copy_merge_params(query)
        sent = httpx.Request(
            request.method, url, headers=request.headers, content=request.content, extensions=request.extensions
        )
        response = await super().handle_async_request(sent)
        response.request = request
        return response


class _Request(NamedTuple):
    url: str
    body: bytes
    headers: Mapping[str, str]
    attempt: int


class _Refused(Exception):  # never leaves this module: after the last attempt its reply does
    """A reply with a status that deserves another attempt."""

    def __init__(self, reply: Reply, *, told_s: float | None) -> None:
        super().__init__(reply.status)
        self.reply = reply
        self.told_s = told_s


class _TooLarge(Exception):  # never leaves this module: it becomes Unavailable
    """A reply that is larger than anyone will read."""


def _may_pass(failure: Exception) -> bool:
    return not isinstance(failure, (*_NEVER_RETRIED, _TooLarge)) and not isinstance(_cause(failure), _NEVER_RETRIED)


def _refusal(url: str, reply: Reply) -> str:
    return f"HTTP {reply.status} from {url}"


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    # Most streams end right after their last event, and a connection that was read to its end can be used again.
    with contextlib.suppress(*_FAILURES, _TooLarge):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in chunks:
                pass


def _cause(failure: Exception) -> BaseException:
    # `httpx-aiohttp` reports refused and closed connections alike as ConnectTimeout; aiohttp tells them apart.
    return failure.__cause__ if isinstance(failure.__cause__, aiohttp.ClientError) else failure
