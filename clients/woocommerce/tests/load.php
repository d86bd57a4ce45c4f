<?php

/**
 * Loads the plugin, as it is built, into a shop: into the WordPress that GATEHOUSE_TEST_WORDPRESS names, or else into stubs of
 * WordPress. GATEHOUSE_TEST_PLUGIN names the folder of the plugin.
 */

declare(strict_types=1);

$wordpress = getenv('GATEHOUSE_TEST_WORDPRESS');
if (is_string($wordpress)) {
    require_once "$wordpress/wp-load.php";
} else {
    require_once __DIR__ . '/stubs/wordpress.php';
    require_once __DIR__ . '/stubs/woocommerce.php';
    require_once getenv('GATEHOUSE_TEST_PLUGIN') . '/gatehouse-for-woocommerce.php';
    do_action('plugins_loaded');
    do_action('rest_api_init');
}
