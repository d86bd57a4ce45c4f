<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** 403: the merchant may not use this environment, or the key may not refund. */
final class ForbiddenError extends ApiError
{
}
