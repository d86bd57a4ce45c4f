<?php

/**
 * Plugin Name:          Gatehouse for WooCommerce
 * Description:          Take mobile-money payments on the checkout page of a Gatehouse payment gateway.
 * Version:              1.0.0
 * Requires at least:    6.1
 * Requires PHP:         8.1
 * Requires Plugins:     woocommerce
 * WC requires at least: 8.2
 * License:              GPL-3.0-or-later
 * License URI:          https://www.gnu.org/licenses/gpl-3.0.html
 * Text Domain:          gatehouse-for-woocommerce
 */

declare(strict_types=1);

defined('ABSPATH') || exit;

spl_autoload_register(static function (string $class): void {
    $prefix = 'Gatehouse\\WooCommerce\\';
    if (!str_starts_with($class, $prefix)) {
        return;
    }
    $file = __DIR__ . '/src/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
    if (is_file($file)) {
        require_once $file;
    }
});

Gatehouse\WooCommerce\Plugin::start(__FILE__);
