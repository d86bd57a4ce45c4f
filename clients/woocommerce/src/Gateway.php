<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Environment;

/** The payment method, as WooCommerce knows it. */
final class Gateway extends \WC_Payment_Gateway
{
    public const ID = 'gatehouse';

    public function __construct()
    {
        $this->id = self::ID;
        $this->method_title = __('Gatehouse', 'gatehouse-for-woocommerce');
        $this->method_description = __(
            'The customer pays with mobile money on the checkout page of your payment gateway, and then returns to your shop.',
            'gatehouse-for-woocommerce',
        );
        $this->has_fields = false;
        $this->supports = ['products', 'refunds'];
        $this->form_fields = SettingsForm::fields();
        $this->init_settings();
        $this->title = $this->get_option('title');
        $this->description = $this->get_option('description');
        $this->enabled = $this->get_option('enabled');
        add_action("woocommerce_update_options_payment_gateways_$this->id", [$this, 'process_admin_options']);
    }

    public function is_available(): bool
    {
        return parent::is_available() && !$this->needs_setup();
    }

    public function needs_setup(): bool
    {
        $settings = Settings::load();
        return !$settings->isComplete($settings->environment());
    }

    /**
     * @param int $order_id
     * @return array{result: string, redirect?: string}
     */
    public function process_payment($order_id): array
    {
        try {
            return ['result' => 'success', 'redirect' => (new Payments(Settings::load()))->start((int) $order_id)];
        } catch (PaymentRefused $error) {
            wc_add_notice(esc_html($error->getMessage()), 'error');
            return ['result' => 'failure'];
        }
    }

    /** @param \WC_Order|false $order */
    public function can_refund_order($order): bool
    {
        return $order instanceof \WC_Order && Attempts::of($order)->paid() !== null;
    }

    /**
     * @param int $order_id
     * @param float|string|null $amount
     * @param string $reason
     * @return true|\WP_Error
     */
    public function process_refund($order_id, $amount = null, $reason = ''): bool|\WP_Error
    {
        return (new Refunds(Settings::load()))->create((int) $order_id, Amount::of($amount ?? '0'), (string) $reason);
    }

    public function admin_options(): void
    {
        parent::admin_options();
        SettingsForm::showWebhookUrl();
    }

    public function process_admin_options(): bool
    {
        $saved = parent::process_admin_options();
        foreach (SettingsForm::problems(new Settings($this->settings), $this->get_option('enabled') === 'yes') as $problem) {
            \WC_Admin_Settings::add_error($problem);
        }
        return $saved;
    }

    // WooCommerce calls these for each field. An exception keeps the stored value, and shows its message.

    public function validate_sandbox_address_field(string $key, ?string $value): string
    {
        return SettingsForm::address($value, Environment::Sandbox);
    }

    public function validate_production_address_field(string $key, ?string $value): string
    {
        return SettingsForm::address($value, Environment::Production);
    }

    public function validate_sandbox_key_field(string $key, #[\SensitiveParameter] ?string $value): string
    {
        return SettingsForm::key($value, Environment::Sandbox);
    }

    public function validate_production_key_field(string $key, #[\SensitiveParameter] ?string $value): string
    {
        return SettingsForm::key($value, Environment::Production);
    }

    public function validate_sandbox_secrets_field(string $key, #[\SensitiveParameter] ?string $value): string
    {
        return SettingsForm::secrets($value, Environment::Sandbox);
    }

    public function validate_production_secrets_field(string $key, #[\SensitiveParameter] ?string $value): string
    {
        return SettingsForm::secrets($value, Environment::Production);
    }
}
