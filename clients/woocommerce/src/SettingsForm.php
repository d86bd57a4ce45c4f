<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Environment;
use Gatehouse\WooCommerce\Client\Error\ConfigurationError;
use Gatehouse\WooCommerce\Client\Error\ConnectionError;
use Gatehouse\WooCommerce\Client\Error\GatehouseError;
use Gatehouse\WooCommerce\Client\Error\NotFoundError;
use Gatehouse\WooCommerce\Client\Error\UnauthorizedError;
use Gatehouse\WooCommerce\Client\Error\WebhookVerificationError;
use Gatehouse\WooCommerce\Client\Webhooks;

/** The form in which the owner of the shop sets up the payment method. */
final class SettingsForm
{
    /** @return array<string, array<string, mixed>> */
    public static function fields(): array
    {
        return [
            'enabled' => [
                'title' => __('Enable', 'gatehouse-for-woocommerce'),
                'label' => __('Offer this payment method in the shop', 'gatehouse-for-woocommerce'),
                'type' => 'checkbox',
                'default' => 'no',
            ],
            'title' => [
                'title' => __('Title', 'gatehouse-for-woocommerce'),
                'type' => 'text',
                'description' => __('The name of the payment method at checkout.', 'gatehouse-for-woocommerce'),
                'default' => __('Mobile money', 'gatehouse-for-woocommerce'),
            ],
            'description' => [
                'title' => __('Description', 'gatehouse-for-woocommerce'),
                'type' => 'textarea',
                'description' => __('The text below the name at checkout.', 'gatehouse-for-woocommerce'),
                'default' => __('You pay on the next page, with your mobile wallet.', 'gatehouse-for-woocommerce'),
            ],
            'sandbox' => [
                'title' => __('Sandbox', 'gatehouse-for-woocommerce'),
                'label' => __('Take test payments, which move no money', 'gatehouse-for-woocommerce'),
                'type' => 'checkbox',
                'default' => 'yes',
            ],
            ...self::fieldsOf(
                Environment::Sandbox,
                __('Sandbox: for test payments', 'gatehouse-for-woocommerce'),
                __('It begins with svc_test_. Give the key the scope for refunds, if you refund from WooCommerce.', 'gatehouse-for-woocommerce'),
            ),
            ...self::fieldsOf(
                Environment::Production,
                __('Production: for real payments', 'gatehouse-for-woocommerce'),
                __('It begins with svc_live_. Give the key the scope for refunds, if you refund from WooCommerce.', 'gatehouse-for-woocommerce'),
            ),
        ];
    }

    /** @return array<string, array<string, mixed>> */
    private static function fieldsOf(Environment $environment, string $title, string $aboutKey): array
    {
        $name = $environment->value;
        return [
            "{$name}_heading" => ['title' => $title, 'type' => 'title'],
            "{$name}_address" => [
                'title' => __('Address of the gateway', 'gatehouse-for-woocommerce'),
                'type' => 'text',
                'description' => __('Such as https://pay.example. The operator of the gateway tells you.', 'gatehouse-for-woocommerce'),
                'default' => '',
            ],
            "{$name}_key" => [
                'title' => __('API key', 'gatehouse-for-woocommerce'),
                'type' => 'password',
                'description' => $aboutKey,
                'default' => '',
                'custom_attributes' => ['autocomplete' => 'off'],
            ],
            "{$name}_secrets" => [
                'title' => __('Signing secret', 'gatehouse-for-woocommerce'),
                'type' => 'password',
                'description' => __('It begins with whsec_. The dashboard of the gateway shows it once, on the page Webhooks: use the one for the webhook_url of orders. During a rotation, enter both secrets with a space between them.', 'gatehouse-for-woocommerce'),
                'default' => '',
                'custom_attributes' => ['autocomplete' => 'off'],
            ],
        ];
    }

