<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Automattic\WooCommerce\Caches\OrderCache;

/**
 * Lets one request at a time work on an order: a webhook, the customer's return, a second tab, a refund. It is a named lock of
 * the database, which ends with the connection.
 */
final class OrderLock
{
    private const WAIT_SECONDS = 10;

    /**
     * @template Result
     * @param callable(\WC_Order $order): Result $do gets the order as it is stored now
     * @return Result|null null when there is no such order
     * @throws OrderBusy when the order is not free in time
     */
    public static function hold(int $orderId, callable $do): mixed
    {
        global $wpdb;
        // The names of locks are shared by all databases of a server.
        $name = 'gatehouse_' . substr(hash('sha256', DB_NAME . $wpdb->prefix), 0, 16) . "_$orderId";
        $locked = $wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, %d)', $name, self::WAIT_SECONDS));
        if ((int) $locked !== 1) {
            throw new OrderBusy("Order $orderId is being changed by another request");
        }
        try {
            $order = self::read($orderId);
            return $order === null ? null : $do($order);
        } finally {
            $wpdb->get_var($wpdb->prepare('SELECT RELEASE_LOCK(%s)', $name));
        }
    }

    /** The order as it is stored now. It may change at any time. */
    public static function read(int $orderId): ?\WC_Order
    {
        clean_post_cache($orderId);
        // With high-performance order storage, WooCommerce keeps the orders that this request has read, and their rows.
        if (class_exists(OrderCache::class)) {
            wc_get_container()->get(OrderCache::class)->remove($orderId);
        }
        $store = \WC_Data_Store::load('order');
        if ($store->has_callable('clear_cached_data')) {
            $store->clear_cached_data([$orderId]);
        }
        $order = wc_get_order($orderId);
        if (!$order instanceof \WC_Order) {
            return null;
        }
        $order->read_meta_data(true);
        return $order;
    }
}
