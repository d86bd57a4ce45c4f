<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** Every error of this package. */
class GatehouseError extends \RuntimeException
{
    /**
     * Whether the gateway may have carried the request out. Then repeat it only with the same numbers: with a new number, a
     * refund or a payment could be made twice. False when the request was refused or not sent.
     */
    public function mayHaveHappened(): bool
    {
        return false;
    }
}
