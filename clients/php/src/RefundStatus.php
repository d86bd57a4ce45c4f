<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** Where a refund stands. All but Pending are final. */
enum RefundStatus: string
{
    case Pending = 'PENDING';
    case Completed = 'COMPLETED';
    case Failed = 'FAILED';
}
