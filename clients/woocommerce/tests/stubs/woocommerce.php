<?php

/**
 * Plugin Name: Stubs of WooCommerce
 *
 * The part of WooCommerce that the plugin uses, for tests with the stubs of WordPress or in a real WordPress. Orders are
 * files in the folder that GATEHOUSE_TEST_SHOP names. As in WooCommerce, saving writes only what was changed.
 */

declare(strict_types=1);

use Automattic\WooCommerce\Caches\OrderCache;

require_once __DIR__ . '/blocks.php';

function wc_get_container(): object
{
    static $container = null;
    return $container ??= new class () {
        /** @var array<class-string, object> */
        private array $all = [];

        public function get(string $class): object
        {
            return $this->all[$class] ??= new $class();
        }
    };
}

/** As of high-performance order storage. It caches no rows: OrderCache is enough of a cache for these tests. */
final class WC_Data_Store
{
    public static function load(string $type): self
    {
        return new self();
    }

    public function has_callable(string $method): bool
    {
        return false;
    }
}

function wc_test_file(string $name): string
{
    return getenv('GATEHOUSE_TEST_SHOP') . "/$name";
}

abstract class WC_Data
{
    /** @var array<string, mixed> */
    protected array $changes = [];

    /** @param array<string, mixed> $data */
    public function __construct(protected array $data)
    {
    }

    public function get_id(): int
    {
        return $this->data['id'];
    }

    public function get_meta(string $name): mixed
    {
        return $this->get("meta:$name") ?? '';
    }

    public function update_meta_data(string $name, mixed $value): void
    {
        $this->changes["meta:$name"] = $value;
    }

    public function read_meta_data(bool $force): void
    {
        $isMeta = fn (string $name) => str_starts_with($name, 'meta:');
        $meta = array_filter(wc_test_read($this->get_id()) ?? [], $isMeta, ARRAY_FILTER_USE_KEY);
        $this->data = [...array_filter($this->data, fn ($name) => !$isMeta($name), ARRAY_FILTER_USE_KEY), ...$meta];
    }

    public function save(): int
    {
        $this->data = [...wc_test_read($this->get_id()) ?? $this->data, ...$this->changes];
        $this->changes = [];
        wc_test_write($this->data);
        wc_get_container()->get(OrderCache::class)->remove($this->get_id());
        return $this->get_id();
    }

    public function delete(bool $force): void
    {
        wc_get_container()->get(OrderCache::class)->remove($this->get_id());
        unlink(wc_test_file("order-{$this->get_id()}"));
    }

    protected function get(string $name): mixed
    {
        return $this->changes[$name] ?? $this->data[$name] ?? null;
    }
}

/** @return array<string, mixed>|null */
function wc_test_read(int $id): ?array
{
    $file = wc_test_file("order-$id");
    return is_file($file) ? unserialize((string) file_get_contents($file)) : null;
}

/**
 * No reader ever sees half of an order.
 *
 * @param array<string, mixed> $data
 */
function wc_test_write(array $data): void
{
    $temporary = wc_test_file('writing-' . bin2hex(random_bytes(6)));
    file_put_contents($temporary, serialize($data));
    rename($temporary, wc_test_file("order-{$data['id']}"));
}

/** @param array<string, mixed> $data */
function wc_test_create(array $data): int
{
    $id = random_int(1, 99_999_999);
    wc_test_write(['id' => $id, ...$data]);
    return $id;
}

class WC_Order extends WC_Data
{
    /** @param array<string, mixed> $data */
    public static function create(array $data): self
    {
        return new self(wc_test_read(wc_test_create([
            'type' => 'order',
            'status' => 'pending',
            'total' => '100.50',
            'currency' => 'ETB',
            'phone' => '0911 22 33-44',
            'key' => 'wc_order_' . bin2hex(random_bytes(6)),
            'method' => 'gatehouse',
            'transaction' => '',
            'notes' => [],
            'completions' => 0,
            ...$data,
        ])));
    }

    public function get_status(): string
    {
        return $this->get('status');
    }

    /** @param string|list<string> $status */
    public function has_status(string|array $status): bool
    {
        return in_array($this->get_status(), (array) $status, true);
    }

    public function is_paid(): bool
    {
        return $this->has_status(['processing', 'completed']);
    }

    public function needs_payment(): bool
    {
        return $this->has_status(['pending', 'failed']);
    }

