<?php

declare(strict_types=1);

namespace Gatehouse\Client;

use Gatehouse\Client\Error\ConfigurationError;
use Gatehouse\Client\Error\WebhookVerificationError;

/** Verification of webhooks. */
final class Webhooks
{
    /**
     * Checks `webhook-signature`, and that the webhook is at most `toleranceSeconds` old. Gives the event.
     *
     * @param iterable<string, string|array<string>> $headers names in any case, such as `getallheaders()`
     * @param string $body the bytes as they arrived, `file_get_contents('php://input')`: JSON that was parsed and written
     *     again has another signature
     * @param list<string> $secrets the signing secret, or two during a rotation
     * @param int|null $now the receiver's clock, in seconds since 1970
     * @throws WebhookVerificationError when the webhook is not genuine
     * @throws ConfigurationError when a secret is unusable
     */
    public static function verifyWebhook(
        iterable $headers,
        string $body,
        #[\SensitiveParameter] array $secrets,
        int $toleranceSeconds = 300,
        ?int $now = null,
    ): WebhookEvent {
        $keys = self::keys($secrets);
        $id = self::header($headers, 'webhook-id');
        $timestamp = self::header($headers, 'webhook-timestamp');
        $signature = self::header($headers, 'webhook-signature');
        if (preg_match('/^[0-9]{1,15}\z/', $timestamp) !== 1) {
            throw new WebhookVerificationError(WebhookRefusal::MalformedHeader);
        }
        $age = ($now ?? time()) - (int) $timestamp;
        if ($age > $toleranceSeconds) {
            throw new WebhookVerificationError(WebhookRefusal::TooOld);
        }
        if ($age < -$toleranceSeconds) {
            throw new WebhookVerificationError(WebhookRefusal::TooNew);
        }
        $sent = array_filter(explode(' ', $signature), fn (string $each) => str_starts_with($each, 'v1,'));
        if ($sent === []) {
            throw new WebhookVerificationError(WebhookRefusal::MalformedHeader);
        }
        foreach ($keys as $key) {
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
            foreach ($sent as $each) {
                if (hash_equals($expected, $each)) {
                    return self::parse($body);
                }
            }
        }
        throw new WebhookVerificationError(WebhookRefusal::NoMatch);
    }

    /**
     * Checks `X-SVC-HMAC-Signature`. It covers the body only, so it does not tell a recorded webhook from a new one: use
     * `verifyWebhook` where you can. Gives the event.
     *
     * @param iterable<string, string|array<string>> $headers names in any case
     * @param string $body the bytes as they arrived
     * @param list<string> $secrets the signing secret, or two during a rotation
     * @throws WebhookVerificationError when the webhook is not genuine
     * @throws ConfigurationError when a secret is unusable
     */
    public static function verifySvcSignature(
        iterable $headers,
        string $body,
        #[\SensitiveParameter] array $secrets,
    ): WebhookEvent {
        self::keys($secrets);
        $signature = self::header($headers, 'x-svc-hmac-signature');
        if (preg_match('/^[0-9a-f]{64}\z/', $signature) !== 1) {
            throw new WebhookVerificationError(WebhookRefusal::MalformedHeader);
        }
        foreach ($secrets as $secret) {
            if (hash_equals(hash_hmac('sha256', $body, $secret), $signature)) {
                return self::parse($body);
            }
        }
        throw new WebhookVerificationError(WebhookRefusal::NoMatch);
    }

    /**
     * @param list<string> $secrets
     * @return list<string> the bytes of each
     */
    private static function keys(#[\SensitiveParameter] array $secrets): array
    {
        if ($secrets === []) {
            throw new ConfigurationError('Give at least one signing secret.');
        }
        return array_map(self::keyOf(...), array_values($secrets));
    }

    private static function keyOf(#[\SensitiveParameter] string $secret): string
    {
        $isWhole = preg_match('#^whsec_[A-Za-z0-9+/]+={0,2}\z#', $secret) === 1
            && (strlen($secret) - strlen('whsec_')) % 4 === 0;
        $key = $isWhole ? base64_decode(substr($secret, strlen('whsec_')), true) : false;
        return $key === false || $key === '' ? throw new ConfigurationError(
            'A signing secret is "whsec_" and base64, as the dashboard shows it.',
        ) : $key;
    }

    /** @param iterable<string, string|array<string>> $headers */
    private static function header(iterable $headers, string $name): string
    {
        foreach ($headers as $each => $value) {
            if (strtolower((string) $each) === $name) {
                $text = is_array($value) ? implode(', ', $value) : $value;
                if ($text !== '') {
                    return $text;
                }
            }
        }
        throw new WebhookVerificationError(WebhookRefusal::MissingHeader);
    }

    private static function parse(string $body): WebhookEvent
    {
        $event = json_decode($body, true);
        try {
            return WebhookEvent::of(new Fields(is_array($event) ? $event : []));
        } catch (\UnexpectedValueException | \ValueError) {
            throw new WebhookVerificationError(WebhookRefusal::MalformedBody);
        }
    }
}
