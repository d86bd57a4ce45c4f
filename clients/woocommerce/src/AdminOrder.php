<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** The payments and refunds on the page of an order in the administration. */
final class AdminOrder
{
    public static function connect(): void
    {
        add_action('woocommerce_admin_order_data_after_billing_address', self::show(...));
        add_filter('woocommerce_order_actions', self::addAction(...), 10, 2);
        add_action('woocommerce_order_action_gatehouse_ask', self::ask(...));
    }

    private static function show(mixed $order): void
    {
        $attempts = $order instanceof \WC_Order ? Attempts::of($order)->all() : [];
        if ($attempts === [] || !current_user_can('edit_shop_orders')) {
            return;
        }
        echo '<h3>' . esc_html__('Gatehouse', 'gatehouse-for-woocommerce') . '</h3><ul>';
        foreach ($attempts as $attempt) {
            /* translators: 1: an amount with its currency, 2: a status, 3: an environment, 4: the order number at the gateway */
            $text = __('Payment of %1$s: %2$s (%3$s, %4$s)', 'gatehouse-for-woocommerce');
            $money = "$attempt->amount $attempt->currency";
            $line = sprintf($text, $money, $attempt->status, $attempt->environment->value, $attempt->number);
            echo '<li>' . esc_html($line) . '</li>';
        }
        foreach (RefundRecords::of($order)->all() as $record) {
            /* translators: 1: an amount with its currency, 2: a status, 3: the refund number at the gateway */
            $text = __('Refund of %1$s: %2$s (%3$s)', 'gatehouse-for-woocommerce');
            $line = sprintf($text, "$record->amount {$order->get_currency()}", $record->status, $record->number);
            echo '<li>' . esc_html($line) . '</li>';
        }
        echo '</ul>';
    }

    /**
     * @param array<string, string> $actions
     * @return array<string, string>
     */
    private static function addAction(array $actions, mixed $order = null): array
    {
        if ($order instanceof \WC_Order && Attempts::of($order)->all() !== []) {
            $actions['gatehouse_ask'] = __('Ask Gatehouse for the outcome', 'gatehouse-for-woocommerce');
        }
        return $actions;
    }

    /** WooCommerce has checked the nonce and the capability. */
    private static function ask(\WC_Order $order): void
    {
        $settings = Settings::load();
        $askFor = [
            fn () => (new Payments($settings))->ask($order->get_id()),
            fn () => OrderLock::hold($order->get_id(), fn (\WC_Order $locked) => (new Refunds($settings))->ask($locked)),
        ];
        foreach ($askFor as $ask) {
            try {
                $ask();
            } catch (\Throwable $error) {
                Log::error("The outcome of order {$order->get_id()} is not known", $error);
                /* translators: %s: what went wrong */
                $text = __('Gatehouse was asked for the outcome, but: %s', 'gatehouse-for-woocommerce');
                $order->add_order_note(sprintf($text, $error->getMessage()));
            }
        }
    }
}
