"""Client of the Gatehouse payment gateway: payments, refunds, and verification of webhooks."""

from ._version import __version__
from .async_client import AsyncGatehouse
from .client import Gatehouse
from .errors import (
    ApiError,
    ConfigurationError,
    ConnectionError,
    ForbiddenError,
    GatehouseError,
    IdempotencyConflictError,
    InvalidRequestError,
    NotFoundError,
    ServerError,
    TimedOutError,
    TooManyRequestsError,
    UnauthorizedError,
    UnexpectedAnswerError,
    WebhookVerificationError,
)
from .types import (
    DirectPayment,
    ErrorDetail,
    OrderExplanation,
    PaymentOrder,
    Refund,
    RegisteredOrder,
    WebhookEvent,
)
from .webhooks import verify_svc_signature, verify_webhook

__all__ = [
    "ApiError",
    "AsyncGatehouse",
    "ConfigurationError",
    "ConnectionError",
    "DirectPayment",
    "ErrorDetail",
    "ForbiddenError",
    "Gatehouse",
    "GatehouseError",
    "IdempotencyConflictError",
    "InvalidRequestError",
    "NotFoundError",
    "OrderExplanation",
    "PaymentOrder",
    "Refund",
    "RegisteredOrder",
    "ServerError",
    "TimedOutError",
    "TooManyRequestsError",
    "UnauthorizedError",
    "UnexpectedAnswerError",
    "WebhookEvent",
    "WebhookVerificationError",
    "__version__",
    "verify_svc_signature",
    "verify_webhook",
]
