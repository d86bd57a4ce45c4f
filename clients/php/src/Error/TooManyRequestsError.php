<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** 429: a limit was reached. Repeat the request after `retryAfter` seconds. */
final class TooManyRequestsError extends ApiError
{
}
