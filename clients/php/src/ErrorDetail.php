<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** One problem with one field of a request. */
final class ErrorDetail
{
    public function __construct(public readonly string $field, public readonly string $issue)
    {
    }
}
