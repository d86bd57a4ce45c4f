<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** 401: the API key is missing, unknown, revoked or of the other environment. From direct also: the merchant may not use this environment. */
final class UnauthorizedError extends ApiError
{
}
