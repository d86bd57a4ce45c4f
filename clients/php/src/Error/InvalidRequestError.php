<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** 400: correct the fields in `details`. */
final class InvalidRequestError extends ApiError
{
}
