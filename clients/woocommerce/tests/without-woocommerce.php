<?php

/** A site with the plugin and without WooCommerce: prints how it answers a webhook, and what its owner sees. */

declare(strict_types=1);

require_once __DIR__ . '/stubs/wordpress.php';
require_once getenv('GATEHOUSE_TEST_PLUGIN') . '/gatehouse-for-woocommerce.php';

$GLOBALS['may'] = true;
do_action('plugins_loaded');
do_action('rest_api_init');
echo $GLOBALS['routes']['/gatehouse/v1/webhook']['callback'](new WP_REST_Request([], '{}'))->status, ' ';
do_action('admin_notices');
