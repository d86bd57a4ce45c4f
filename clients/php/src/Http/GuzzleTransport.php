<?php

declare(strict_types=1);

namespace Gatehouse\Client\Http;

use GuzzleHttp\ClientInterface;
use GuzzleHttp\Exception\ConnectException;
use GuzzleHttp\Exception\GuzzleException;
use GuzzleHttp\Exception\RequestException;
use GuzzleHttp\RequestOptions;

/** Sends requests by Guzzle 7. */
final class GuzzleTransport implements Transport
{
    private const CURL_TIMED_OUT = 28;

    public function __construct(private readonly ClientInterface $client)
    {
    }

    public function post(
        string $url,
        #[\SensitiveParameter] array $headers,
        string $body,
        float $timeoutSeconds,
    ): Answer {
        try {
            $response = $this->client->request('POST', $url, [
                RequestOptions::HEADERS => $headers,
                RequestOptions::BODY => $body,
                RequestOptions::TIMEOUT => $timeoutSeconds,
                RequestOptions::ALLOW_REDIRECTS => false,
                RequestOptions::HTTP_ERRORS => false,
            ]);
            return new Answer(
                $response->getStatusCode(),
                $response->getReasonPhrase(),
                $response->getHeaders(),
                (string) $response->getBody(),
            );
        } catch (GuzzleException | \RuntimeException $error) {
            throw new TransportFailure($error->getMessage(), self::isTimeout($error), $error);
        }
    }

    public function limitsTime(): bool
    {
        return true;
    }

    private static function isTimeout(\Throwable $error): bool
    {
        $isKnown = $error instanceof ConnectException || $error instanceof RequestException;
        $number = $isKnown ? ($error->getHandlerContext()['errno'] ?? null) : null;
        return $number === self::CURL_TIMED_OUT || str_contains(strtolower($error->getMessage()), 'timed out');
    }
}
