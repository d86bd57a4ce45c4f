<?php

declare(strict_types=1);

defined('WP_UNINSTALL_PLUGIN') || exit;

// The settings hold API keys. What is stored with orders stays, because refunds need it.
delete_option('woocommerce_gatehouse_settings');
