<?php

declare(strict_types=1);

namespace Gatehouse\Client\Http;

/** An answer to a request. */
final class Answer
{
    /** @var array<string, string> */
    private readonly array $headers;

    /** @param iterable<string, string|array<string>> $headers names in any case */
    public function __construct(
        public readonly int $status,
        public readonly string $reason,
        iterable $headers,
        public readonly string $body,
    ) {
        $all = [];
        foreach ($headers as $name => $value) {
            $all[strtolower((string) $name)] = is_array($value) ? implode(', ', $value) : $value;
        }
        $this->headers = $all;
    }

    public function header(string $name): ?string
    {
        return $this->headers[strtolower($name)] ?? null;
    }
}
