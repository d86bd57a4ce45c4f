<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce\Tests;

use Automattic\WooCommerce\Caches\OrderCache;
use Gatehouse\WooCommerce\Attempts;
use Gatehouse\WooCommerce\Client\Environment;
use Gatehouse\WooCommerce\Client\Gatehouse;
use Gatehouse\WooCommerce\Gateway;
use Gatehouse\WooCommerce\WordPressTransport;

/** A shop that sells through the gateway that `npm test -- test/clients` starts. GATEHOUSE_TEST_SITE describes the gateway. */
final class Shop
{
    /** @var resource|null */
    private static $server = null;

    /** Starts the web server of the shop, until the tests have ended. */
    public static function open(): void
    {
        $folder = sys_get_temp_dir() . '/gatehouse-shop-' . bin2hex(random_bytes(6));
        mkdir($folder, 0700);
        putenv("GATEHOUSE_TEST_SHOP=$folder");
        $wordpress = getenv('GATEHOUSE_TEST_WORDPRESS');
        $serve = is_string($wordpress) ? ['-t', $wordpress] : [__DIR__ . '/server.php'];
        $command = [PHP_BINARY, '-d', 'error_reporting=-1', '-d', 'display_errors=0', '-S', '127.0.0.1:0', ...$serve];
        $log = "$folder/server-log";
        self::$server = proc_open($command, [['file', '/dev/null', 'r'], ['file', $log, 'w'], ['file', $log, 'w']], $pipes);
        register_shutdown_function(self::close(...));
        self::waitUntil('the shop listens', function () use ($folder, $log): bool {
            $isListening = preg_match('#\((http://[^)]+)\) started#', (string) file_get_contents($log), $match) === 1;
            return $isListening && file_put_contents("$folder/url", $match[1]) !== false;
        });
    }

    private static function close(): void
    {
        if (self::$server !== null) {
            proc_terminate(self::$server);
            proc_close(self::$server);
        }
        $folder = (string) getenv('GATEHOUSE_TEST_SHOP');
        array_map('unlink', glob("$folder/*") ?: []);
        rmdir($folder);
    }

    /** Whether the tests run as somebody who may edit orders. */
    public static function mayEditOrders(bool $may): void
    {
        if (function_exists('wp_set_current_user')) {
            $user = wp_set_current_user($may ? 1 : 0);
            $may && $user->add_cap('edit_shop_orders');
        }
        $GLOBALS['may'] = $may;
    }

    public static function fact(string $name): string
    {
        return json_decode((string) getenv('GATEHOUSE_TEST_SITE'), true, 512, JSON_THROW_ON_ERROR)[$name];
    }

    /** @param array<string, string> $changes */
    public static function set(array $changes = []): void
    {
        update_option('woocommerce_gatehouse_settings', [
            'enabled' => 'yes',
            'sandbox' => 'yes',
            'sandbox_address' => self::fact('sandbox_url'),
            'sandbox_key' => self::fact('test_key'),
            'sandbox_secrets' => self::fact('signing_secret'),
            'production_address' => self::fact('production_url'),
            'production_key' => self::fact('live_key'),
            'production_secrets' => self::LIVE_SECRET,
            ...$changes,
        ]);
    }

    public const LIVE_SECRET = 'whsec_0sE89nwH9zEzWXYlRQCvpab6VpIkoqifrxLzD6dCIms=';

    public static function gateway(): Gateway
    {
        [$class] = apply_filters('woocommerce_payment_gateways', []);
        return new $class();
    }

    /** The customer presses "Place order". @return array{result: string, redirect?: string} */
    public static function checkOut(\WC_Order $order): array
    {
        $GLOBALS['notices'] = [];
        return self::gateway()->process_payment($order->get_id());
    }

    /** The number of the latest attempt to pay an order. */
    public static function number(\WC_Order $order): string
    {
        return (string) Attempts::of(self::now($order))->last()?->number;
    }

    /** The order as it is stored now. */
    public static function now(\WC_Order $order): \WC_Order
    {
        wc_get_container()->get(OrderCache::class)->remove($order->get_id());
        return wc_get_order($order->get_id());
    }

    /** The customer pays at the gateway, by a simulated wallet. */
    public static function pay(\WC_Order $order, ?string $phone = null): void
    {
        $client = new Gatehouse(self::fact('test_key'), self::fact('sandbox_url'), http: new WordPressTransport());
        $client->direct(
            payment_option: 'walleta_ussd',
            order_number: self::number($order),
            amount: $order->get_total(),
            currency: $order->get_currency(),
            phone: $phone ?? sprintf('+25191%07d', random_int(0, 9_999_999)),
        );
        $client->wait(self::number($order), timeoutSeconds: 120);
    }

