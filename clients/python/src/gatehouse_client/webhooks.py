"""Verification of webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from typing import Any, Dict, Mapping, Optional, Sequence, Type, Union

from .errors import ConfigurationError, WebhookVerificationError
from .types import PaymentOrder, Refund, WebhookEvent

Body = Union[bytes, bytearray, str]


def verify_webhook(
    headers: Mapping[str, str],
    body: Body,
    secrets: Sequence[str],
    *,
    tolerance_seconds: float = 300,
    now: Optional[float] = None,
) -> WebhookEvent:
    """Checks `webhook-signature`, and that the webhook is at most `tolerance_seconds` old.

    `body` is the bytes as they arrived: JSON that was parsed and written again has another signature. `secrets` holds the
    signing secret, or two during a rotation. `now` is the receiver's clock, in seconds since 1970.

    Raises WebhookVerificationError when the webhook is not genuine, and ConfigurationError when a secret is unusable.
    """
    keys = [_decode(secret) for secret in _require(secrets)]
    event_id = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    signature = _header(headers, "webhook-signature")
    if not re.fullmatch(r"[0-9]{1,15}", timestamp):
        raise WebhookVerificationError("malformed_header")
    age = int(time.time() if now is None else now) - int(timestamp)
    if age > tolerance_seconds:
        raise WebhookVerificationError("too_old")
    if age < -tolerance_seconds:
        raise WebhookVerificationError("too_new")
    sent = [_bytes(each) for each in signature.split(" ") if each.startswith("v1,")]
    if not sent:
        raise WebhookVerificationError("malformed_header")
    content = _bytes(body)
    signed = _bytes(f"{event_id}.{timestamp}.") + content
    for key in keys:
        expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(each, expected) for each in sent):
            return _parse(content)
    raise WebhookVerificationError("no_match")


def verify_svc_signature(headers: Mapping[str, str], body: Body, secrets: Sequence[str]) -> WebhookEvent:
    """Checks `X-SVC-HMAC-Signature`.

    It covers the body only, so it does not tell a recorded webhook from a new one: use `verify_webhook` where you can.

    Raises WebhookVerificationError when the webhook is not genuine, and ConfigurationError when a secret is unusable.
    """
    keys = [secret.encode() for secret in _require(secrets)]
    signature = _header(headers, "x-svc-hmac-signature")
    if not re.fullmatch(r"[0-9a-f]{64}", signature):
        raise WebhookVerificationError("malformed_header")
    content = _bytes(body)
    for key in keys:
        if hmac.compare_digest(signature, hmac.new(key, content, hashlib.sha256).hexdigest()):
            return _parse(content)
    raise WebhookVerificationError("no_match")


def _require(secrets: Sequence[str]) -> Sequence[str]:
    if isinstance(secrets, str):
        raise ConfigurationError("Give the signing secrets as a list.")
    if not secrets:
        raise ConfigurationError("Give at least one signing secret.")
    for secret in secrets:
        _decode(secret)
    return secrets


def _decode(secret: str) -> bytes:
    """The bytes of a secret as the dashboard shows it."""
    text = secret[len("whsec_") :]
    try:
        if secret.startswith("whsec_") and text:
            return base64.b64decode(text, validate=True)
    except ValueError:
        pass
    raise ConfigurationError('A signing secret is "whsec_" and base64, as the dashboard shows it.')


def _bytes(text: Body) -> bytes:
    # A server may give what is no UTF-8 as a lone surrogate. It is part of no genuine webhook.
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)


def _header(headers: Mapping[str, str], name: str) -> str:
    """The value of a header, whatever the case of its name."""
    for each, value in headers.items():
        if each.lower() == name and value:
            return value
    raise WebhookVerificationError("missing_header")


_DATA: Dict[str, Type[Union[PaymentOrder, Refund]]] = {
    "order.completed": PaymentOrder,
    "order.failed": PaymentOrder,
    "order.expired": PaymentOrder,
    "payment_link.created": PaymentOrder,
    "payment_link.completed": PaymentOrder,
    "payment_link.failed": PaymentOrder,
    "payment_link.expired": PaymentOrder,
    "refund.completed": Refund,
    "refund.failed": Refund,
    "webhook.test": PaymentOrder,
}


def _parse(body: bytes) -> WebhookEvent:
    try:
        event: Any = json.loads(body)
        data = event["data"]
        return WebhookEvent(
            id=event["id"],
            type=event["type"],
            created_at=event["created_at"],
            environment=event["environment"],
            sequence=event["sequence"],
            previous_status=event["previous_status"],
            data=_DATA[event["type"]].of(data) if event["type"] in _DATA else dict(data),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise WebhookVerificationError("malformed_body") from None
