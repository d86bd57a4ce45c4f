<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType;

/** Offers the payment method in the checkout block. */
final class BlocksSupport extends AbstractPaymentMethodType
{
    protected $name = Gateway::ID;

    public function initialize(): void
    {
        $this->settings = get_option(Settings::OPTION, []);
    }

    public function is_active(): bool
    {
        return (new Gateway())->is_available();
    }

    /** @return list<string> */
    public function get_payment_method_script_handles(): array
    {
        $needs = ['wc-blocks-registry', 'wc-settings', 'wp-element', 'wp-html-entities'];
        wp_register_script('gatehouse-blocks', Plugin::assetUrl('blocks.js'), $needs, Client\Version::VERSION, true);
        return ['gatehouse-blocks'];
    }

    /** @return array<string, mixed> */
    public function get_payment_method_data(): array
    {
        $gateway = new Gateway();
        return [
            'title' => $gateway->title,
            'description' => $gateway->description,
            'supports' => $gateway->supports,
        ];
    }
}
