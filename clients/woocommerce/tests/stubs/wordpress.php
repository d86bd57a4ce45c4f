<?php

/**
 * The part of WordPress that the plugin uses, for tests without WordPress. Options are files in the folder that GATEHOUSE_TEST_SHOP names,
 * so that the tests and the shop's web server share them.
 */

declare(strict_types=1);

define('ABSPATH', __DIR__);
define('DB_NAME', 'shop');

final class Hooks
{
    /** @var array<string, list<array{callable, int}>> */
    public static array $all = [];
}

function shop_file(string $name): string
{
    return getenv('GATEHOUSE_TEST_SHOP') . "/$name";
}

function add_filter(string $name, callable $callback, int $priority = 10, int $arguments = 1): void
{
    Hooks::$all[$name][] = [$callback, $arguments];
}

function add_action(string $name, callable $callback, int $priority = 10, int $arguments = 1): void
{
    add_filter($name, $callback, $priority, $arguments);
}

function apply_filters(string $name, mixed $value, mixed ...$more): mixed
{
    foreach (Hooks::$all[$name] ?? [] as [$callback, $arguments]) {
        $value = $callback(...array_slice([$value, ...$more], 0, $arguments));
    }
    return $value;
}

function do_action(string $name, mixed ...$values): void
{
    foreach (Hooks::$all[$name] ?? [] as [$callback, $arguments]) {
        $callback(...array_slice($values, 0, $arguments));
    }
}

function get_option(string $name, mixed $default = false): mixed
{
    $file = shop_file("option-$name");
    return is_file($file) ? unserialize((string) file_get_contents($file)) : $default;
}

function update_option(string $name, mixed $value): bool
{
    return file_put_contents(shop_file("option-$name"), serialize($value)) !== false;
}

function add_option(string $name, mixed $value): bool
{
    return is_file(shop_file("option-$name")) ? false : update_option($name, $value);
}

final class WP_Error
{
    public function __construct(private string $code, private string $message)
    {
    }

    public function get_error_message(): string
    {
        return $this->message;
    }
}

function is_wp_error(mixed $value): bool
{
    return $value instanceof WP_Error;
}

/** Named locks as MySQL has them: a second lock of the same process succeeds. */
final class wpdb
{
    public string $prefix = 'wp_';
    /** @var array<string, array{resource, int}> */
    private array $held = [];

    public function prepare(string $query, mixed ...$values): string
    {
        return vsprintf(str_replace('%s', "'%s'", $query), $values);
    }

    public function get_var(string $query): ?string
    {
        preg_match("/(GET|RELEASE)_LOCK\('([^']+)'(?:, (\d+))?/", $query, $match);
        [$verb, $name, $waitSeconds] = [$match[1], $match[2], (int) ($match[3] ?? 0)];
        [$file, $depth] = $this->held[$name] ?? [null, 0];
        if ($verb === 'GET') {
            if ($file === null) {
                $file = fopen(shop_file($name), 'c');
                for ($deadline = microtime(true) + $waitSeconds; !flock($file, LOCK_EX | LOCK_NB); usleep(20_000)) {
                    if (microtime(true) > $deadline) {
                        return '0';
                    }
                }
            }
            $this->held[$name] = [$file, $depth + 1];
        } elseif ($depth > 1) {
            $this->held[$name] = [$file, $depth - 1];
        } else {
            fclose($file);
            unset($this->held[$name]);
        }
        return '1';
    }
}

$GLOBALS['wpdb'] = new wpdb();

