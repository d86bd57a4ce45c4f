<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** The status of an order. All but Pending are final. */
enum OrderStatus: string
{
    case Pending = 'PENDING';
    case Completed = 'COMPLETED';
    case Failed = 'FAILED';
    case Expired = 'EXPIRED';
}
