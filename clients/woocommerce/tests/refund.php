<?php

/** Another request that refunds an order. The arguments of wc_create_refund are given as JSON. */

declare(strict_types=1);

require_once __DIR__ . '/load.php';

wc_create_refund(json_decode($argv[1], true, 512, JSON_THROW_ON_ERROR));
