<?php

declare(strict_types=1);

namespace Gatehouse\Client;

use Gatehouse\Client\Error\ConfigurationError;
use Gatehouse\Client\Error\GatehouseError;
use Gatehouse\Client\Error\NotFoundError;
use Gatehouse\Client\Http\Answer;
use Gatehouse\Client\Http\Discovery;
use Gatehouse\Client\Http\Transport;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Symfony\Contracts\HttpClient\HttpClientInterface;

/**
 * A client of the merchant API of one environment.
 *
 * Requests without an answer, 5xx, and 429 with a short Retry-After are repeated. That is safe, because the numbers of orders
 * and refunds identify them: a repeat never charges or refunds twice.
 *
 * Call it with named arguments. They have the names of the merchant API.
 */
final class Gatehouse
{
    /** The longest wait of one request that the gateway accepts. */
    private const LONGEST_WAIT_SECONDS = 30;
    /** The time for an answer, in addition to the wait, for an HTTP client of unknown time limit. */
    private const ANSWER_SECONDS = 5;
    /** The pauses between requests to a gateway that does not wait. */
    private const FIRST_POLL_SECONDS = 0.5;
    private const LONGEST_POLL_SECONDS = 5.0;

    public readonly Environment $environment;
    private readonly Connection $connection;
    private readonly Sender $sender;

    /**
     * @param string $apiKey `svc_test_…` for the sandbox, or `svc_live_…` for production. Keep it on your server
     * @param string|array{sandbox?: string, production?: string} $baseUrl the address of the gateway for the key's
     *     environment, such as `https://pay.example`; or those of both
     * @param Environment|null $environment the environment of the address. A key of the other one is then never sent
     * @param float $timeoutSeconds the time for one answer. A PSR-18 client has its own limit: state that one here
     * @param int $retries the maximum number of repeats of a request
     * @param float $longestRetryAfterSeconds a longer Retry-After is not waited for
     * @param Transport|ClientInterface|HttpClientInterface|null $http sends the requests: a PSR-18 client, Symfony's client
     *     or a Transport. By default Guzzle or Symfony's client, whichever is installed
     * @param RequestFactoryInterface|null $requestFactory for a PSR-18 client. By default one that is installed
     * @param StreamFactoryInterface|null $streamFactory for a PSR-18 client. By default one that is installed
     * @throws ConfigurationError when a setting is unusable
     */
    public function __construct(
        #[\SensitiveParameter] string $apiKey,
        string|array $baseUrl,
        ?Environment $environment = null,
        float $timeoutSeconds = 15,
        int $retries = 3,
        float $longestRetryAfterSeconds = 30,
        Transport|ClientInterface|HttpClientInterface|null $http = null,
        ?RequestFactoryInterface $requestFactory = null,
        ?StreamFactoryInterface $streamFactory = null,
    ) {
        $this->connection = Connection::of(
            $apiKey,
            $baseUrl,
            $environment,
            $timeoutSeconds,
            $retries,
            $longestRetryAfterSeconds,
            Discovery::transportOf($http, $requestFactory, $streamFactory),
        );
        $this->environment = $this->connection->environment;
        $this->sender = new Sender($this->connection);
    }

    /**
     * Registers an order, and gives the URL of its checkout page.
     *
     * @throws GatehouseError
     */
    public function register(
        string $order_number,
        string $return_url,
        string $amount,
        string $currency,
        string $reason,
        string $customer_phone,
        ?string $webhook_url = null,
        ?string $business_name = null,
        ?string $idempotencyKey = null,
        ?string $requestId = null,
    ): RegisteredOrder {
        $body = compact(
            'order_number',
            'return_url',
            'webhook_url',
            'amount',
            'currency',
            'reason',
            'customer_phone',
            'business_name',
        );
        $read = fn (Fields $answer) => RegisteredOrder::of($answer->object('data'));
        return $this->create('/api/v1/register', $body, $read, $idempotencyKey, $requestId);
    }

    /**
     * Starts a direct payment: the customer gets a prompt on the phone.
     *
     * @param string $payment_option names the wallet, such as `walleta_ussd`
     * @throws GatehouseError
     */
    public function direct(
        string $payment_option,
        string $order_number,
        string $amount,
        string $currency,
        string $phone,
        ?string $idempotencyKey = null,
        ?string $requestId = null,
    ): DirectPayment {
        $path = '/api/v1/direct?' . http_build_query(['payment_option' => $payment_option]);
        $body = compact('amount', 'currency', 'order_number', 'phone');
        return $this->create($path, $body, DirectPayment::of(...), $idempotencyKey, $requestId);
    }

