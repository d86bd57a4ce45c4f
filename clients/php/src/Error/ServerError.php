<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** 5xx: the gateway failed. The same request may be repeated. */
final class ServerError extends ApiError
{
}
