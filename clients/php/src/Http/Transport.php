<?php

declare(strict_types=1);

namespace Gatehouse\Client\Http;

/** Sends requests. Write one for an HTTP client that is neither Guzzle, Symfony nor PSR-18. */
interface Transport
{
    /**
     * Sends a POST and gives the answer, whatever its status. It follows no redirect, because a redirected POST would become
     * a GET, and repeats nothing.
     *
     * @param array<string, string> $headers
     * @param float $timeoutSeconds the time for the whole answer
     * @throws TransportFailure when no answer arrives
     */
    public function post(
        string $url,
        #[\SensitiveParameter] array $headers,
        string $body,
        float $timeoutSeconds,
    ): Answer;

    /** Whether `post` ends after the time that it is given. If not, the HTTP client's own settings decide. */
    public function limitsTime(): bool;
}
