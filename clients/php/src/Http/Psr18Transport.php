<?php

declare(strict_types=1);

namespace Gatehouse\Client\Http;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/**
 * Sends requests by any PSR-18 client. PSR-18 has no time limit: set one in your client. It does not tell a timeout from
 * another failure either.
 */
final class Psr18Transport implements Transport
{
    public function __construct(
        private readonly ClientInterface $client,
        private readonly RequestFactoryInterface $requestFactory,
        private readonly StreamFactoryInterface $streamFactory,
    ) {
    }

    public function post(
        string $url,
        #[\SensitiveParameter] array $headers,
        string $body,
        float $timeoutSeconds,
    ): Answer {
        $request = $this->requestFactory->createRequest('POST', $url)
            ->withBody($this->streamFactory->createStream($body));
        foreach ($headers as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        try {
            $response = $this->client->sendRequest($request);
            return new Answer(
                $response->getStatusCode(),
                $response->getReasonPhrase(),
                $response->getHeaders(),
                (string) $response->getBody(),
            );
        } catch (ClientExceptionInterface | \RuntimeException $error) {
            throw new TransportFailure($error->getMessage(), false, $error);
        }
    }

    public function limitsTime(): bool
    {
        return false;
    }
}
