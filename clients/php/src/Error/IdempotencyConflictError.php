<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** 422: the Idempotency-Key was used with another request. */
final class IdempotencyConflictError extends ApiError
{
}
