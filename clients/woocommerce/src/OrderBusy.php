<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** Another request works on the same order. */
final class OrderBusy extends \RuntimeException
{
}