    /**
     * Gives the order as it stands.
     *
     * @throws NotFoundError when you have no such order
     * @throws GatehouseError
     */
    public function verify(string $order_number, ?string $requestId = null): PaymentOrder
    {
        return $this->verifyAndWait($order_number, 0, $requestId)[0];
    }

    /**
     * Gives the order as soon as it has left PENDING, or as it stands after `timeoutSeconds`. The gateway holds the request
     * until then, so the outcome arrives at once. A gateway that fails meanwhile is asked again only until then.
     *
     * @throws NotFoundError when you have no such order
     * @throws GatehouseError
     */
    public function wait(string $order_number, float $timeoutSeconds = 60, ?string $requestId = null): PaymentOrder
    {
        // Without a limit for each request, a longer wait could end in the HTTP client's own timeout.
        $longest = $this->connection->transport->limitsTime()
            ? self::LONGEST_WAIT_SECONDS
            : max(1, min(self::LONGEST_WAIT_SECONDS, (int) $this->connection->timeoutSeconds - self::ANSWER_SECONDS));
        $end = Sender::now() + $timeoutSeconds;
        for ($polls = 0;; $polls += 1) {
            $waitSeconds = (int) min($longest, max(0, ceil($end - Sender::now())));
            [$order, $hasWaited] = $this->verifyAndWait($order_number, $waitSeconds, $requestId, $end);
            $left = $end - Sender::now();
            if ($order->status !== OrderStatus::Pending || $left <= 0) {
                return $order;
            }
            $poll = $hasWaited
                ? self::FIRST_POLL_SECONDS
                : min(self::LONGEST_POLL_SECONDS, self::FIRST_POLL_SECONDS * 2 ** $polls);
            Sender::pause(min($left, $poll * (0.5 + Sender::random() / 2)));
        }
    }

    /**
     * Tells what the order waits for, who can change that, and what comes next and when. It is for people and their tools.
     *
     * @throws NotFoundError when you have no such order
     * @throws GatehouseError
     */
    public function explain(string $order_number, ?string $requestId = null): OrderExplanation
    {
        $read = fn (Fields $answer) => OrderExplanation::of($answer->object('data'));
        return $this->sender->send('/api/v1/explain', compact('order_number'), $read, $requestId);
    }

    /**
     * Returns money of a COMPLETED order to the customer. The key needs the scope for refunds.
     *
     * @param string|null $amount whatever is left of the order by default
     * @throws GatehouseError
     */
    public function refund(
        string $order_number,
        string $refund_number,
        string $reason,
        ?string $amount = null,
        ?string $idempotencyKey = null,
        ?string $requestId = null,
    ): Refund {
        $body = compact('order_number', 'refund_number', 'amount', 'reason');
        $read = fn (Fields $answer) => Refund::of($answer->object('data'));
        return $this->create('/api/v1/refund', $body, $read, $idempotencyKey, $requestId);
    }

    /**
     * Gives the refund as it stands.
     *
     * @throws NotFoundError when you have no such refund
     * @throws GatehouseError
     */
    public function verifyRefund(string $refund_number, ?string $requestId = null): Refund
    {
        $read = fn (Fields $answer) => Refund::of($answer->object('data'));
        return $this->sender->send('/api/v1/refund/verify', compact('refund_number'), $read, $requestId);
    }

    /**
     * @template Result
     * @param array<string, string|null> $body
     * @param callable(Fields $body, Answer $answer): Result $read
     * @return Result
     */
    private function create(string $path, array $body, callable $read, ?string $key, ?string $requestId): mixed
    {
        return $this->sender->send($path, $body, $read, $requestId, ['idempotency-key' => $key ?? Sender::newId()]);
    }

    /** @return array{PaymentOrder, bool} the order, and whether the gateway has waited */
    private function verifyAndWait(string $order_number, int $waitSeconds, ?string $requestId, float $end = INF): array
    {
        $read = fn (Fields $body, Answer $answer) => [
            PaymentOrder::of($body->object('data')),
            $answer->header('preference-applied') !== null,
        ];
        $headers = $waitSeconds === 0 ? [] : ['prefer' => "wait=$waitSeconds"];
        $body = compact('order_number');
        return $this->sender->send('/api/v1/verify', $body, $read, $requestId, $headers, $waitSeconds, $end);
    }
}