/** @param array<string, mixed> $args */
function wp_remote_post(string $url, array $args): array|WP_Error
{
    $headers = [];
    $curl = curl_init($url);
    curl_setopt_array($curl, [
        CURLOPT_POSTFIELDS => $args['body'],
        CURLOPT_HTTPHEADER => array_map(fn ($name) => "$name: {$args['headers'][$name]}", array_keys($args['headers'])),
        CURLOPT_TIMEOUT_MS => (int) ($args['timeout'] * 1000),
        CURLOPT_FOLLOWLOCATION => $args['redirection'] > 0,
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$headers): int {
            if (str_contains($line, ':')) {
                [$name, $value] = explode(':', $line, 2);
                $headers[strtolower($name)] = trim($value);
            }
            return strlen($line);
        },
    ]);
    $body = curl_exec($curl);
    if ($body === false) {
        return new WP_Error('http_request_failed', 'cURL error ' . curl_errno($curl) . ': ' . curl_error($curl));
    }
    return ['headers' => $headers, 'body' => $body, 'code' => curl_getinfo($curl, CURLINFO_RESPONSE_CODE)];
}

/** @param array<string, mixed> $response */
function wp_remote_retrieve_response_code(array $response): int
{
    return $response['code'];
}

/** @param array<string, mixed> $response */
function wp_remote_retrieve_response_message(array $response): string
{
    return '';
}

/** @param array<string, mixed> $response */
function wp_remote_retrieve_headers(array $response): array
{
    return $response['headers'];
}

/** @param array<string, mixed> $response */
function wp_remote_retrieve_body(array $response): string
{
    return $response['body'];
}

final class WP_REST_Request
{
    /** @param array<string, string> $headers */
    public function __construct(private array $headers, private string $body)
    {
    }

    /** @return array<string, list<string>> as WordPress names them */
    public function get_headers(): array
    {
        $headers = [];
        foreach ($this->headers as $name => $value) {
            $headers[str_replace('-', '_', strtolower($name))] = [$value];
        }
        return $headers;
    }

    public function get_body(): string
    {
        return $this->body;
    }
}

final class WP_REST_Response
{
    public function __construct(public mixed $data, public int $status)
    {
    }
}

/** @param array<string, mixed> $route */
function register_rest_route(string $namespace, string $path, array $route): void
{
    $GLOBALS['routes']["/$namespace$path"] = $route;
}

function rest_url(string $path): string
{
    return home_url() . "/?rest_route=/$path";
}

function home_url(string $path = ''): string
{
    return file_get_contents(shop_file('url')) . $path;
}

function admin_url(string $path): string
{
    return home_url() . "/wp-admin/$path";
}

function plugins_url(string $path, string $file): string
{
    return home_url() . "/wp-content/plugins/$path";
}

function plugin_basename(string $file): string
{
    return basename(dirname($file)) . '/' . basename($file);
}

function get_bloginfo(string $what): string
{
    return 'Abebe &amp; Books';
}

function wp_specialchars_decode(string $text, int $flags): string
{
    return htmlspecialchars_decode($text, $flags);
}

function __(string $text, string $domain): string
{
    return $text;
}

function esc_html__(string $text, string $domain): string
{
    return esc_html($text);
}

function esc_html(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES);
}

function esc_attr(string $text): string
{
    return esc_html($text);
}

function esc_url(string $url): string
{
    return esc_html($url);
}

function esc_url_raw(string $url): string
{
    return $url;
}

function wp_unslash(string $text): string
{
    return stripslashes($text);
}

function wp_parse_url(string $url): array|false
{
    return parse_url($url);
}

function wp_kses_post(string $text): string
{
    return $text;
}

function absint(mixed $value): int
{
    return abs((int) $value);
}

function get_query_var(string $name): string
{
    return $_GET[$name] ?? '';
}

function current_user_can(string $capability): bool
{
    return $GLOBALS['may'];
}

function clean_post_cache(int $id): void
{
}

function add_query_arg(string $name, string $value, string $url): string
{
    return "$url&$name=$value";
}

function nocache_headers(): void
{
}

/** @param list<string> $needs */
function wp_register_script(string $handle, string $url, array $needs, string $version, bool $inFooter): bool
{
    $GLOBALS['scripts'][$handle] = $url;
    return true;
}