    /** Shows where webhooks arrive. */
    public static function showWebhookUrl(): void
    {
        $text = __('Webhooks report payments and refunds to %s. Each payment names this address to the gateway, so you need no webhook endpoint for it.', 'gatehouse-for-woocommerce');
        echo '<p>' . sprintf(esc_html($text), '<code>' . esc_html(WebhookRoute::url()) . '</code>') . '</p>';
    }

    /** @throws \Exception that says what to enter */
    public static function address(?string $value, Environment $environment): string
    {
        $address = rtrim(trim(wp_unslash($value ?? '')), '/');
        $url = wp_parse_url($address);
        if ($address !== '' && (!isset($url['host']) || !in_array($url['scheme'] ?? '', ['http', 'https'], true))) {
            throw new \Exception(self::in($environment, __('The address of the gateway begins with https://, such as https://pay.example.', 'gatehouse-for-woocommerce')));
        }
        return esc_url_raw($address);
    }

    /** @throws \Exception that says what to enter */
    public static function key(#[\SensitiveParameter] ?string $value, Environment $environment): string
    {
        $key = trim(wp_unslash($value ?? ''));
        $prefix = $environment === Environment::Sandbox ? 'svc_test_' : 'svc_live_';
        if ($key !== '' && preg_match("/^$prefix" . '[!-~]+\z/', $key) !== 1) {
            /* translators: %s: the beginning of a key */
            $text = __('The API key begins with %s. Copy the whole key from the dashboard of the gateway.', 'gatehouse-for-woocommerce');
            throw new \Exception(self::in($environment, sprintf($text, $prefix)));
        }
        return $key;
    }

    /** @throws \Exception that says what to enter */
    public static function secrets(#[\SensitiveParameter] ?string $value, Environment $environment): string
    {
        $secrets = Settings::secretsIn(wp_unslash($value ?? ''));
        try {
            if ($secrets !== []) {
                Webhooks::verifyWebhook([], '', $secrets);
            }
        } catch (ConfigurationError) {
            throw new \Exception(self::in($environment, __('The signing secret begins with whsec_. Copy it whole from the dashboard of the gateway, page Webhooks, or create a new one there.', 'gatehouse-for-woocommerce')));
        } catch (WebhookVerificationError) {
            // The secrets are usable, and there is no webhook yet.
        }
        return implode(' ', $secrets);
    }

    /**
     * The settings that still prevent payments. If all are set, the gateway checks the key.
     *
     * @return list<string>
     */
    public static function problems(Settings $settings, bool $isEnabled): array
    {
        $environment = $settings->environment();
        if (!$settings->isComplete($environment)) {
            return $isEnabled ? [self::in($environment, __('Customers do not see the payment method yet. Enter the address of the gateway, the API key and the signing secret.', 'gatehouse-for-woocommerce'))] : [];
        }
        try {
            $settings->client($environment, retries: 0)->verify('wc-settings-check');
        } catch (NotFoundError $error) {
            // The gateway knows the key, and no such order. Another site, or another path of the gateway, would not answer so.
            return $error->isUnknownNumber() ? [] : [self::in($environment, $error->getMessage())];
        } catch (UnauthorizedError) {
            return [self::in($environment, __('The gateway does not know the API key. Check that the key is not revoked, and that the address is the one of this environment.', 'gatehouse-for-woocommerce'))];
        } catch (ConnectionError) {
            return [self::in($environment, __('The gateway does not answer at this address. Check the address, and that your server may connect to it.', 'gatehouse-for-woocommerce'))];
        } catch (GatehouseError $error) {
            return [self::in($environment, $error->getMessage())];
        }
        return [];
    }

    private static function in(Environment $environment, string $text): string
    {
        $name = $environment === Environment::Sandbox
            ? __('Sandbox', 'gatehouse-for-woocommerce')
            : __('Production', 'gatehouse-for-woocommerce');
        return "Gatehouse, $name: $text";
    }
}
