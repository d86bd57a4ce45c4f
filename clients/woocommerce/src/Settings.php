<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Environment;
use Gatehouse\WooCommerce\Client\Error\ConfigurationError;
use Gatehouse\WooCommerce\Client\Gatehouse;

/** The settings of the payment method. Each environment has its own address, key and signing secrets. */
final class Settings
{
    public const OPTION = 'woocommerce_gatehouse_settings';

    /** A customer waits meanwhile, so neither is long. */
    private const TIMEOUT_SECONDS = 8;
    public const RETRIES = 1;

    /** @param array<string, mixed> $values */
    public function __construct(private readonly array $values)
    {
    }

    public static function load(): self
    {
        $values = get_option(self::OPTION, []);
        return new self(is_array($values) ? $values : []);
    }

    public function environment(): Environment
    {
        return $this->text('sandbox', 'yes') === 'no' ? Environment::Production : Environment::Sandbox;
    }

    /** Whether all that a payment needs is set for the environment. */
    public function isComplete(Environment $environment): bool
    {
        $name = $environment->value;
        return $this->text("{$name}_address") !== '' && $this->text("{$name}_key") !== ''
            && $this->secrets($environment) !== [];
    }

    /** @throws ConfigurationError when the address or the key is missing */
    public function client(Environment $environment, int $retries = self::RETRIES): Gatehouse
    {
        return new Gatehouse(
            $this->text("{$environment->value}_key"),
            $this->text("{$environment->value}_address"),
            environment: $environment,
            timeoutSeconds: self::TIMEOUT_SECONDS,
            retries: $retries,
            longestRetryAfterSeconds: 2,
            http: new WordPressTransport(),
        );
    }

    /** @return list<string> */
    public function secrets(Environment $environment): array
    {
        return self::secretsIn($this->text("{$environment->value}_secrets"));
    }

    /** @return list<string> */
    public static function secretsIn(string $text): array
    {
        return preg_split('/[\s,]+/', $text, -1, PREG_SPLIT_NO_EMPTY) ?: [];
    }

    private function text(string $name, string $default = ''): string
    {
        $value = $this->values[$name] ?? $default;
        return is_string($value) ? trim($value) : $default;
    }
}
