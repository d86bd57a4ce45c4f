"""Every error of this package is a GatehouseError."""

from __future__ import annotations

from typing import Dict, Optional, Sequence, Type

from .types import ErrorDetail


class GatehouseError(Exception):
    """Every error of this package."""

    may_have_happened = False
    """Whether the gateway may have carried the request out.

    Then repeat it only with the same numbers: with a new number, a refund or a payment could be made twice. False when the
    request was refused or not sent.
    """


class ConfigurationError(GatehouseError):
    """The client is set up wrongly. Nothing was sent."""


class ConnectionError(GatehouseError):
    """No answer arrived.

    The request may have been carried out: repeat it with the same numbers, or verify the order.
    """

    may_have_happened = True

    def __init__(self, message: str, request_id: str) -> None:
        super().__init__(f"{message} (request id {request_id})")
        self.request_id = request_id


class TimedOutError(ConnectionError):
    """No answer arrived in time."""


class UnexpectedAnswerError(GatehouseError):
    """Something answered that is not a gateway, such as a proxy's page."""

    may_have_happened = True

    def __init__(self, message: str, status: int, request_id: str) -> None:
        super().__init__(f"{message} (request id {request_id})")
        self.status = status
        self.request_id = request_id


class ApiError(GatehouseError):
    """The gateway answered with an error. Its subclasses say which."""

    def __init__(
        self,
        *,
        status: int,
        api_message: str,
        details: Sequence[ErrorDetail],
        request_id: str,
        retry_after: Optional[int],
        advice: str = "",
        may_have_happened: bool = False,
    ) -> None:
        problems = "; ".join(f"{each.field} {each.issue}" for each in details)
        text = ": ".join(part for part in (f"{status} {api_message}", problems, advice) if part)
        super().__init__(f"{text} (request id {request_id})")
        self.status = status
        self.api_message = api_message
        """The `message` of the answer."""
        self.details = tuple(details)
        """Every problem that the gateway found."""
        self.request_id = request_id
        """Quote it to the operator of the gateway."""
        self.retry_after = retry_after
        """The seconds after which the request may be repeated."""
        self.may_have_happened = may_have_happened or status >= 500
        """Whether the status is 5xx, or an earlier try of the request got a 5xx or no answer."""


class InvalidRequestError(ApiError):
    """400: correct the fields in `details`."""


class UnauthorizedError(ApiError):
    """401: the API key is missing, unknown, revoked or of the other environment. From direct also: the merchant may not use this environment."""


class ForbiddenError(ApiError):
    """403: the merchant may not use this environment, or the key may not refund."""


class NotFoundError(ApiError):
    """404: no such order or refund, or the address is not a gateway's."""

    @property
    def is_unknown_number(self) -> bool:
        """Whether the gateway has no such order or refund. Otherwise the address is wrong, or another server answered."""
        return self.api_message == "Not found" and not self.details


class IdempotencyConflictError(ApiError):
    """422: the Idempotency-Key was used with another request."""


class TooManyRequestsError(ApiError):
    """429: a limit was reached. Repeat the request after `retry_after` seconds."""


class ServerError(ApiError):
    """5xx: the gateway failed. The same request may be repeated."""


_ERRORS: Dict[int, Type[ApiError]] = {
    400: InvalidRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    422: IdempotencyConflictError,
    429: TooManyRequestsError,
}


def error_class(status: int) -> Type[ApiError]:
    """The class of the error for a status."""
    return ServerError if status >= 500 else _ERRORS.get(status, ApiError)


_REFUSALS = {
    "missing_header": "The request lacks a header that every webhook has.",
    "malformed_header": "A header of the webhook is malformed.",
    "too_old": "The webhook is too old: it may be a repeated recording, or the clock of this server is wrong.",
    "too_new": "The webhook is from the future: the clock of this server is probably wrong.",
    "no_match": "No secret gives this signature: the body was changed, or the secrets are not the current ones.",
    "malformed_body": "The body is not the JSON of a webhook.",
}


class WebhookVerificationError(GatehouseError):
    """The webhook is not genuine, or is too old. Answer 401, and do not act on it."""

    def __init__(self, reason: str) -> None:
        super().__init__(_REFUSALS[reason])
        self.reason = reason
        """missing_header, malformed_header, too_old, too_new, no_match or malformed_body."""
