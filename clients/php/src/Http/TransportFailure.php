<?php

declare(strict_types=1);

namespace Gatehouse\Client\Http;

/** No answer arrived. */
final class TransportFailure extends \RuntimeException
{
    public function __construct(string $message, public readonly bool $timedOut, ?\Throwable $previous = null)
    {
        parent::__construct($message, 0, $previous);
    }
}