    public function get_total(): string
    {
        return $this->get('total');
    }

    public function set_total(string $total): void
    {
        $this->changes['total'] = $total;
    }

    public function get_currency(): string
    {
        return $this->get('currency');
    }

    public function get_billing_phone(): string
    {
        return $this->get('phone');
    }

    public function get_order_number(): string
    {
        return (string) $this->get_id();
    }

    public function get_order_key(): string
    {
        return $this->get('key');
    }

    public function get_payment_method(): string
    {
        return $this->get('method');
    }

    public function get_transaction_id(): string
    {
        return $this->get('transaction');
    }

    public function set_transaction_id(string $id): void
    {
        $this->changes['transaction'] = $id;
    }

    public function payment_complete(string $transaction): bool
    {
        try {
            do_action('woocommerce_pre_payment_complete', $this->get_id(), $transaction);
            if ($this->has_status(['on-hold', 'pending', 'failed', 'cancelled'])) {
                $this->set_transaction_id($transaction);
                $this->changes['status'] = 'processing';
                $this->changes['paid'] = '2026-01-01';
                $this->changes['completions'] = $this->get('completions') + 1;
                $this->save();
            }
            return true;
        } catch (Exception) {
            return false;
        }
    }

    public function get_date_paid(): ?DateTimeImmutable
    {
        return $this->get('paid') === null ? null : new DateTimeImmutable($this->get('paid'));
    }

    public function completions(): int
    {
        return $this->get('completions');
    }

    public function update_status(string $status, string $note = ''): void
    {
        $this->changes['status'] = $status;
        if ($note !== '') {
            $this->add_order_note($note);
        }
        $this->save();
    }

    public function add_order_note(string $note): void
    {
        $stored = wc_test_read($this->get_id());
        $stored['notes'][] = $note;
        wc_test_write($stored);
        $this->data['notes'] = $stored['notes'];
    }

    /** @return list<string> */
    public function notes(): array
    {
        return wc_test_read($this->get_id())['notes'];
    }

    public function get_checkout_order_received_url(): string
    {
        return home_url("/?order-received={$this->get_id()}&key={$this->get_order_key()}");
    }

    public function get_checkout_payment_url(): string
    {
        return home_url("/?order-pay={$this->get_id()}&key={$this->get_order_key()}");
    }

    /** @return list<WC_Order_Refund> */
    public function get_refunds(): array
    {
        $all = array_map(fn ($file) => unserialize((string) file_get_contents($file)), glob(wc_test_file('order-*')) ?: []);
        $own = array_filter($all, fn ($each) => ($each['parent'] ?? 0) === $this->get_id());
        return array_map(fn ($each) => new WC_Order_Refund($each), array_values($own));
    }
}

class WC_Order_Refund extends WC_Data
{
    public function get_amount(): string
    {
        return $this->get('amount');
    }
}

function wc_get_order(mixed $id): WC_Order|WC_Order_Refund|false
{
    $cache = wc_get_container()->get(OrderCache::class);
    $cached = $cache->get((int) $id);
    if ($cached !== null) {
        return $cached;
    }
    $data = wc_test_read((int) $id);
    $order = match ($data['type'] ?? null) {
        'order' => new WC_Order($data),
        'refund' => new WC_Order_Refund($data),
        default => false,
    };
    $order && $cache->set($order);
    return $order;
}

/**
 * In the order in which WooCommerce does it: the refund is stored, then the payment is refunded, then the order changes. An
 * exception in between deletes the refund.
 *
 * @param array<string, mixed> $args
 */
function wc_create_refund(array $args): WC_Order_Refund|WP_Error
{
    $order = wc_get_order($args['order_id']);
    $left = (float) $order->get_total();
    foreach ($order->get_refunds() as $each) {
        $left -= (float) $each->get_amount();
    }
    if ((float) $args['amount'] > $left + 0.001) {
        return new WP_Error('error', 'Invalid refund amount.');
    }
    $id = wc_test_create(['type' => 'refund', 'parent' => $order->get_id(), 'amount' => $args['amount']]);
    $refund = wc_get_order($id);
    do_action('woocommerce_create_refund', $refund, $args);
    $refund->save();
    try {
        if ($args['refund_payment']) {
            $gateways = apply_filters('woocommerce_payment_gateways', []);
            $result = (new $gateways[0]())->process_refund($order->get_id(), $args['amount'], $args['reason']);
            if (is_wp_error($result)) {
                $refund->delete(true);
                return $result;
            }
            do_action('wc_test_refund_requested', $order->get_id());
        }
        if ((float) $args['amount'] > $left - 0.001) {
            $order->update_status('refunded');
        }
        do_action('woocommerce_order_refunded', $order->get_id(), $id);
    } catch (Exception $error) {
        $refund->delete(true);
        return new WP_Error('error', $error->getMessage());
    }
    return $refund;
}

