<?php

declare(strict_types=1);

defined('WP_UNINSTALL_PLUGIN') || exit;

// The settings hold API keys. What is stored with orders stays, because refunds need it.
if (!is_multisite()) {
    delete_option('woocommerce_gatehouse_settings');
    return;
}
// WordPress deletes a plugin of a network once, and each site has settings of its own.
foreach (get_sites(['fields' => 'ids', 'number' => 0]) as $site) {
    switch_to_blog($site);
    delete_option('woocommerce_gatehouse_settings');
    restore_current_blog();
}
