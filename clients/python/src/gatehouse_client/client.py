"""The synchronous client of the merchant API."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Iterator, Mapping, Optional, Tuple, Type

import httpx

from ._protocol import (
    BaseUrl,
    Call,
    Success,
    Wait,
    call_of,
    connection_of,
    creation_headers,
    direct_path,
    no_answer,
    pause_before_repeat,
    read,
    wait_headers,
)
from .errors import GatehouseError
from .types import DirectPayment, OrderExplanation, PaymentOrder, Refund, RegisteredOrder


class Gatehouse:
    """A client of the merchant API of one environment, which blocks.

    Requests without an answer, 5xx, and 429 with a short Retry-After are repeated. That is safe, because the numbers of orders
    and refunds identify them: a repeat never charges or refunds twice. Every call raises GatehouseError when it fails.
    """

    def __init__(
        self,
        api_key: str,
        base_url: BaseUrl,
        *,
        environment: Optional[str] = None,
        timeout_seconds: float = 15,
        retries: int = 3,
        longest_retry_after_seconds: float = 30,
        http: Optional[httpx.Client] = None,
    ) -> None:
        """Raises ConfigurationError when a setting is unusable.

        `api_key` is `svc_test_…` for the sandbox, or `svc_live_…` for production. `base_url` is the address of the gateway for
        the key's environment, or a mapping with the addresses of `sandbox` and `production`. With `environment`, a key of the
        other environment is refused and never sent. `http` sends the requests instead of a client that this class owns.
        """
        self._connection = connection_of(
            api_key, base_url, environment, timeout_seconds, retries, longest_retry_after_seconds
        )
        self._http = httpx.Client() if http is None else http
        self._owns_http = http is None
        self.environment = self._connection.environment

    def register(
        self,
        *,
        order_number: str,
        return_url: str,
        amount: str,
        currency: str,
        reason: str,
        customer_phone: str,
        webhook_url: Optional[str] = None,
        business_name: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        request_id: Optional[str] = None,
    ) -> RegisteredOrder:
        """Registers an order, and gives the URL of its checkout page."""
        body = {
            "order_number": order_number,
            "return_url": return_url,
            "webhook_url": webhook_url,
            "amount": amount,
            "currency": currency,
            "reason": reason,
            "customer_phone": customer_phone,
            "business_name": business_name,
        }
        answer = self._create("/api/v1/register", body, idempotency_key, request_id)
        return answer.data(RegisteredOrder)

    def direct(
        self,
        *,
        payment_option: str,
        order_number: str,
        amount: str,
        currency: str,
        phone: str,
        idempotency_key: Optional[str] = None,
        request_id: Optional[str] = None,
    ) -> DirectPayment:
        """Starts a direct payment: the customer gets a prompt on the phone."""
        body = {"amount": amount, "currency": currency, "order_number": order_number, "phone": phone}
        answer = self._create(direct_path(payment_option), body, idempotency_key, request_id)
        return answer.whole(DirectPayment)

    def verify(self, order_number: str, *, request_id: Optional[str] = None) -> PaymentOrder:
        """Gives the order as it stands. Raises NotFoundError when you have no such order."""
        return (self._verify(order_number, 0, None, request_id))[0]

    def wait(
        self, order_number: str, *, timeout_seconds: float = 60, request_id: Optional[str] = None
    ) -> PaymentOrder:
        """Gives the order as soon as it has left PENDING, or as it stands after `timeout_seconds`.

        The gateway holds the request until then, so the outcome arrives at once. A gateway that fails meanwhile is asked again
        only until then. Raises NotFoundError when you have no such order.
        """
        wait = Wait(timeout_seconds)
        while True:
            order, has_waited = self._verify(order_number, wait.next_seconds(), wait.end, request_id)
            pause = wait.pause_after(order.status, has_waited)
            if pause is None:
                return order
            time.sleep(pause)

    def explain(self, order_number: str, *, request_id: Optional[str] = None) -> OrderExplanation:
        """Tells what the order waits for, who can change that, and what comes next and when.

        It is for people and their tools. Raises NotFoundError when you have no such order.
        """
        body = {"order_number": order_number}
        call = call_of(self._connection, "/api/v1/explain", body, request_id)
        return (self._send(call)).data(OrderExplanation)

    def refund(
        self,
        *,
        order_number: str,
        refund_number: str,
        reason: str,
        amount: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        request_id: Optional[str] = None,
    ) -> Refund:
        """Returns money of a COMPLETED order to the customer. The key needs the scope for refunds."""
        body = {
            "order_number": order_number,
            "refund_number": refund_number,
            "amount": amount,
            "reason": reason,
        }
        answer = self._create("/api/v1/refund", body, idempotency_key, request_id)
        return answer.data(Refund)

    def verify_refund(self, refund_number: str, *, request_id: Optional[str] = None) -> Refund:
        """Gives the refund as it stands. Raises NotFoundError when you have no such refund."""
        body = {"refund_number": refund_number}
        call = call_of(self._connection, "/api/v1/refund/verify", body, request_id)
        return (self._send(call)).data(Refund)

    def close(self) -> None:
        """Closes the connections that this client has opened."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Gatehouse:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _create(
        self,
        path: str,
        body: Mapping[str, Any],
        idempotency_key: Optional[str],
        request_id: Optional[str],
    ) -> Success:
        call = call_of(self._connection, path, body, request_id, creation_headers(idempotency_key))
        return self._send(call)

    def _verify(
        self, order_number: str, wait_seconds: int, end: Optional[float], request_id: Optional[str]
    ) -> Tuple[PaymentOrder, bool]:
        body = {"order_number": order_number}
        headers = wait_headers(wait_seconds)
        call = call_of(self._connection, "/api/v1/verify", body, request_id, headers, wait_seconds, end)
        answer = self._send(call)
        return answer.data(PaymentOrder), "preference-applied" in answer.headers

    def _send(self, call: Call) -> Success:
        repeats = 0
        may_have_happened = False
        while True:
            try:
                return self._attempt(call, may_have_happened)
            except GatehouseError as error:
                may_have_happened = may_have_happened or error.may_have_happened
                pause = pause_before_repeat(self._connection, call, error, repeats)
                if pause is None:
                    raise
            repeats += 1
            time.sleep(pause)

    def _attempt(self, call: Call, may_have_happened: bool) -> Success:
        seconds = call.seconds()
        end = time.monotonic() + seconds
        try:
            with self._http.stream(
                "POST",
                call.url,
                content=call.content,
                headers=call.headers,
                timeout=seconds,
                follow_redirects=False,
            ) as response:
                content = b"".join(_until(end, response.iter_bytes()))
        except (httpx.HTTPError, TimeoutError) as error:
            raise no_answer(call, seconds, error) from error
        return read(self._connection, call, response, content, may_have_happened)


def _until(end: float, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The timeout of httpx limits each silence. This limits the whole answer."""
    for chunk in chunks:
        if time.monotonic() > end:
            raise TimeoutError
        yield chunk
