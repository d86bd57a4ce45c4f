<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** The page to which the customer returns. It asks the gateway, because a visit proves no payment. */
final class ReturnPage
{
    private const RELOAD_SECONDS = 5;
    private const RELOADS_FOR_SECONDS = 900;

    public static function connect(): void
    {
        add_action('template_redirect', self::ask(...));
        add_filter('woocommerce_thankyou_order_received_text', self::text(...), 10, 2);
    }

    /** Runs before the page is rendered, so that the page shows the outcome. */
    private static function ask(): void
    {
        if (!is_wc_endpoint_url('order-received')) {
            return;
        }
        $order = wc_get_order(absint(get_query_var('order-received')));
        // phpcs:ignore WordPress.Security.NonceVerification -- the key of the order is the authentication
        $key = isset($_GET['key']) && is_string($_GET['key']) ? wp_unslash($_GET['key']) : '';
        $isOurs = $order instanceof \WC_Order && $order->get_payment_method() === Gateway::ID;
        if (!$isOurs || !hash_equals($order->get_order_key(), $key) || !Attempts::of($order)->hasOpen()) {
            return;
        }
        try {
            $order = (new Payments(Settings::load()))->ask($order->get_id()) ?? $order;
        } catch (\Throwable $error) {
            Log::error("The outcome of order {$order->get_id()} is not known yet", $error);
        }
        $last = Attempts::of($order)->last();
        if ($last?->isOpen() && time() - $last->createdAt < self::RELOADS_FOR_SECONDS && !headers_sent()) {
            header('Refresh: ' . self::RELOAD_SECONDS);
            nocache_headers();
        }
    }

    /** @param mixed $text what WooCommerce says */
    private static function text(mixed $text, mixed $order): mixed
    {
        $isOurs = $order instanceof \WC_Order && $order->get_payment_method() === Gateway::ID;
        return $isOurs && !$order->is_paid() ? self::textFor($order) : $text;
    }

    private static function textFor(\WC_Order $order): string
    {
        $last = Attempts::of($order)->last();
        if ($order->has_status('on-hold')) {
            return esc_html__('Your payment has arrived. The shop checks it before it processes your order. Do not pay again.', 'gatehouse-for-woocommerce');
        }
        if ($last?->isOpen()) {
            $text = esc_html__('Your payment is not confirmed yet. This page asks again every few seconds. If you have confirmed the payment on your phone, do not pay again.', 'gatehouse-for-woocommerce');
            return $last->checkoutUrl === '' ? $text : $text . ' '
                . esc_html__('If you have not paid yet:', 'gatehouse-for-woocommerce') . ' '
                . self::link($last->checkoutUrl, __('Continue the payment', 'gatehouse-for-woocommerce'));
        }
        $text = esc_html__('Your order is not paid. No money was taken.', 'gatehouse-for-woocommerce');
        return !$order->needs_payment() ? $text : $text . ' ' . self::link(
            $order->get_checkout_payment_url(),
            __('Pay for the order', 'gatehouse-for-woocommerce'),
        );
    }

    private static function link(string $url, string $text): string
    {
        return '<a href="' . esc_url($url) . '">' . esc_html($text) . '</a>';
    }
}