abstract class WC_Payment_Gateway
{
    public string $id = '';
    public string $method_title = '';
    public string $method_description = '';
    public string $title = '';
    public string $description = '';
    public string $enabled = 'no';
    public bool $has_fields = false;
    /** @var list<string> */
    public array $supports = [];
    /** @var array<string, array<string, mixed>> */
    public array $form_fields = [];
    /** @var array<string, string> */
    public array $settings = [];

    public function init_settings(): void
    {
        $this->settings = get_option("woocommerce_{$this->id}_settings", []);
    }

    public function get_option(string $name): string
    {
        return $this->settings[$name] ?? $this->form_fields[$name]['default'] ?? '';
    }

    public function get_field_key(string $name): string
    {
        return "woocommerce_{$this->id}_$name";
    }

    public function is_available(): bool
    {
        return $this->enabled === 'yes';
    }

    public function process_admin_options(): bool
    {
        foreach ($this->form_fields as $name => $field) {
            $value = $_POST[$this->get_field_key($name)] ?? null;
            try {
                $validate = [$this, "validate_{$name}_field"];
                if ($field['type'] !== 'title') {
                    $this->settings[$name] = match (true) {
                        is_callable($validate) => $validate($name, $value),
                        $field['type'] === 'checkbox' => $value === null ? 'no' : 'yes',
                        default => (string) $value,
                    };
                }
            } catch (Exception $error) {
                WC_Admin_Settings::add_error($error->getMessage());
            }
        }
        return update_option("woocommerce_{$this->id}_settings", $this->settings);
    }

    public function admin_options(): void
    {
        echo '<h2>' . esc_html($this->method_title) . '</h2><p>' . wp_kses_post($this->method_description) . '</p>';
        echo '<table class="form-table">';
        foreach ($this->form_fields as $name => $field) {
            $key = esc_attr($this->get_field_key($name));
            $title = esc_html($field['title']);
            if ($field['type'] === 'title') {
                echo "</table><h3>$title</h3><table class=\"form-table\">";
                continue;
            }
            $value = esc_attr($this->get_option($name));
            $checked = $value === 'yes' ? 'checked' : '';
            $label = esc_html($field['label'] ?? '');
            echo "<tr><th scope=\"row\"><label for=\"$key\">$title</label></th><td>" . match ($field['type']) {
                'checkbox' => "<label><input type=\"checkbox\" id=\"$key\" name=\"$key\" value=\"1\" $checked> $label</label>",
                'textarea' => "<textarea id=\"$key\" name=\"$key\" rows=\"3\" cols=\"40\">$value</textarea>",
                default => "<input type=\"{$field['type']}\" class=\"regular-text\" id=\"$key\" name=\"$key\" value=\"$value\">",
            } . '<p class="description">' . wp_kses_post($field['description'] ?? '') . '</p></td></tr>';
        }
        echo '</table>';
    }
}

final class WC_Admin_Settings
{
    /** @var list<string> */
    public static array $errors = [];

    public static function add_error(string $text): void
    {
        self::$errors[] = $text;
    }
}

final class WC_Test_Logger
{
    /** @param array<string, string> $context */
    public function log(string $level, string $text, array $context): void
    {
        file_put_contents(wc_test_file('log'), "$level {$context['source']} $text\n", FILE_APPEND | LOCK_EX);
    }
}

function wc_get_logger(): WC_Test_Logger
{
    return new WC_Test_Logger();
}

function wc_add_notice(string $text, string $kind): void
{
    $GLOBALS['notices'][] = $text;
}

function wc_format_decimal(float|string $number, int $decimals): string
{
    return number_format((float) $number, $decimals, '.', '');
}

function wc_get_price_decimals(): int
{
    return $GLOBALS['price_decimals'] ?? 2;
}

function wc_get_order_status_name(string $status): string
{
    return ucfirst($status);
}

function is_wc_endpoint_url(string $endpoint): bool
{
    return isset($_GET[$endpoint]);
}
