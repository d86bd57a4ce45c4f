"""The common parts of the synchronous and the asynchronous client: everything but sending and sleeping."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import time
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Mapping, Optional, Tuple, Type, Union
from urllib.parse import urlencode, urlsplit

import httpx

from ._version import __version__
from .errors import (
    ConfigurationError,
    ConnectionError,
    GatehouseError,
    ServerError,
    TimedOutError,
    TooManyRequestsError,
    UnexpectedAnswerError,
    error_class,
)
from .types import Answered, ErrorDetail

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0
LONGEST_WAIT_SECONDS = 30
FIRST_POLL_SECONDS = 0.5
LONGEST_POLL_SECONDS = 5.0

_KINDS = {"sandbox": "test key (svc_test_…)", "production": "live key (svc_live_…)"}

BaseUrl = Union[str, Mapping[str, str]]


@dataclass(frozen=True)
class Connection:
    api_key: str
    environment: str
    base_url: str
    """Without a slash at its end."""
    timeout_seconds: float
    retries: int
    longest_retry_after_seconds: float


def connection_of(
    api_key: str,
    base_url: BaseUrl,
    environment: Optional[str],
    timeout_seconds: float,
    retries: int,
    longest_retry_after_seconds: float,
) -> Connection:
    """Raises ConfigurationError for a mistake that can be seen before anything is sent."""
    own = _environment_of(api_key)
    if environment is not None and environment not in _KINDS:
        raise ConfigurationError("environment is sandbox or production.")
    if environment is not None and environment != own:
        raise ConfigurationError(
            f"A {_KINDS[own]} works only in the {own} environment, and this address is the {environment} environment. "
            f"Use a {_KINDS[environment]}."
        )
    numbers = {
        "timeout_seconds": timeout_seconds,
        "retries": retries,
        "longest_retry_after_seconds": longest_retry_after_seconds,
    }
    for name, value in numbers.items():
        if not 0 <= value < math.inf:
            raise ConfigurationError(f"{name} is a number of at least 0.")
    address = base_url if isinstance(base_url, str) else base_url.get(own, "")
    return Connection(
        api_key, own, _require_url(address), timeout_seconds, retries, longest_retry_after_seconds
    )


def _environment_of(api_key: str) -> str:
    if isinstance(api_key, str) and re.fullmatch(r"[!-~]+", api_key):
        if api_key.startswith("svc_test_"):
            return "sandbox"
        if api_key.startswith("svc_live_"):
            return "production"
    raise ConfigurationError("An API key begins with svc_test_ (sandbox) or svc_live_ (production).")


def _require_url(text: str) -> str:
    if _is_url(text):
        return text.rstrip("/")
    raise ConfigurationError("base_url is the address of the gateway, such as https://pay.example.")


def _is_url(text: str) -> bool:
    try:
        httpx.URL(text)
        url = urlsplit(text)
    except (httpx.InvalidURL, ValueError):
        return False
    return url.scheme in ("http", "https") and bool(url.netloc) and not url.query and not url.fragment


@dataclass(frozen=True)
class Call:
    """A request, the same in all its repeats."""

    url: str
    content: bytes
    headers: Dict[str, str]
    request_id: str
    timeout_seconds: float
    wait_seconds: int
    end: Optional[float]
    """The end of a wait, as time.monotonic() tells it. No repeat begins after it."""

    def seconds(self) -> float:
        """The time for one answer."""
        left = math.inf if self.end is None else max(0.0, self.end - time.monotonic())
        # The gateway waits for whole seconds, so up to one more than is left.
        return self.timeout_seconds + min(self.wait_seconds, left + 1)


def call_of(
    connection: Connection,
    path: str,
    body: Mapping[str, Any],
    request_id: Optional[str],
    headers: Optional[Mapping[str, str]] = None,
    wait_seconds: int = 0,
    end: Optional[float] = None,
) -> Call:
    sent_id = request_id or str(uuid.uuid4())
    for value in (sent_id, *(headers or {}).values()):
        if not re.fullmatch(r"[ -~]+", value):
            raise ConfigurationError("A request_id or idempotency_key is printable ASCII and not empty.")
    return Call(
        url=connection.base_url + path,
        content=json.dumps({name: value for name, value in body.items() if value is not None}).encode(),
        headers={
            **(headers or {}),
            "apiKey": connection.api_key,
            "content-type": "application/json",
            "x-request-id": sent_id,
            "user-agent": f"gatehouse-client-python/{__version__}",
        },
        request_id=sent_id,
        timeout_seconds=connection.timeout_seconds,
        wait_seconds=wait_seconds,
        end=end,
    )


def creation_headers(idempotency_key: Optional[str]) -> Dict[str, str]:
    return {"idempotency-key": idempotency_key or str(uuid.uuid4())}


def direct_path(payment_option: str) -> str:
    return f"/api/v1/direct?{urlencode({'payment_option': payment_option})}"


def no_answer(call: Call, seconds: float, cause: Exception) -> ConnectionError:
    """The error for a request without an answer."""
    # Before Python 3.11, asyncio's TimeoutError is another class.
    if isinstance(cause, (httpx.TimeoutException, TimeoutError, asyncio.TimeoutError)):
        return TimedOutError(
            f"No answer from {call.url} within {seconds:g} seconds", call.request_id
        )
    return ConnectionError(f"No answer from {call.url}: {cause}", call.request_id)


@dataclass(frozen=True)
class Success:
    """A success, as a gateway or another server answered it."""

    body: Dict[str, Any]
    headers: httpx.Headers
    status: int
    request_id: str
    base_url: str

    def data(self, kind: Type[Answered]) -> Answered:
        """The data of the body. Raises UnexpectedAnswerError when it is not that of a gateway."""
        data = self.body.get("data")
        if isinstance(data, dict):
            return self._result(kind, data)
        raise self.unexpected("what was asked for (data is no object)")

    def whole(self, kind: Type[Answered]) -> Answered:
        """The body. Raises UnexpectedAnswerError when it is not that of a gateway."""
        return self._result(kind, self.body)

    def _result(self, kind: Type[Answered], json: Dict[str, Any]) -> Answered:
        try:
            return kind.of(json)
        except ValueError as error:
            raise self.unexpected(f"what was asked for ({error})") from None

    def unexpected(self, lack: str) -> UnexpectedAnswerError:
        text = f"{self.base_url} answered {self.status} without {lack}: is it a gateway?"
        return UnexpectedAnswerError(text, self.status, self.request_id)


def read(
    connection: Connection, call: Call, response: httpx.Response, content: bytes, may_have_happened: bool
) -> Success:
    """A success. Raises GatehouseError for every other answer.

    `may_have_happened` tells whether an earlier try of the request got a 5xx or no answer.
    """
    request_id = response.headers.get("x-request-id", call.request_id)
    body = _object(content)
    if response.is_success:
        success = Success(
            body or {}, response.headers, response.status_code, request_id, connection.base_url
        )
        if body is None:
            raise success.unexpected("JSON")
        return success
    if response.is_redirect:
        text = f"{connection.base_url} redirects requests to another address: use that one"
        raise UnexpectedAnswerError(text, response.status_code, request_id)
    message = (body or {}).get("message")
    advice = ""
    if response.status_code == 401:
        advice = (
            f"a {_KINDS[connection.environment]} works only at the {connection.environment} address of the gateway: "
            f"check that {connection.base_url} is that address, and that the key is not revoked"
        )
    raise error_class(response.status_code)(
        status=response.status_code,
        api_message=message if isinstance(message, str) else response.reason_phrase or "no message",
        details=_details((body or {}).get("details")),
        request_id=request_id,
        retry_after=_seconds_until(response.headers.get("retry-after")),
        advice=advice,
        may_have_happened=may_have_happened,
    )


def _object(content: bytes) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _details(value: Any) -> Tuple[ErrorDetail, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(
        ErrorDetail(each["field"], each["issue"])
        for each in value
        if isinstance(each, dict) and "field" in each and "issue" in each
    )


def _seconds_until(retry_after: Optional[str]) -> Optional[int]:
    """Retry-After is in seconds, or a date."""
    if retry_after is None:
        return None
    if re.fullmatch(r"[0-9]{1,15}", retry_after):
        return int(retry_after)
    try:
        until = parsedate_to_datetime(retry_after)
    except (TypeError, ValueError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=timezone.utc)
    return max(0, math.ceil((until - datetime.now(timezone.utc)).total_seconds()))


def pause_before_repeat(
    connection: Connection, call: Call, error: GatehouseError, repeats: int
) -> Optional[float]:
    """The pause in seconds before a repeat; None when the request is not repeated.

    No repeat begins after the end of a wait.
    """
    pause = _pause_before_repeat(connection, error, repeats)
    is_over = pause is not None and call.end is not None and time.monotonic() + pause >= call.end
    return None if is_over else pause


def _pause_before_repeat(connection: Connection, error: GatehouseError, repeats: int) -> Optional[float]:
    """The pause without regard to the end of a wait.

    Repeated are requests without an answer, 5xx, and 429 with a Retry-After. The pause doubles each time and varies at random,
    so that clients that failed together do not return together.
    """
    if repeats >= connection.retries:
        return None
    longest: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0**repeats)
    pause = longest / 2 + longest / 2 * random.random()
    if isinstance(error, ConnectionError):
        return pause
    if not isinstance(error, (ServerError, TooManyRequestsError)):
        return None
    if error.retry_after is None:
        return pause if isinstance(error, ServerError) else None
    return None if error.retry_after > connection.longest_retry_after_seconds else error.retry_after + pause


class Wait:
    """The requests of one wait for an order."""

    def __init__(self, timeout_seconds: float) -> None:
        self.end = time.monotonic() + timeout_seconds
        self._polls = 0

    def next_seconds(self) -> int:
        """The time that the gateway is asked to wait."""
        return min(LONGEST_WAIT_SECONDS, max(0, math.ceil(self.end - time.monotonic())))

    def pause_after(self, status: str, has_waited: bool) -> Optional[float]:
        """The pause in seconds before the next request; None when there is none."""
        left = self.end - time.monotonic()
        if status != "PENDING" or left <= 0:
            return None
        poll = FIRST_POLL_SECONDS
        if not has_waited:
            poll = min(LONGEST_POLL_SECONDS, FIRST_POLL_SECONDS * 2.0**self._polls)
        self._polls += 1
        return min(left, poll * (0.5 + random.random() / 2))


def wait_headers(seconds: int) -> Dict[str, str]:
    return {} if seconds == 0 else {"prefer": f"wait={seconds}"}
