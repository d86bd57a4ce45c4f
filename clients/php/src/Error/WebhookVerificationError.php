<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

use Gatehouse\Client\WebhookRefusal;

/** The webhook is not genuine, or is too old. Answer 401, and do not act on it. */
final class WebhookVerificationError extends GatehouseError
{
    public function __construct(public readonly WebhookRefusal $reason)
    {
        parent::__construct($reason->explanation());
    }
}
