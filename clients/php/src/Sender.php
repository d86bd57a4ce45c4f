<?php

declare(strict_types=1);

namespace Gatehouse\Client;

use Gatehouse\Client\Error\ApiError;
use Gatehouse\Client\Error\ConfigurationError;
use Gatehouse\Client\Error\ConnectionError;
use Gatehouse\Client\Error\GatehouseError;
use Gatehouse\Client\Error\ServerError;
use Gatehouse\Client\Error\TimedOutError;
use Gatehouse\Client\Error\TooManyRequestsError;
use Gatehouse\Client\Error\UnexpectedAnswerError;
use Gatehouse\Client\Http\Answer;
use Gatehouse\Client\Http\TransportFailure;

/**
 * Sends requests, and repeats them while that is useful. Every request of this package is safe to repeat.
 *
 * @internal
 */
final class Sender
{
    private const FIRST_PAUSE_SECONDS = 0.25;
    private const LONGEST_PAUSE_SECONDS = 8.0;

    public function __construct(private readonly Connection $connection)
    {
    }

    /**
     * @template Result
     * @param array<string, string|null> $body fields that are null are not sent
     * @param callable(Fields $body, Answer $answer): Result $read
     * @param array<string, string> $headers
     * @param int $waitSeconds added to the time for an answer
     * @param float $end the end of a wait, in seconds of hrtime(). No repeat begins after it
     * @return Result
     * @throws GatehouseError
     */
    public function send(
        string $path,
        array $body,
        callable $read,
        ?string $requestId,
        array $headers = [],
        int $waitSeconds = 0,
        float $end = INF,
    ): mixed {
        $requestId ??= self::newId();
        $headers += [
            'apiKey' => $this->connection->apiKey,
            'content-type' => 'application/json',
            'x-request-id' => $requestId,
            'user-agent' => 'gatehouse-client-php/' . Version::VERSION,
        ];
        if (preg_grep('/^[ -~]+\z/', $headers, PREG_GREP_INVERT) !== []) {
            throw new ConfigurationError('A requestId or idempotencyKey is printable ASCII and not empty.');
        }
        $content = self::json(array_filter($body, fn (?string $value) => $value !== null));
        $mayHaveHappened = false;
        for ($repeats = 0;; $repeats += 1) {
            try {
                // The gateway waits for whole seconds, so up to one more than is left.
                $seconds = $this->connection->timeoutSeconds + min($waitSeconds, max(0, $end - self::now()) + 1);
                $answer = $this->attempt($path, $headers, $content, $seconds, $requestId);
                return $this->read($answer, $read, $requestId, $mayHaveHappened);
            } catch (GatehouseError $error) {
                $mayHaveHappened = $mayHaveHappened || $error->mayHaveHappened();
                $pauseSeconds = $this->pauseBeforeRepeat($error, $repeats) ?? throw $error;
                if (self::now() + $pauseSeconds >= $end) {
                    throw $error;
                }
            }
            self::pause($pauseSeconds);
        }
    }

    public static function pause(float $seconds): void
    {
        usleep((int) ($seconds * 1_000_000));
    }

    /** In seconds, of a clock that is never set. */
    public static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    /** From 0 to 1. */
    public static function random(): float
    {
        return random_int(0, 1_000_000) / 1_000_000;
    }

    /** A random UUID. */
    public static function newId(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
        $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }

    /** @param array<string, string> $body */
    private static function json(array $body): string
    {
        try {
            return json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        } catch (\JsonException $error) {
            throw new ConfigurationError('Every value is text in UTF-8: ' . $error->getMessage(), 0, $error);
        }
    }

    /** @param array<string, string> $headers */
    private function attempt(
        string $path,
        #[\SensitiveParameter] array $headers,
        string $content,
        float $seconds,
        string $requestId,
    ): Answer {
        $url = $this->connection->baseUrl . $path;
        try {
            return $this->connection->transport->post($url, $headers, $content, $seconds);
        } catch (TransportFailure $failure) {
            throw $failure->timedOut
                ? new TimedOutError("No answer from $url within $seconds seconds", $requestId, $failure)
                : new ConnectionError("No answer from $url: {$failure->getMessage()}", $requestId, $failure);
        }
    }

    /**
     * @template Result
     * @param callable(Fields $body, Answer $answer): Result $read
     * @return Result
     */
    private function read(Answer $answer, callable $read, string $sentId, bool $mayHaveHappened): mixed
    {
        $status = $answer->status;
        $requestId = $answer->header('x-request-id') ?? $sentId;
        $address = $this->connection->baseUrl;
        $body = json_decode($answer->body, true);
        if ($status >= 200 && $status < 300) {
            try {
                return $read(new Fields(is_array($body) ? $body : []), $answer);
            } catch (\UnexpectedValueException | \ValueError $error) {
                $what = is_array($body) ? "without what was asked for ({$error->getMessage()})" : 'without JSON';
                throw new UnexpectedAnswerError("$address answered $status $what: is it a gateway?", $status, $requestId);
            }
        }
        if ($status >= 300 && $status < 400) {
            $text = "$address redirects requests to another address: use that one";
            throw new UnexpectedAnswerError($text, $status, $requestId);
        }
        $message = is_array($body) && is_string($body['message'] ?? null) ? $body['message'] : $answer->reason;
        throw new (ApiError::classOf($status))(
            $status,
            $message === '' ? 'no message' : $message,
            self::details(is_array($body) ? $body['details'] ?? null : null),
            $requestId,
            self::secondsUntil($answer->header('retry-after')),
            $status === 401 ? $this->connection->adviceOn401() : '',
            $mayHaveHappened,
        );
    }

    /** @return list<ErrorDetail> */
    private static function details(mixed $value): array
    {
        $details = [];
        foreach (is_array($value) ? $value : [] as $each) {
            if (is_array($each) && is_string($each['field'] ?? null) && is_string($each['issue'] ?? null)) {
                $details[] = new ErrorDetail($each['field'], $each['issue']);
            }
        }
        return $details;
    }

    /** Retry-After is in seconds, or a date. */
    private static function secondsUntil(?string $retryAfter): ?int
    {
        if ($retryAfter === null) {
            return null;
        }
        if (preg_match('/^[0-9]{1,15}\z/', $retryAfter) === 1) {
            return (int) $retryAfter;
        }
        $time = strtotime($retryAfter);
        return $time === false ? null : max(0, $time - time());
    }

    /**
     * The pause in seconds before a repeat; null when the request is not repeated. Repeated are requests without an answer,
     * 5xx, and 429 with a Retry-After. The pause doubles each time and varies at random, so that clients that failed together
     * do not return together.
     */
    private function pauseBeforeRepeat(GatehouseError $error, int $repeats): ?float
    {
        if ($repeats >= $this->connection->retries) {
            return null;
        }
        $longest = min(self::LONGEST_PAUSE_SECONDS, self::FIRST_PAUSE_SECONDS * 2 ** $repeats);
        $pause = $longest / 2 + $longest / 2 * self::random();
        if ($error instanceof ConnectionError) {
            return $pause;
        }
        if (!$error instanceof ServerError && !$error instanceof TooManyRequestsError) {
            return null;
        }
        if ($error->retryAfter === null) {
            return $error instanceof ServerError ? $pause : null;
        }
        return $error->retryAfter > $this->connection->longestRetryAfterSeconds ? null : $error->retryAfter + $pause;
    }
}
