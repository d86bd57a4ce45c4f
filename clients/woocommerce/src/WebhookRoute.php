<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Environment;
use Gatehouse\WooCommerce\Client\Error\ConfigurationError;
use Gatehouse\WooCommerce\Client\Error\WebhookVerificationError;
use Gatehouse\WooCommerce\Client\PaymentOrder;
use Gatehouse\WooCommerce\Client\Refund;
use Gatehouse\WooCommerce\Client\WebhookEvent;
use Gatehouse\WooCommerce\Client\Webhooks;

/** Receives webhooks as a route of WordPress's REST API. The signature is the authentication. */
final class WebhookRoute
{
    private const NAMESPACE = 'gatehouse/v1';
    private const ROUTE = '/webhook';

    public static function url(): string
    {
        return rest_url(self::NAMESPACE . self::ROUTE);
    }

    public static function register(): void
    {
        register_rest_route(self::NAMESPACE, self::ROUTE, [
            'methods' => 'POST',
            'callback' => self::receive(...),
            'permission_callback' => '__return_true',
        ]);
    }

    public static function receive(\WP_REST_Request $request): \WP_REST_Response
    {
        if (!Plugin::isWooCommerceActive()) {
            return self::answer(503, 'WooCommerce is not active');
        }
        $settings = Settings::load();
        try {
            $event = self::verify($request, $settings);
            if ($event === null) {
                return self::answer(503, 'No signing secret is set in the settings of the payment method');
            }
            self::apply($event, $settings);
            return self::answer(200, 'Received');
        } catch (WebhookVerificationError $error) {
            Log::warning("A webhook was refused: {$error->getMessage()}");
            return self::answer(401, $error->getMessage());
        } catch (OrderBusy) {
            return self::answer(503, 'The order is being changed by another request');
        } catch (\Throwable $error) {
            Log::error('A webhook could not be processed', $error);
            return self::answer(500, 'The webhook could not be processed: see the logs of WooCommerce');
        }
    }

    /**
     * @return WebhookEvent|null null when no secret is set
     * @throws WebhookVerificationError
     */
    private static function verify(\WP_REST_Request $request, Settings $settings): ?WebhookEvent
    {
        $headers = [];
        foreach ($request->get_headers() as $name => $values) {
            // WordPress writes the names of headers with underscores.
            $headers[str_replace('_', '-', $name)] = $values;
        }
        $refusal = null;
        foreach (Environment::cases() as $environment) {
            try {
                $event = Webhooks::verifyWebhook($headers, $request->get_body(), $settings->secrets($environment));
                // A secret of the sandbox signs no real payments.
                if ($event->environment === $environment) {
                    return $event;
                }
            } catch (WebhookVerificationError $error) {
                $refusal = $error;
            } catch (ConfigurationError) {
                // This environment has no secret.
            }
        }
        return $refusal === null ? null : throw $refusal;
    }

    private static function apply(WebhookEvent $event, Settings $settings): void
    {
        if (is_array($event->data)) {
            Log::info("Webhook $event->id ($event->type) is of a type that this version does not know");
            return;
        }
        $orderId = Attempts::orderIdOf($event->data->order_number);
        if ($orderId === null) {
            Log::info("Webhook $event->id ($event->type) belongs to no order of this shop");
            return;
        }
        $known = OrderLock::hold($orderId, function (\WC_Order $order) use ($event, $settings): bool {
            match (true) {
                $event->data instanceof PaymentOrder =>
                    (new Payments($settings))->apply($order, $event->data, $event->environment),
                $event->data instanceof Refund =>
                    (new Refunds($settings))->apply($order, $event->data, $event->environment),
            };
            return true;
        });
        if ($known === null) {
            Log::warning("Webhook $event->id ($event->type) is for order $orderId, which does not exist");
        }
    }

    private static function answer(int $status, string $message): \WP_REST_Response
    {
        return new \WP_REST_Response(['message' => $message], $status);
    }
}
