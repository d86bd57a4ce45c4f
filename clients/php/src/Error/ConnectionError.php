<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** No answer arrived. The request may have been carried out: repeat it with the same numbers, or verify the order. */
class ConnectionError extends GatehouseError
{
    /** @param string $requestId the X-Request-Id that was sent */
    public function __construct(string $message, public readonly string $requestId, ?\Throwable $previous = null)
    {
        parent::__construct("$message (request id $requestId)", 0, $previous);
    }

    public function mayHaveHappened(): bool
    {
        return true;
    }
}