    /** An order that is paid, by a webhook that the gateway has delivered. */
    public static function paidOrder(?string $phone = null): \WC_Order
    {
        $order = \WC_Order::create([]);
        self::checkOut($order);
        self::pay($order, $phone);
        self::waitUntil('the order is paid', fn () => self::now($order)->is_paid());
        return self::now($order);
    }

    /**
     * Lets another request hold the lock of an order.
     *
     * @return callable(): void ends that request
     */
    public static function holdOrder(\WC_Order $order): callable
    {
        $command = [PHP_BINARY, __DIR__ . '/holder.php', (string) $order->get_id()];
        $holder = proc_open($command, [['pipe', 'r'], ['pipe', 'w']], $pipes);
        if (fgets($pipes[1]) !== "held
") {
            throw new \RuntimeException('The order was not free');
        }
        return function () use ($holder, $pipes): void {
            fclose($pipes[0]);
            proc_close($holder);
        };
    }

    public static function waitUntil(string $what, callable $isSo): void
    {
        $deadline = time() + 120;
        while (!$isSo()) {
            if (time() > $deadline) {
                throw new \RuntimeException("It did not happen: $what. Log:\n" . self::log());
            }
            usleep(20_000);
        }
    }

    public static function log(): string
    {
        return (string) @file_get_contents(getenv('GATEHOUSE_TEST_SHOP') . '/log');
    }

    /**
     * A webhook of the gateway that signs with a secret, as the shop answers it.
     *
     * @param array<string, mixed> $data
     * @return array{int, string} the status and the message
     */
    public static function receive(
        string $type,
        array $data,
        ?string $secret = null,
        int $age = 0,
        Environment $environment = Environment::Sandbox,
    ): array {
        $id = 'evt_' . bin2hex(random_bytes(8));
        $time = (string) (time() - $age);
        $body = json_encode([
            'id' => $id,
            'type' => $type,
            'created_at' => '2026-01-01T00:00:00.000Z',
            'environment' => $environment->value,
            'sequence' => 3,
            'previous_status' => 'PENDING',
            'data' => $data,
        ], JSON_THROW_ON_ERROR);
        $key = (string) base64_decode(substr($secret ?? self::fact('signing_secret'), 6), true);
        $response = wp_remote_post(rest_url('gatehouse/v1/webhook'), [
            'body' => $body,
            'headers' => [
                'content-type' => 'application/json',
                'webhook-id' => $id,
                'webhook-timestamp' => $time,
                'webhook-signature' => 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true)),
            ],
            'timeout' => 30,
            'redirection' => 0,
        ]);
        $answer = wp_remote_retrieve_body($response);
        return [wp_remote_retrieve_response_code($response), json_decode($answer, true)['message'] ?? $answer];
    }

    /**
     * The data of a webhook about an attempt.
     *
     * @param array<string, string> $changes
     * @return array<string, string>
     */
    public static function dataOf(string $number, string $status, array $changes = []): array
    {
        return [
            'order_id' => 'ord_' . substr(hash('sha256', $number), 0, 8),
            'order_number' => $number,
            'status' => $status,
            'amount' => '100.50',
            'deducted' => $status === 'COMPLETED' ? '100.50' : '0.00',
            'currency' => 'ETB',
            'payment_option' => 'walleta_ussd',
            'payment_type' => 'API',
            'customer_phone' => '0911223344',
            'reason' => 'Order',
            'created_timestamp' => '2026-01-01T00:00:00.000Z',
            'updated_timestamp' => '2026-01-01T00:00:00.000Z',
            ...$changes,
        ];
    }

    /**
     * The text of the page to which the customer returns.
     *
     * @param array<string, string> $query
     */
    public static function returnPage(\WC_Order $order, string $key, array $query = []): string
    {
        $_GET = ['order-received' => (string) $order->get_id(), 'key' => $key, 'status' => 'COMPLETED', ...$query];
        if (function_exists('set_query_var')) {
            // It redirects browsers to the address of the page, and there is no browser.
            remove_action('template_redirect', 'redirect_canonical');
            set_query_var('order-received', $_GET['order-received']);
        }
        do_action('template_redirect');
        return apply_filters('woocommerce_thankyou_order_received_text', 'Thank you.', self::now($order));
    }
}
