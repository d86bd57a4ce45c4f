<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** The status of a refund. All but Pending are final. */
enum RefundStatus: string
{
    case Pending = 'PENDING';
    case Completed = 'COMPLETED';
    case Failed = 'FAILED';
}
