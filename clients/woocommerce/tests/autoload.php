<?php

/** Loads the plugin, as it is built, into a shop made of stubs. GATEHOUSE_TEST_PLUGIN names the folder of the plugin. */

declare(strict_types=1);

require_once __DIR__ . '/stubs/wordpress.php';
require_once __DIR__ . '/stubs/woocommerce.php';
require_once getenv('GATEHOUSE_TEST_PLUGIN') . '/gatehouse-for-woocommerce.php';
require_once __DIR__ . '/Shop.php';

do_action('plugins_loaded');
do_action('rest_api_init');
