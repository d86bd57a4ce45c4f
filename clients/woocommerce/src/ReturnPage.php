<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** The page to which the customer returns. It asks the gateway, because a visit proves no payment. */
final class ReturnPage
{
    private const RELOAD_SECONDS = 5;
    /** Counted from the visit: the customer may have needed long on the checkout page. */
    private const RELOADS_FOR_SECONDS = 900;
    private const VISITED_AT = 'gatehouse_visited_at';

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
        $settings = Settings::load();
        $isOpen = fn (\WC_Order $each) => Attempts::of($each)->payable($settings->environment()) !== [];
        if (!$isOurs || !hash_equals($order->get_order_key(), $key) || !$isOpen($order)) {
            return;
        }
        try {
            $order = (new Payments($settings))->ask($order->get_id()) ?? $order;
        } catch (\Throwable $error) {
            Log::error("The outcome of order {$order->get_id()} is not known yet", $error);
        }
        if ($isOpen($order) && self::reloads() && !headers_sent()) {
            $url = add_query_arg(self::VISITED_AT, (string) self::visitedAt(), $order->get_checkout_order_received_url());
            header('Refresh: ' . self::RELOAD_SECONDS . '; url=' . esc_url_raw($url));
            nocache_headers();
        }
    }

    /** When the customer came to the page, which then loads itself again. */
    private static function visitedAt(): int
    {
        // phpcs:ignore WordPress.Security.NonceVerification -- it decides only how long the page loads itself
        $given = $_GET[self::VISITED_AT] ?? null;
        return is_string($given) ? min(absint($given), time()) : time();
    }

    private static function reloads(): bool
    {
        return time() - self::visitedAt() < self::RELOADS_FOR_SECONDS;
    }

    /** @param mixed $text what WooCommerce says */
    private static function text(mixed $text, mixed $order): mixed
    {
        $isOurs = $order instanceof \WC_Order && $order->get_payment_method() === Gateway::ID;
        return $isOurs && !$order->is_paid() ? self::textFor($order) ?? $text : $text;
    }

    /** @return string|null null when WooCommerce's own text is right */
    private static function textFor(\WC_Order $order): ?string
    {
        $environment = Settings::load()->environment();
        $attempts = Attempts::of($order);
        if ($attempts->hasMoney($environment)) {
            return !$order->has_status('on-hold') ? null
                : esc_html__('Your payment has arrived. The shop checks it before it processes your order. Do not pay again.', 'gatehouse-for-woocommerce');
        }
        // It was paid in another way, such as in cash.
        if ($order->get_date_paid() !== null) {
            return null;
        }
        $open = $attempts->open($environment) ?? $attempts->payable($environment)[0] ?? null;
        if ($open !== null) {
            $text = self::reloads()
                ? esc_html__('Your payment is not confirmed yet. This page asks again every few seconds. If you have confirmed the payment on your phone, do not pay again.', 'gatehouse-for-woocommerce')
                : esc_html__('Your payment is not confirmed yet. Reload this page to ask again. If you have confirmed the payment on your phone, do not pay again.', 'gatehouse-for-woocommerce');
            return $open->checkoutUrl === '' ? $text : $text . ' '
                . esc_html__('If you have not paid yet:', 'gatehouse-for-woocommerce') . ' '
                . self::link($open->checkoutUrl, __('Continue the payment', 'gatehouse-for-woocommerce'));
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
