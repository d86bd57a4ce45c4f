"""The answers of the merchant API. Amounts are decimal text, and times are ISO 8601 in UTC."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Mapping, Type, TypeVar, Union

Answered = TypeVar("Answered", bound="Fields")


@dataclass(frozen=True)
class Fields:
    @classmethod
    def of(cls: Type[Answered], json: Mapping[str, Any]) -> Answered:
        """Reads an answer. Fields that this version does not know are ignored.

        Raises ValueError when a field is no text.
        """
        for field in fields(cls):
            if not isinstance(json.get(field.name), str):
                raise ValueError(f"{field.name} is no text")
        return cls(**{field.name: json[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class RegisteredOrder(Fields):
    """The result of a registration."""

    checkout_url: str
    """The URL of the checkout page. Redirect the customer to it."""


@dataclass(frozen=True)
class DirectPayment(Fields):
    """The result of a direct payment."""

    message: str
    payment_status: str
    """PENDING until the wallet has decided; then COMPLETED, FAILED or EXPIRED."""


@dataclass(frozen=True)
class PaymentOrder(Fields):
    """A payment order."""

    order_id: str
    order_number: str
    status: str
    """PENDING, COMPLETED, FAILED or EXPIRED. All but PENDING are final."""
    amount: str
    deducted: str
    currency: str
    payment_option: str
    payment_type: str
    customer_phone: str
    reason: str
    created_timestamp: str
    updated_timestamp: str


@dataclass(frozen=True)
class OrderExplanation(Fields):
    """The explanation of an order: the fact that it waits for, and the next step. `text` is for people; programs read the other fields. New words may be added."""

    order_id: str
    order_number: str
    status: str
    waiting_for: str
    """The one fact that the order waits for, such as payer_confirmation, or nothing."""
    held_by: str
    """Who can change that fact now, such as payer, wallet or merchant."""
    wallet: str
    """The id of the wallet that the fact concerns; empty without one."""
    reason: str
    """Why the latest payment did not pay the order; empty otherwise."""
    next: str
    """The next step, such as wallet_queried or order_expires."""
    next_at: str
    """When that happens. Empty when it happens at once, and when a person decides the time."""
    since: str
    text: str


@dataclass(frozen=True)
class Refund(Fields):
    """A refund."""

    refund_id: str
    refund_number: str
    order_number: str
    status: str
    """PENDING, COMPLETED or FAILED. All but PENDING are final."""
    amount: str
    currency: str
    reason: str
    created_timestamp: str
    updated_timestamp: str


@dataclass(frozen=True)
class WebhookEvent:
    """A webhook. New types may be added: ignore unknown ones."""

    id: str
    """The same in every repeat."""
    type: str
    """Such as order.completed, payment_link.created or refund.failed."""
    created_at: str
    environment: str
    sequence: int
    previous_status: str
    data: Union[PaymentOrder, Refund, Any]
    """A dict with the JSON, if this version does not know the type."""


@dataclass(frozen=True)
class ErrorDetail:
    """One problem with one field of a request."""

    field: str
    issue: str
