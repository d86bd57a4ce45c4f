<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Http\Answer;
use Gatehouse\WooCommerce\Client\Http\Transport;
use Gatehouse\WooCommerce\Client\Http\TransportFailure;

/** Sends requests by WordPress, so that its proxy and certificate settings apply. */
final class WordPressTransport implements Transport
{
    public function post(
        string $url,
        #[\SensitiveParameter] array $headers,
        string $body,
        float $timeoutSeconds,
    ): Answer {
        $response = wp_remote_post($url, [
            'headers' => $headers,
            'body' => $body,
            'timeout' => $timeoutSeconds,
            'redirection' => 0,
            'user-agent' => $headers['user-agent'] ?? 'gatehouse-for-woocommerce',
        ]);
        if (is_wp_error($response)) {
            $message = $response->get_error_message();
            throw new TransportFailure($message, preg_match('/timed out|cURL error 28/i', $message) === 1);
        }
        return new Answer(
            (int) wp_remote_retrieve_response_code($response),
            (string) wp_remote_retrieve_response_message($response),
            wp_remote_retrieve_headers($response),
            wp_remote_retrieve_body($response),
        );
    }

    public function limitsTime(): bool
    {
        return true;
    }
}
