"""
The one HTTP client: pool, timeouts, retries, redaction. Knows no wire format.

Everything that can go wrong on the way to a reply and back leaves here as `Unavailable`.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.cookiejar
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import Any, NamedTuple

import aiohttp
import httpx
import stamina
from httpx_aiohttp import AiohttpTransport, HttpxAiohttpClient

from eval_assets.targets.target import Unavailable

RETRIED_STATUSES = frozenset({408, 409, 425, 429, *range(500, 600)})
"""What may well be answered next time."""
_WAIT_CEILING_S = 4.0
_CONNECT_S = 10.0
# Shorter than the five seconds of uvicorn and Node: asking over a connection that just closes costs an attempt.
_KEEPALIVE_S = 4.0
_EXCERPT = 200
_NEVER_RETRIED = (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.TooManyRedirects, httpx.InvalidURL)
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict, aiohttp.ClientError, OSError)
"""`httpx-aiohttp` lets through what it cannot map, such as an answer that is not HTTP; `OSError` includes time-outs."""


class Reply(NamedTuple):
    """A whole HTTP reply."""

    status: int
    content_type: str
    body: bytes
    attempts: int
    """Tries it took, this one included."""

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


class HttpClient:
    """Posts, tries again where that can help, and says clearly when there is no reply. Made by `open_client`."""

    def __init__(
        self, client: httpx.AsyncClient, *, timeout_s: float, max_attempts: int, secrets: Iterable[str]
    ) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._max_attempts = max_attempts
        self._secrets = _secrets_pattern(secrets)

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Reply:
        """
        Post a body and read the whole reply, whatever its status, after the retries it deserves.

        Raises:
            Unavailable: There was no reply, even after retries.
        """
        attempts = 0
        try:
            async for attempt in self._retries():
                with attempt:
                    attempts = attempt.num
                    return await self._post_once(url, body, headers, attempts)
        except _Refused as refused:
            return refused.reply
        except _FAILURES as failure:
            raise Unavailable(self.redact(self._reason(url, failure)), attempts=max(attempts, 1)) from failure
        raise AssertionError("unreachable")

    def excerpt(self, text: str) -> str:
        """The beginning of a reply, on one line, fit to be shown and stored."""
        shown = " ".join(self.redact(text).split())
        return shown if len(shown) <= _EXCERPT else shown[:_EXCERPT] + "…"

    def redact(self, text: str) -> str:
        """The text with every secret this client knows blacked out."""
        return text if self._secrets is None else self._secrets.sub("***", text)

    def _retries(self) -> AsyncIterable[stamina.Attempt]:
        return stamina.retry_context(
            on=_wait_before_retry,
            attempts=self._max_attempts,
            timeout=None,
            wait_initial=0.2,
            wait_max=_WAIT_CEILING_S,
            wait_jitter=0.4,
        )

    async def _post_once(self, url: str, body: bytes, headers: Mapping[str, str], attempts: int) -> Reply:
        # The transport's own read timeout starts anew with every byte, so a server that drips would never time out.
        async with asyncio.timeout(self._timeout_s):
            response = await self._client.post(url, content=body, headers=headers)
        reply = Reply(response.status_code, response.headers.get("content-type", ""), response.content, attempts)
        if reply.status in RETRIED_STATUSES:
            raise _Refused(reply, retry_after=response.headers.get("retry-after"))
        return reply

    def _reason(self, url: str, failure: Exception) -> str:
        cause = _cause(failure)
        if isinstance(cause, aiohttp.ConnectionTimeoutError):
            seconds = min(self._timeout_s, _CONNECT_S)
            return f"could not connect to {url} within {seconds:g} s. Is the server running, and is base_url right?"
        if isinstance(cause, (TimeoutError, httpx.TimeoutException)):
            return f"no answer from {url} within {self._timeout_s:g} s. Raise timeout_s, or look at the server."
        detail = str(getattr(cause, "os_error", cause)).strip() or type(cause).__name__
        if isinstance(cause, (aiohttp.ClientConnectorError, httpx.ConnectError)):
            return f"could not connect to {url}: {detail}. Is the server running, and is base_url right?"
        if isinstance(cause, (aiohttp.ClientConnectionError, httpx.NetworkError)):
            return f"{url} closed the connection without an answer: {detail}"
        return f"no readable answer from {url}: {type(cause).__name__}: {detail}"


@contextlib.asynccontextmanager
async def open_client(
    *, concurrency: int, timeout_s: float, max_attempts: int, secrets: Iterable[str] = ()
) -> AsyncIterator[HttpClient]:
    """
    Open the client of one target for one evaluation.

    Args:
        concurrency: Connections at most; asking with more in flight waits for one.
        timeout_s: Seconds a single attempt may take in all.
        max_attempts: Tries of one request, >= 1.
        secrets: Texts that must never show in an error.
    """
    # The default hook prints a line per retry where structlog is installed, and dagster brings it; attempts are kept in
    # the run's output instead.
    stamina.instrumentation.set_on_retry_hooks([])
    async with _httpx_client(concurrency, timeout_s) as client:
        yield HttpClient(client, timeout_s=timeout_s, max_attempts=max_attempts, secrets=secrets)


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
        return transport or _Transport(**options)

    def _init_proxy_transport(self, proxy: httpx.Proxy, *_: Any, **options: Any) -> httpx.AsyncBaseTransport:
        return _Transport(proxy=proxy, **options)


class _Transport(AiohttpTransport):
    def get_client(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self.limits.max_connections or 0,
            keepalive_timeout=self.limits.keepalive_expiry,
            ssl=self.ssl_context,
        )
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


class _Refused(Exception):  # never leaves this module: after the last attempt its reply does
    """A reply with a status that deserves another attempt."""

    def __init__(self, reply: Reply, *, retry_after: str | None) -> None:
        super().__init__(reply.status)
        self.reply = reply
        self.retry_after = retry_after


def _wait_before_retry(failure: Exception) -> bool | float:
    """Whether to try again, and after how many seconds where the server said so."""
    if isinstance(failure, _Refused):
        seconds = failure.retry_after or ""
        return min(float(seconds), _WAIT_CEILING_S) if seconds.isdecimal() else True
    return isinstance(failure, _FAILURES) and not isinstance(failure, _NEVER_RETRIED)


def _cause(failure: Exception) -> BaseException:
    # `httpx-aiohttp` reports refused and closed connections alike as ConnectTimeout; aiohttp tells them apart.
    return failure.__cause__ if isinstance(failure.__cause__, aiohttp.ClientError) else failure


def _secrets_pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
