"""Runs against the gateway that `npm test -- test/clients` starts. GATEHOUSE_TEST_SITE holds its addresses and keys as JSON."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hashlib
import hmac
import json
import os
import re
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Tuple, Type

import httpx
import pytest

import gatehouse_client as gatehouse
from gatehouse_client import AsyncGatehouse, Gatehouse

ROOT = Path(__file__).parent.parent
HTTP = httpx.Client()
SITE: Dict[str, str] = json.loads(os.environ["GATEHOUSE_TEST_SITE"])
FLOW = ("/api/v1/register", "/api/v1/direct", "/api/v1/refund")


def new_number() -> str:
    return f"py-{secrets.token_hex(8)}"


def new_phone() -> str:
    return f"+25191{secrets.randbelow(10_000_000):07}"


def new_order() -> Dict[str, str]:
    return {
        "order_number": new_number(),
        "return_url": "https://shop.example/thanks",
        "amount": "100.50",
        "currency": "ETB",
        "reason": "ሦስት መጻሕፍት",
        "customer_phone": "0911223344",
    }


def new_payment() -> Dict[str, str]:
    payment = {"payment_option": "walleta_ussd", "order_number": new_number(), "amount": "100.50"}
    return {**payment, "currency": "ETB", "phone": new_phone()}


def client(**settings: Any) -> Gatehouse:
    return Gatehouse(**{"api_key": SITE["test_key"], "base_url": SITE["sandbox_url"], "http": HTTP, **settings})


def faulty(fault: str) -> Tuple[str, str]:
    """The base URL of a gateway with a fault, and the name of the run."""
    run = new_number()
    return f"{SITE['faulty_url']}/{fault}/{run}/", run


def requests_of(run: str) -> List[Dict[str, Any]]:
    seen: List[Dict[str, Any]] = HTTP.get(f"{SITE['faulty_url']}/requests/{run}").json()
    return seen


def check_flow(fault: str, run: str) -> None:
    """Every request was made as often as the fault asks for, each time with the same ids."""
    attempts = {"none": 1, "first-two-broken": 3, "never-waits": 1}.get(fault, 2)
    seen = requests_of(run)
    for path in FLOW:
        made = [each for each in seen if each["path"].split("?")[0] == path]
        # A busy machine may add a 429 or 500 of its own. A success is never repeated.
        answers = [each["answered"] for each in made]
        assert (path, len(answers) >= attempts, answers[-1]) == (path, True, 201)
        assert all(status in (0, 429) or status >= 500 for status in answers[:-1])
        for header in ("idempotency-key", "x-request-id"):
            assert len({each["headers"][header] for each in made}) == 1
    waits = [each["headers"]["prefer"] for each in seen if "prefer" in each["headers"]]
    assert waits[0] == "wait=30"


def pay_and_refund(fault: str) -> None:
    base_url, run = faulty(fault)
    order, payment, refund_number = new_order(), new_payment(), new_number()
    with Gatehouse(SITE["test_key"], base_url, timeout_seconds=120, retries=5) as gateway:
        registered = gateway.register(**order)
        started = gateway.direct(**payment)
        paid = gateway.wait(payment["order_number"], timeout_seconds=120)
        refund = gateway.refund(
            order_number=payment["order_number"],
            refund_number=refund_number,
            amount="40",
            reason="One book came back",
        )
        decided = gateway.verify_refund(refund_number)
        deadline = time.monotonic() + 120
        while decided.status == "PENDING" and time.monotonic() < deadline:
            time.sleep(0.05)
            decided = gateway.verify_refund(refund_number)

    assert re.match(r"https?://.+/c/.+", registered.checkout_url)
    assert client().register(**order) == registered
    # A repeat may find that the customer has paid.
    assert started.payment_status in (("PENDING",) if fault == "none" else ("PENDING", "COMPLETED"))
    assert (paid.status, paid.deducted, paid.payment_type) == ("COMPLETED", "100.50", "DIRECT")
    assert (refund.order_number, refund.amount) == (payment["order_number"], "40.00")
    assert decided.status == "COMPLETED"
    check_flow(fault, run)


async def pay_and_refund_async(fault: str) -> None:
    base_url, run = faulty(fault)
    payment, refund_number = new_payment(), new_number()
    async with AsyncGatehouse(SITE["test_key"], base_url, timeout_seconds=120, retries=5) as gateway:
        registered, _ = await asyncio.gather(gateway.register(**new_order()), gateway.direct(**payment))
        paid = await gateway.wait(payment["order_number"], timeout_seconds=120)
        number = payment["order_number"]
        refund = await gateway.refund(order_number=number, refund_number=refund_number, reason="Came back")
        found = await gateway.verify_refund(refund_number)
        assert (await gateway.verify(number)).status == "COMPLETED"
        assert (await gateway.explain(number)).status == "COMPLETED"
    assert "/c/" in registered.checkout_url
    assert paid.status == "COMPLETED"
    assert (refund.amount, found.refund_id) == ("100.50", refund.refund_id)
    check_flow(fault, run)


def test_payments_and_refunds_are_made_once_each_whatever_fault_the_gateway_has() -> None:
    faults = ["none", "first-answer-lost", "first-two-broken", "first-limited", "never-waits"]
    with ThreadPoolExecutor() as threads:
        list(threads.map(pay_and_refund, faults))

    async def all_async() -> None:
        await asyncio.gather(*(pay_and_refund_async(fault) for fault in faults[:2]))

    asyncio.run(all_async())


def test_a_wait_that_is_over_gives_the_order_as_it_stands() -> None:
    order = new_order()
    client().register(**order)
    base_url, run = faulty("none")
    assert client(base_url=base_url).wait(order["order_number"], timeout_seconds=1).status == "PENDING"
    # The gateway waits, so the client does not ask at intervals.
    assert len(requests_of(run)) <= 2
    assert client().verify(order["order_number"]).reason == order["reason"]
    explained = client().explain(order["order_number"])
    assert (explained.waiting_for, explained.held_by) == ("customer_payment", "payer")


def test_an_error_has_its_own_class_what_the_gateway_answered_and_the_request_id() -> None:
    with pytest.raises(gatehouse.InvalidRequestError) as invalid:
        client().register(**{**new_order(), "order_number": "a b", "amount": "0"}, request_id="mine-1")
    assert (invalid.value.status, invalid.value.api_message) == (400, "Bad request")
    assert [each.field for each in invalid.value.details] == ["order_number", "amount"]
    assert invalid.value.request_id == "mine-1"
    assert re.fullmatch(r"400 Bad request: order_number .*; amount .* \(request id mine-1\)", str(invalid.value))
    with pytest.raises(gatehouse.NotFoundError) as missing:
        client().verify(new_number())
    assert missing.value.is_unknown_number
    with pytest.raises(gatehouse.NotFoundError) as elsewhere:
        client(base_url=f"{SITE['sandbox_url']}/shop").verify(new_number())
    assert not elsewhere.value.is_unknown_number
    with pytest.raises(gatehouse.ForbiddenError):
        client(api_key=SITE["key_without_refunds"]).verify_refund(new_number())
    base_url, run = faulty("conflicting-key")
    with pytest.raises(gatehouse.IdempotencyConflictError) as conflict:
        client(base_url=base_url).register(**new_order())
    assert conflict.value.request_id == "of-the-gateway"
    assert len(requests_of(run)) == 1


def test_a_key_of_the_other_environment_is_explained_and_not_sent_where_the_environment_is_known() -> None:
    with pytest.raises(gatehouse.UnauthorizedError) as refused:
        client(api_key=SITE["live_key"]).verify(new_number())
    assert "a live key (svc_live_…) works only at the production address" in str(refused.value)
    assert SITE["live_key"] not in str(refused.value)
    both = {"sandbox": SITE["sandbox_url"], "production": SITE["production_url"]}
    assert client(base_url=both).environment == "sandbox"
    with pytest.raises(gatehouse.NotFoundError):
        client(base_url=both).verify("none")
    unusable: List[Dict[str, Any]] = [
        {"api_key": SITE["live_key"], "environment": "sandbox"},
        {"api_key": "secret"},
        {"base_url": "pay.example"},
        {"base_url": "http://127.0.0.1:port"},
        {"base_url": "http://["},
        {"retries": -1},
    ]
    for settings in unusable:
        with pytest.raises(gatehouse.ConfigurationError):
            client(**settings)


@pytest.mark.parametrize(
    ("fault", "settings", "kind", "facts", "attempts"),
    [
        (
            "limited-for-minutes",
            {},
            gatehouse.TooManyRequestsError,
            {"retry_after": 300, "may_have_happened": False},
            1,
        ),
        ("limited-without-time", {}, gatehouse.TooManyRequestsError, {"retry_after": None}, 1),
        ("answer-lost-then-limited", {}, gatehouse.TooManyRequestsError, {"may_have_happened": True}, 2),
        (
            "always-unavailable",
            {"retries": 1},
            gatehouse.ServerError,
            {"status": 503, "details": (), "may_have_happened": True},
            2,
        ),
        (
            "another-site",
            {},
            gatehouse.UnexpectedAnswerError,
            {"status": 200, "may_have_happened": True},
            1,
        ),
        ("another-json", {}, gatehouse.UnexpectedAnswerError, {"status": 200}, 1),
        ("redirecting", {}, gatehouse.UnexpectedAnswerError, {"status": 302}, 1),
        (
            "silent",
            {"retries": 1, "timeout_seconds": 0.2},
            gatehouse.TimedOutError,
            {"may_have_happened": True},
            2,
        ),
    ],
)
def test_a_client_gives_up_as_it_promises(
    fault: str,
    settings: Dict[str, Any],
    kind: Type[gatehouse.GatehouseError],
    facts: Dict[str, Any],
    attempts: int,
) -> None:
    base_url, run = faulty(fault)
    with pytest.raises(kind) as failure:
        client(base_url=base_url, **settings).register(**new_order())
    for name, value in {**facts, "__class__": kind}.items():
        assert getattr(failure.value, name) == value
    assert getattr(failure.value, "request_id")
    seen = requests_of(run)
    assert len(seen) == attempts
    assert seen[0]["headers"]["user-agent"].startswith("gatehouse-client-python/")


@pytest.mark.parametrize(
    ("fault", "timeout", "wait", "kind"),
    [
        ("unavailable-for-a-while", 15, 1, gatehouse.ServerError),
        ("silent", 0.2, 0.1, gatehouse.TimedOutError),
    ],
)
def test_a_wait_repeats_no_request_after_its_end(
    fault: str, timeout: float, wait: float, kind: Type[gatehouse.GatehouseError]
) -> None:
    base_url, run = faulty(fault)
    with pytest.raises(kind):
        client(base_url=base_url, timeout_seconds=timeout).wait("a", timeout_seconds=wait)

    async def wait_async() -> None:
        async with AsyncGatehouse(SITE["test_key"], base_url, timeout_seconds=timeout) as own:
            await own.wait("a", timeout_seconds=wait)

    with pytest.raises(kind):
        asyncio.run(wait_async())
    assert len(requests_of(run)) == 2


def test_the_time_limit_is_for_the_whole_answer() -> None:
    base_url, _ = faulty("dripping")
    settings: Dict[str, Any] = {"timeout_seconds": 0.5, "retries": 0}
    with pytest.raises(gatehouse.TimedOutError):
        client(base_url=base_url, **settings).verify("a")

    async def verify_async() -> None:
        async with AsyncGatehouse(SITE["test_key"], base_url, **settings) as own:
            await own.verify("a")

    with pytest.raises(gatehouse.TimedOutError):
        asyncio.run(verify_async())


@pytest.mark.parametrize("value", ["order\n42", "№42"])
@pytest.mark.parametrize("name", ["idempotency_key", "request_id"])
def test_an_id_that_no_header_holds_is_never_sent(name: str, value: str) -> None:
    base_url, run = faulty("none")
    with pytest.raises(gatehouse.ConfigurationError) as failure:
        client(base_url=base_url).register(**new_order(), **{name: value})
    assert not failure.value.may_have_happened
    assert requests_of(run) == []


def test_an_address_where_nobody_listens() -> None:
    with pytest.raises(gatehouse.ConnectionError):
        client(base_url="http://127.0.0.1:1", retries=0).verify("a")


def test_signatures_of_webhooks_are_judged_as_the_test_vectors_say() -> None:
    vectors = json.loads((ROOT.parent / "signature-vectors.json").read_text())["vectors"]
    assert len(vectors) > 40
    for vector in vectors:
        body = base64.b64decode(vector["body_base64"])
        try:
            known = vector["secrets"]
            event = gatehouse.verify_webhook(vector["headers"], body, known, now=vector["now"])
            standard = "genuine" if event.type == "order.completed" else event.type
        except gatehouse.WebhookVerificationError as error:
            standard = error.reason
        try:
            event = gatehouse.verify_svc_signature(vector["headers"], body, vector["secrets"])
            svc = "genuine" if event.data.order_number == "INV-2025-0042" else event.type
        except gatehouse.WebhookVerificationError as error:
            svc = error.reason
        expected = (vector["webhook_signature"], vector["svc_signature"])
        assert (vector["name"], standard, svc) == (vector["name"], *expected)
    for unusable in ([], ["secret"], ["whsec_"], ["whsec_a"], ["whsec_abc…"], ["whsec_YQ==\n"]):
        with pytest.raises(gatehouse.ConfigurationError):
            gatehouse.verify_webhook({}, b"", unusable)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-signature"])
@pytest.mark.parametrize("surrogate", ["\udcff", "\ud800"])
def test_a_forged_header_that_is_no_utf_8_is_refused_like_any_other(name: str, surrogate: str) -> None:
    headers = {"webhook-id": "evt_1", "webhook-timestamp": "1000", "webhook-signature": "v1,forged"}
    headers[name] += surrogate
    with pytest.raises(gatehouse.WebhookVerificationError) as refused:
        gatehouse.verify_webhook(headers, b"{}", [SITE["signing_secret"]], now=1000)
    assert refused.value.reason == "no_match"


def test_a_webhook_of_the_running_gateway_is_genuine_and_a_changed_one_is_not() -> None:
    url, payment = f"{SITE['mailbox_url']}/{new_number()}", new_payment()
    client().register(**{**new_order(), "order_number": payment["order_number"], "webhook_url": url})
    client().direct(**payment)
    deadline = time.monotonic() + 120
    while not (arrived := HTTP.get(url).json()):
        assert time.monotonic() < deadline, "no webhook has arrived"
    headers, body = arrived[0]["headers"], base64.b64decode(arrived[0]["body_base64"])
    known = [SITE["signing_secret"]]
    event = gatehouse.verify_webhook(headers, body, known)
    assert event.type == "order.completed"
    assert event.data == client().verify(payment["order_number"])
    assert gatehouse.verify_svc_signature(headers, body, known) == event
    for verify in (gatehouse.verify_webhook, gatehouse.verify_svc_signature):
        with pytest.raises(gatehouse.WebhookVerificationError):
            verify(headers, body + b" ", known)


def test_a_webhook_of_a_type_that_is_not_known_yet_is_genuine() -> None:
    secret, sent = SITE["signing_secret"], str(int(time.time()))
    event = {"id": "evt_1", "type": "payout.made", "created_at": "", "environment": "sandbox", "sequence": 1}
    body = json.dumps({**event, "previous_status": "PENDING", "data": {"payout_id": "p"}}).encode()
    key = base64.b64decode(secret[len("whsec_") :])
    signature = base64.b64encode(hmac.new(key, f"evt_1.{sent}.".encode() + body, hashlib.sha256).digest())
    headers = {"webhook-id": "evt_1", "webhook-timestamp": sent, "webhook-signature": f"v1,{signature.decode()}"}
    received = gatehouse.verify_webhook(headers, body, [secret])
    assert (received.type, received.data) == ("payout.made", {"payout_id": "p"})


def test_types_have_the_fields_of_the_openapi_document() -> None:
    schemas = json.loads((ROOT.parent / "openapi.json").read_text())["components"]["schemas"]
    documented = {
        gatehouse.RegisteredOrder: schemas["RegisterReply"]["properties"]["data"],
        gatehouse.DirectPayment: schemas["DirectPaymentReply"],
        gatehouse.PaymentOrder: schemas["PaymentOrder"],
        gatehouse.Refund: schemas["Refund"],
        gatehouse.WebhookEvent: schemas["WebhookEvent"],
        gatehouse.ErrorDetail: schemas["ErrorDetail"],
    }
    for kind, schema in documented.items():
        assert [field.name for field in dataclasses.fields(kind)] == list(schema["properties"])
    for name, method in (("RegisterRequest", Gatehouse.register), ("RefundRequest", AsyncGatehouse.refund)):
        assert set(schemas[name]["properties"]) <= set(method.__annotations__)


def test_the_first_lines_of_the_readme_run() -> None:
    readme = (ROOT / "README.md").read_text()
    match = re.search(r"```python\n(.*?)```", readme, re.S)
    assert match and len(match[1].splitlines()) <= 12
    program = match[1].replace("0911223344", new_phone())
    env = {**os.environ, "API_KEY": SITE["test_key"], "GATEHOUSE": SITE["sandbox_url"], "PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("COMPLETED 150.00\n", "")
