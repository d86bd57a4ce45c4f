<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Automattic\WooCommerce\Utilities\FeaturesUtil;
use Gatehouse\WooCommerce\Client\Error\ConnectionError;
use Gatehouse\WooCommerce\Client\Error\ServerError;

/** Connects the plugin to WordPress and WooCommerce. */
final class Plugin
{
    /** So long, WooCommerce's job asks no gateway again that did not answer: it loops over all unpaid orders in one request. */
    private const ASK_AGAIN_AFTER_SECONDS = 60;

    private static string $file = '';
    /** @var array{Settings, int}|null the settings with which no gateway answered, and when */
    private static ?array $unanswered = null;

    /** @param string $file the main file of the plugin */
    public static function start(string $file): void
    {
        self::$file = $file;
        add_action('before_woocommerce_init', self::declareFeatures(...));
        add_action('rest_api_init', WebhookRoute::register(...));
        add_action('plugins_loaded', self::connect(...));
    }

    public static function isWooCommerceActive(): bool
    {
        return class_exists('WC_Payment_Gateway');
    }

    public static function assetUrl(string $path): string
    {
        return plugins_url("assets/$path", self::$file);
    }

    private static function declareFeatures(): void
    {
        foreach (['custom_order_tables', 'cart_checkout_blocks'] as $feature) {
            FeaturesUtil::declare_compatibility($feature, self::$file, true);
        }
    }

    private static function connect(): void
    {
        if (!self::isWooCommerceActive()) {
            add_action('admin_notices', self::askForWooCommerce(...));
            return;
        }
        add_filter('woocommerce_payment_gateways', fn (array $gateways) => [...$gateways, Gateway::class]);
        add_action('woocommerce_blocks_payment_method_type_registration', function (object $registry): void {
            $registry->register(new BlocksSupport());
        });
        $name = plugin_basename(self::$file);
        add_filter("plugin_action_links_$name", self::addSettingsLink(...));
        add_filter('woocommerce_cancel_unpaid_order', self::keepOpenOrder(...), 10, 2);
        ReturnPage::connect();
        AdminOrder::connect();
        Refunds::connect();
    }

    /**
     * WooCommerce cancels orders that stay unpaid. It must not do so while the customer can still pay.
     *
     * @param mixed $cancel whether to cancel
     */
    private static function keepOpenOrder(mixed $cancel, mixed $order): mixed
    {
        if (!$cancel || !$order instanceof \WC_Order || $order->get_payment_method() !== Gateway::ID) {
            return $cancel;
        }
        $settings = Settings::load();
        [$silent, $since] = self::$unanswered ?? [null, 0];
        $isOpen = fn (\WC_Order $each) => Attempts::of($each)->payable($settings->environment()) !== [];
        if ($silent == $settings && time() - $since < self::ASK_AGAIN_AFTER_SECONDS && $isOpen($order)) {
            return false;
        }
        try {
            $asked = (new Payments($settings, retries: 0))->ask($order->get_id());
            return $asked === null || ($asked->needs_payment() && !$isOpen($asked));
        } catch (\Throwable $error) {
            if ($error instanceof ConnectionError || $error instanceof ServerError) {
                self::$unanswered = [$settings, time()];
            }
            Log::error("Order {$order->get_id()} is not cancelled, because its payment is unknown", $error);
            return false;
        }
    }

    private static function askForWooCommerce(): void
    {
        if (current_user_can('activate_plugins')) {
            $text = __('Gatehouse for WooCommerce needs WooCommerce. Install and activate it.', 'gatehouse-for-woocommerce');
            echo '<div class="notice notice-error"><p>' . esc_html($text) . '</p></div>';
        }
    }

    /**
     * @param array<string> $links
     * @return array<string>
     */
    private static function addSettingsLink(array $links): array
    {
        $url = admin_url('admin.php?page=wc-settings&tab=checkout&section=' . Gateway::ID);
        $text = __('Settings', 'gatehouse-for-woocommerce');
        return ['<a href="' . esc_url($url) . '">' . esc_html($text) . '</a>', ...$links];
    }
}
