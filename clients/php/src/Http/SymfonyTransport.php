<?php

declare(strict_types=1);

namespace Gatehouse\Client\Http;

use Symfony\Contracts\HttpClient\Exception\ExceptionInterface;
use Symfony\Contracts\HttpClient\Exception\TimeoutExceptionInterface;
use Symfony\Contracts\HttpClient\HttpClientInterface;

/** Sends requests by Symfony's HttpClient. */
final class SymfonyTransport implements Transport
{
    public function __construct(private readonly HttpClientInterface $client)
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
                'headers' => $headers,
                'body' => $body,
                'timeout' => $timeoutSeconds,
                'max_duration' => $timeoutSeconds,
                'max_redirects' => 0,
            ]);
            // The reason phrase is no part of Symfony's interface.
            return new Answer(
                $response->getStatusCode(),
                '',
                $response->getHeaders(false),
                $response->getContent(false),
            );
        } catch (ExceptionInterface $error) {
            throw new TransportFailure($error->getMessage(), self::isTimeout($error), $error);
        }
    }

    public function limitsTime(): bool
    {
        return true;
    }

    private static function isTimeout(\Throwable $error): bool
    {
        return $error instanceof TimeoutExceptionInterface
            || preg_match('/timed out|timeout|max.duration/i', $error->getMessage()) === 1;
    }
}
