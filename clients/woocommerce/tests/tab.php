<?php

/** A tab of the customer's browser: it places the order whose id is given, and prints where it is sent. */

declare(strict_types=1);

use Gatehouse\WooCommerce\Tests\Shop;

require_once __DIR__ . '/Shop.php';
require_once __DIR__ . '/load.php';

echo Shop::checkOut(wc_get_order($argv[1]))['redirect'] ?? 'none';
