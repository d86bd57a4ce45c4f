<?php

declare(strict_types=1);

require_once __DIR__ . '/Shop.php';

// WordPress needs to know its address when it is loaded.
Gatehouse\WooCommerce\Tests\Shop::open();
require_once __DIR__ . '/load.php';
