"""Where requests meet a cassette: the transport of the one HTTP client, in front of the network."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

from eval_assets.targets import cassette
from eval_assets.targets.cassette import QUERY, CassetteMiss, Recorded, Replayed, Request, Response


class CassetteTransport(httpx.AsyncBaseTransport):
    """
    Hands requests to the network, records what comes back, or answers from a cassette without asking anyone.

    Which of the three is decided by request, from the run that is being asked.
    """

    def __init__(self, network: httpx.AsyncBaseTransport) -> None:
        self._network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        run = cassette.asked()
        if isinstance(run, Replayed):
            return _replay(request, run.answer(await _read(request, run.run_id)))
        if cassette.is_replaying():
            raise CassetteMiss(f"{request.method} {request.url.host} was asked outside a run, while replaying")
        if run is None:
            return await self._network.handle_async_request(request)
        return await self._record(request, run)

    async def aclose(self) -> None:
        await self._network.aclose()

    async def _record(self, request: httpx.Request, run: Recorded) -> httpx.Response:
        sent = await _read(request, run.run_id)
        run.add(sent, None)
        response = await self._network.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101  an async transport's always is
        response.stream = _Recording(response.stream, response, sent, run)
        return response


class _Recording(httpx.AsyncByteStream):
    """A body on its way to whoever reads it, whole or in pieces; kept once it came to its end."""

    def __init__(self, stream: httpx.AsyncByteStream, response: httpx.Response, sent: Request, run: Recorded) -> None:
        self._stream = stream
        self._response = response
        self._sent = sent
        self._run = run
        self._pieces: list[bytes] = []
        self._is_kept = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._pieces.append(piece)
            yield piece
        self._keep()

    async def aclose(self) -> None:
        # A reader of events may stop at the last one, before the body's end; what it has read is the reply.
        self._keep()
        await self._stream.aclose()

    def _keep(self) -> None:
        if self._is_kept:
            return
        self._is_kept = True
        headers = self._response.headers
        self._run.add(self._sent, Response(self._response.status_code, headers.get("content-type", ""), self._body()))

    def _body(self) -> bytes:
        raw = b"".join(self._pieces)
        encoding = self._response.headers.get("content-encoding")
        if encoding is None:
            return raw
        try:
            return httpx.Response(200, headers={"content-encoding": encoding}, content=raw).content
        except httpx.DecodingError:
            return raw


async def _read(request: httpx.Request, run_id: str) -> Request:
    # A query travels apart, because it may hold a key; without its keys it is part of what is asked.
    url = request.url.copy_merge_params(request.extensions.get(QUERY) or {})
    return Request.of(request.method, str(url), await request.aread(), run_id=run_id)


def _replay(request: httpx.Request, response: Response) -> httpx.Response:
    headers = {"content-type": response.content_type} if response.content_type else {}
    return httpx.Response(response.status, headers=headers, content=response.body, request=request)
