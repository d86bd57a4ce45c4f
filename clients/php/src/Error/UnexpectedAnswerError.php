<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** Something answered that is not a gateway, such as a proxy's page. */
final class UnexpectedAnswerError extends GatehouseError
{
    public function __construct(
        string $message,
        public readonly int $status,
        public readonly string $requestId,
    ) {
        parent::__construct("$message (request id $requestId)");
    }

    public function mayHaveHappened(): bool
    {
        return true;
    }
}
