<?php

declare(strict_types=1);

namespace Gatehouse\Client;

use Gatehouse\Client\Error\ConfigurationError;
use Gatehouse\Client\Http\Transport;

/**
 * The settings of a client, checked.
 *
 * @internal
 */
final class Connection
{
    /** @param string $baseUrl without a slash at its end */
    private function __construct(
        #[\SensitiveParameter] public readonly string $apiKey,
        public readonly Environment $environment,
        public readonly string $baseUrl,
        public readonly float $timeoutSeconds,
        public readonly int $retries,
        public readonly float $longestRetryAfterSeconds,
        public readonly Transport $transport,
    ) {
    }

    /**
     * @param string|array<string, string> $baseUrl
     * @throws ConfigurationError for a mistake that can be seen before anything is sent
     */
    public static function of(
        #[\SensitiveParameter] string $apiKey,
        string|array $baseUrl,
        ?Environment $environment,
        float $timeoutSeconds,
        int $retries,
        float $longestRetryAfterSeconds,
        Transport $transport,
    ): self {
        $own = self::environmentOf($apiKey);
        if ($environment !== null && $environment !== $own) {
            throw new ConfigurationError(
                "A {$own->keyKind()} works only in the $own->value environment, and this address is the " .
                    "$environment->value environment. Use a {$environment->keyKind()}.",
            );
        }
        return new self(
            $apiKey,
            $own,
            self::requireUrl(is_array($baseUrl) ? $baseUrl[$own->value] ?? '' : $baseUrl),
            // HTTP clients count milliseconds, and 0 of them are no limit.
            self::atLeast(0.001, 'timeoutSeconds', $timeoutSeconds),
            (int) self::atLeast(0, 'retries', $retries),
            self::atLeast(0, 'longestRetryAfterSeconds', $longestRetryAfterSeconds),
            $transport,
        );
    }

    /** The advice after a 401. */
    public function adviceOn401(): string
    {
        return "a {$this->environment->keyKind()} works only at the {$this->environment->value} address of the gateway: " .
            "check that $this->baseUrl is that address, and that the key is not revoked";
    }

    /** @return array<string, mixed> without the key, so that no dump shows it */
    public function __debugInfo(): array
    {
        return ['environment' => $this->environment, 'baseUrl' => $this->baseUrl];
    }

    private static function environmentOf(#[\SensitiveParameter] string $apiKey): Environment
    {
        return match (true) {
            preg_match('/^svc_test_[!-~]*\z/', $apiKey) === 1 => Environment::Sandbox,
            preg_match('/^svc_live_[!-~]*\z/', $apiKey) === 1 => Environment::Production,
            default => throw new ConfigurationError(
                'An API key begins with svc_test_ (sandbox) or svc_live_ (production).',
            ),
        };
    }

    private static function requireUrl(string $text): string
    {
        $url = parse_url($text);
        $isUsable = is_array($url) && in_array($url['scheme'] ?? '', ['http', 'https'], true) && isset($url['host'])
            && !isset($url['query']) && !isset($url['fragment']) && preg_match('/[\s\x00-\x1f]/', $text) === 0;
        return $isUsable ? rtrim($text, '/') : throw new ConfigurationError(
            'baseUrl is the address of the gateway, such as https://pay.example.',
        );
    }

    private static function atLeast(float|int $least, string $name, float|int $value): float
    {
        return is_finite($value) && $value >= $least ? (float) $value : throw new ConfigurationError(
            "$name is a number of at least $least.",
        );
    }
}
