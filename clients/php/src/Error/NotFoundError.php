<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** 404: no such order or refund, or the address is not a gateway's. */
final class NotFoundError extends ApiError
{
    /** Whether the gateway has no such order or refund. Otherwise the address is wrong, or another server answered. */
    public function isUnknownNumber(): bool
    {
        return $this->apiMessage === 'Not found' && $this->details === [];
    }
}
