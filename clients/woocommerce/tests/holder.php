<?php

/** Another request that works on the order whose id is given. It prints "held", and ends when its input does. */

declare(strict_types=1);

use Gatehouse\WooCommerce\OrderLock;

require_once __DIR__ . '/load.php';

OrderLock::hold((int) $argv[1], function (): void {
    echo "held\n";
    fgets(STDIN);
});
