<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

use Gatehouse\Client\ErrorDetail;

/** The gateway answered with an error. Its subclasses say which. */
class ApiError extends GatehouseError
{
    /**
     * @param string $apiMessage the `message` of the answer
     * @param list<ErrorDetail> $details every problem that the gateway found
     * @param string $requestId the X-Request-Id of the answer: quote it to the operator of the gateway
     * @param int|null $retryAfter the seconds after which the request may be repeated
     * @param string $advice added to the text of the error
     * @param bool $wasEarlierUnanswered whether an earlier try of the request got a 5xx or no answer
     */
    final public function __construct(
        public readonly int $status,
        public readonly string $apiMessage,
        public readonly array $details,
        public readonly string $requestId,
        public readonly ?int $retryAfter,
        string $advice = '',
        private readonly bool $wasEarlierUnanswered = false,
    ) {
        $problems = implode('; ', array_map(fn (ErrorDetail $each) => "$each->field $each->issue", $details));
        $text = implode(': ', array_filter(["$status $apiMessage", $problems, $advice], fn ($part) => $part !== ''));
        parent::__construct("$text (request id $requestId)", $status);
    }

    public function mayHaveHappened(): bool
    {
        return $this->status >= 500 || $this->wasEarlierUnanswered;
    }

    /**
     * The class of the error for a status.
     *
     * @return class-string<ApiError>
     */
    public static function classOf(int $status): string
    {
        return match (true) {
            $status >= 500 => ServerError::class,
            $status === 400 => InvalidRequestError::class,
            $status === 401 => UnauthorizedError::class,
            $status === 403 => ForbiddenError::class,
            $status === 404 => NotFoundError::class,
            $status === 422 => IdempotencyConflictError::class,
            $status === 429 => TooManyRequestsError::class,
            default => self::class,
        };
    }
}
