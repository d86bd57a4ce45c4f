<?php

declare(strict_types=1);

namespace Gatehouse\Client\Tests;

use Gatehouse\Client\DirectPayment;
use Gatehouse\Client\Environment;
use Gatehouse\Client\Error\ConfigurationError;
use Gatehouse\Client\Error\ConnectionError;
use Gatehouse\Client\Error\ForbiddenError;
use Gatehouse\Client\Error\GatehouseError;
use Gatehouse\Client\Error\IdempotencyConflictError;
use Gatehouse\Client\Error\InvalidRequestError;
use Gatehouse\Client\Error\NotFoundError;
use Gatehouse\Client\Error\ServerError;
use Gatehouse\Client\Error\TimedOutError;
use Gatehouse\Client\Error\TooManyRequestsError;
use Gatehouse\Client\Error\UnauthorizedError;
use Gatehouse\Client\Error\UnexpectedAnswerError;
use Gatehouse\Client\Error\WebhookVerificationError;
use Gatehouse\Client\ErrorDetail;
use Gatehouse\Client\Gatehouse;
use Gatehouse\Client\OrderStatus;
use Gatehouse\Client\OrderExplanation;
use Gatehouse\Client\PaymentOrder;
use Gatehouse\Client\Refund;
use Gatehouse\Client\RefundStatus;
use Gatehouse\Client\RegisteredOrder;
use Gatehouse\Client\WebhookEvent;
use Gatehouse\Client\Webhooks;
use PHPUnit\Framework\TestCase;
use Symfony\Component\HttpClient\HttpClient;
use Symfony\Component\HttpClient\Psr18Client;

/** Runs against the gateway that `npm test -- test/clients` starts. */
final class ClientTest extends TestCase
{
    private const FLOW = ['/api/v1/register', '/api/v1/direct', '/api/v1/refund'];

    /** @return iterable<string, array{string, mixed}> the fault, and what sends the requests */
    public function faults(): iterable
    {
        foreach (['none', 'first-answer-lost', 'first-two-broken', 'first-limited', 'never-waits'] as $fault) {
            yield "$fault, by Guzzle" => [$fault, null];
        }
        yield 'first-answer-lost, by Symfony' => ['first-answer-lost', fn () => HttpClient::create()];
        yield 'first-answer-lost, by PSR-18' => ['first-answer-lost', fn () => self::psr18()];
    }

    /** @dataProvider faults */
    public function testPaymentsAndRefundsAreMadeOnceEachWhateverFaultTheGatewayHas(string $fault, ?callable $http): void
    {
        [$baseUrl, $run] = Site::faulty($fault);
        [$order, $payment, $refundNumber] = [Site::newOrder(), Site::newPayment(), Site::newNumber()];
        $own = $http === null ? null : $http();
        $gateway = Site::client(baseUrl: $baseUrl, timeoutSeconds: 120, retries: 5, http: $own);

        $registered = $gateway->register(...$order);
        $started = $gateway->direct(...$payment);
        $paid = $gateway->wait($payment['order_number'], timeoutSeconds: 120);
        $refund = $gateway->refund(
            order_number: $payment['order_number'],
            refund_number: $refundNumber,
            amount: '40',
            reason: 'One book came back',
        );
        $deadline = time() + 120;
        do {
            $decided = $gateway->verifyRefund($refundNumber);
        } while ($decided->status === RefundStatus::Pending && time() < $deadline);

        self::assertMatchesRegularExpression('#^https?://.+/c/.+#', $registered->checkout_url);
        self::assertEquals($registered, Site::client()->register(...$order));
        // A repeat may find that the customer has paid.
        $possible = $fault === 'none' ? [OrderStatus::Pending] : [OrderStatus::Pending, OrderStatus::Completed];
        self::assertContains($started->payment_status, $possible);
        $facts = [$paid->status, $paid->deducted, $paid->payment_type];
        self::assertSame([OrderStatus::Completed, '100.50', 'DIRECT'], $facts);
        self::assertSame([$payment['order_number'], '40.00'], [$refund->order_number, $refund->amount]);
        self::assertSame(RefundStatus::Completed, $decided->status);
        self::assertRequests($fault, $run);
    }

    /** Every request was made as often as the fault asks for, each time with the same ids. */
    private static function assertRequests(string $fault, string $run): void
    {
        $attempts = ['none' => 1, 'first-two-broken' => 3, 'never-waits' => 1][$fault] ?? 2;
        $seen = Site::requestsOf($run);
        foreach (self::FLOW as $path) {
            $made = array_values(array_filter($seen, fn ($each) => explode('?', $each['path'])[0] === $path));
            // A busy machine may add a 429 or 500 of its own. A success is never repeated.
            $answers = array_column($made, 'answered');
            self::assertGreaterThanOrEqual($attempts, count($answers), $path);
            self::assertSame(201, array_pop($answers));
            foreach ($answers as $status) {
                self::assertTrue($status === 0 || $status === 429 || $status >= 500, "$path answered $status");
            }
            foreach (['idempotency-key', 'x-request-id'] as $header) {
                $ids = array_map(fn ($each) => $each['headers'][$header], $made);
                self::assertCount(1, array_unique($ids), "$header of $path");
            }
        }
        $waits = array_values(array_filter(array_map(fn ($each) => $each['headers']['prefer'] ?? null, $seen)));
        self::assertSame('wait=30', $waits[0]);
    }

    public function testAWaitThatIsOverGivesTheOrderAsItStands(): void
    {
        $order = Site::newOrder();
        Site::client()->register(...$order);
        [$baseUrl, $run] = Site::faulty('none');
        $waited = Site::client(baseUrl: $baseUrl)->wait($order['order_number'], timeoutSeconds: 1);
        self::assertSame(OrderStatus::Pending, $waited->status);
        // The gateway waits, so the client does not ask at intervals.
        self::assertLessThanOrEqual(2, count(Site::requestsOf($run)));
        self::assertSame($order['reason'], Site::client()->verify($order['order_number'])->reason);
        $explained = Site::client()->explain($order['order_number']);
        self::assertSame(['customer_payment', 'payer'], [$explained->waiting_for, $explained->held_by]);
    }

    public function testAWaitByAClientOfUnknownTimeLimitStaysBelowTheStatedLimit(): void
    {
        $payment = Site::newPayment();
        Site::client()->direct(...$payment);
        [$baseUrl, $run] = Site::faulty('none');
        $paid = Site::client(baseUrl: $baseUrl, http: self::psr18())->wait($payment['order_number']);
        self::assertSame(OrderStatus::Completed, $paid->status);
        self::assertSame('wait=10', Site::requestsOf($run)[0]['headers']['prefer']);
    }

    public function testAnErrorHasItsOwnClassWhatTheGatewayAnsweredAndTheRequestId(): void
    {
        $wrong = ['order_number' => 'a b', 'amount' => '0'] + Site::newOrder();
        $invalid = self::failureOf(fn () => Site::client()->register(...$wrong, requestId: 'mine-1'));
        self::assertInstanceOf(InvalidRequestError::class, $invalid);
        self::assertSame([400, 'Bad request', 'mine-1'], [$invalid->status, $invalid->apiMessage, $invalid->requestId]);
        self::assertSame(['order_number', 'amount'], array_column($invalid->details, 'field'));
        $text = '/^400 Bad request: order_number .*; amount .* \(request id mine-1\)$/';
        self::assertMatchesRegularExpression($text, $invalid->getMessage());
        $missing = self::failureOf(fn () => Site::client()->verify(Site::newNumber()));
        self::assertInstanceOf(NotFoundError::class, $missing);
        self::assertTrue($missing->isUnknownNumber());
        $elsewhere = self::failureOf(fn () => Site::client(baseUrl: Site::fact('sandbox_url') . '/shop')->verify('none'));
        self::assertInstanceOf(NotFoundError::class, $elsewhere);
        self::assertFalse($elsewhere->isUnknownNumber());
        $client = Site::client(apiKey: Site::fact('key_without_refunds'));
        $forbidden = self::failureOf(fn () => $client->verifyRefund(Site::newNumber()));
        self::assertInstanceOf(ForbiddenError::class, $forbidden);
        [$baseUrl, $run] = Site::faulty('conflicting-key');
        $conflict = self::failureOf(fn () => Site::client(baseUrl: $baseUrl)->register(...Site::newOrder()));
        self::assertInstanceOf(IdempotencyConflictError::class, $conflict);
        self::assertSame('of-the-gateway', $conflict->requestId);
        self::assertCount(1, Site::requestsOf($run));
    }

    public function testAKeyOfTheOtherEnvironmentIsExplainedAndNotSentWhereTheEnvironmentIsKnown(): void
    {
        $liveKey = Site::fact('live_key');
        $live = Site::client(apiKey: $liveKey);
        $refused = self::failureOf(fn () => $live->verify(Site::newNumber()));
        self::assertInstanceOf(UnauthorizedError::class, $refused);
        $advice = 'a live key (svc_live_…) works only at the production address';
        self::assertStringContainsString($advice, $refused->getMessage());
        // PHP 8.2 also keeps the key out of stack traces.
        self::assertStringNotContainsString($liveKey, PHP_VERSION_ID < 80200 ? $refused->getMessage() : (string) $refused);
        self::assertStringNotContainsString($liveKey, print_r($live, true));
        $both = ['sandbox' => Site::fact('sandbox_url'), 'production' => Site::fact('production_url')];
        self::assertSame(Environment::Sandbox, Site::client(baseUrl: $both)->environment);
        $missing = self::failureOf(fn () => Site::client(baseUrl: $both)->verify('none'));
        self::assertInstanceOf(NotFoundError::class, $missing);
        $unusable = [
            ['apiKey' => $liveKey, 'environment' => Environment::Sandbox],
            ['apiKey' => 'secret'],
            ['apiKey' => "svc_test_a\r\nx: y"],
            ['baseUrl' => 'pay.example'],
            ['retries' => -1],
            ['timeoutSeconds' => 0],
        ];
        foreach ($unusable as $settings) {
            $failure = self::failureOf(fn () => Site::client(...$settings));
            self::assertInstanceOf(ConfigurationError::class, $failure, json_encode($settings, JSON_THROW_ON_ERROR));
        }
        foreach ([['a', "a\r\nx: y"], ["\xff", 'a']] as [$number, $requestId]) {
            $failure = self::failureOf(fn () => Site::client()->verify($number, requestId: $requestId));
            self::assertInstanceOf(ConfigurationError::class, $failure);
        }
    }

    /** @return iterable<string, array{string, array<string, mixed>, class-string, array<string, mixed>, int, 5?: bool}> */
    public function endings(): iterable
    {
        $rows = [
            ['limited-for-minutes', [], TooManyRequestsError::class, ['retryAfter' => 300], 1, false],
            ['limited-without-time', [], TooManyRequestsError::class, ['retryAfter' => null], 1, false],
            ['answer-lost-then-limited', [], TooManyRequestsError::class, ['status' => 429], 2],
            ['always-unavailable', ['retries' => 1], ServerError::class, ['status' => 503, 'details' => []], 2],
            ['another-site', [], UnexpectedAnswerError::class, ['status' => 200], 1],
            ['another-json', [], UnexpectedAnswerError::class, ['status' => 200], 1],
            ['redirecting', [], UnexpectedAnswerError::class, ['status' => 302], 1],
            ['silent', ['retries' => 1, 'timeoutSeconds' => 0.2], TimedOutError::class, [], 2],
            ['silent', ['retries' => 1, 'timeoutSeconds' => 0.2, 'http' => 'symfony'], TimedOutError::class, [], 2],
            ['dripping', ['retries' => 0, 'timeoutSeconds' => 0.5], TimedOutError::class, [], 1],
            ['dripping', ['retries' => 0, 'timeoutSeconds' => 0.5, 'http' => 'symfony'], TimedOutError::class, [], 1],
            ['silent', ['retries' => 0, 'http' => 'impatient'], ConnectionError::class, [], 1],
            ['redirecting', ['http' => 'impatient'], UnexpectedAnswerError::class, ['status' => 302], 1],
        ];
        foreach ($rows as $row) {
            yield trim($row[0] . ' ' . ($row[1]['http'] ?? '')) => $row;
        }
    }

    /**
     * @dataProvider endings
     * @param array<string, mixed> $settings
     * @param class-string $kind
     * @param array<string, mixed> $facts
     */
    public function testAClientGivesUpAsItPromises(
        string $fault,
        array $settings,
        string $kind,
        array $facts,
        int $attempts,
        bool $mayHaveHappened = true,
    ): void {
        [$baseUrl, $run] = Site::faulty($fault);
        $settings['http'] = match ($settings['http'] ?? null) {
            'symfony' => HttpClient::create(),
            'impatient' => self::psr18(0.2),
            default => null,
        };
        $client = Site::client(...['baseUrl' => $baseUrl] + $settings);
        $failure = self::failureOf(fn () => $client->register(...Site::newOrder()));
        self::assertSame($kind, $failure::class, $failure->getMessage());
        foreach ($facts as $name => $value) {
            self::assertSame($value, $failure->$name);
        }
        self::assertSame($mayHaveHappened, $failure->mayHaveHappened());
        self::assertNotSame('', $failure->requestId);
        $seen = Site::requestsOf($run);
        self::assertCount($attempts, $seen);
        self::assertStringStartsWith('gatehouse-client-php/', $seen[0]['headers']['user-agent']);
    }

    public function testAWaitRepeatsNoRequestAfterItsEnd(): void
    {
        $rows = [['unavailable-for-a-while', 15, 1, ServerError::class], ['silent', 0.2, 0.1, TimedOutError::class]];
        foreach ($rows as [$fault, $timeoutSeconds, $waitSeconds, $kind]) {
            [$baseUrl, $run] = Site::faulty($fault);
            $client = Site::client(baseUrl: $baseUrl, timeoutSeconds: $timeoutSeconds);
            self::assertInstanceOf($kind, self::failureOf(fn () => $client->wait('a', $waitSeconds)));
            self::assertCount(1, Site::requestsOf($run));
        }
    }

    public function testAnAddressWhereNobodyListens(): void
    {
        foreach ([null, HttpClient::create(), self::psr18()] as $http) {
            $client = Site::client(baseUrl: 'http://127.0.0.1:1', retries: 0, http: $http);
            self::assertSame(ConnectionError::class, self::failureOf(fn () => $client->verify('a'))::class);
        }
    }

    public function testSignaturesOfWebhooksAreJudgedAsTheTestVectorsSay(): void
    {
        ['vectors' => $vectors] = self::document('signature-vectors.json');
        self::assertGreaterThan(40, count($vectors));
        foreach ($vectors as $vector) {
            $body = (string) base64_decode($vector['body_base64'], true);
            ['headers' => $headers, 'secrets' => $secrets] = $vector;
            $judged = [
                self::judge(fn () => Webhooks::verifyWebhook($headers, $body, $secrets, now: $vector['now'])),
                self::judge(fn () => Webhooks::verifySvcSignature($headers, $body, $secrets)),
            ];
            self::assertSame([$vector['webhook_signature'], $vector['svc_signature']], $judged, $vector['name']);
        }
        foreach ([[], ['secret'], ['whsec_'], ['whsec_a']] as $unusable) {
            $failure = self::failureOf(fn () => Webhooks::verifyWebhook([], '', $unusable));
            self::assertInstanceOf(ConfigurationError::class, $failure);
        }
    }

    /** @param callable(): WebhookEvent $verify */
    private static function judge(callable $verify): string
    {
        try {
            $event = $verify();
            return $event->type === 'order.completed' && $event->data->order_number === 'INV-2025-0042'
                ? 'genuine' : $event->type;
        } catch (WebhookVerificationError $error) {
            return $error->reason->value;
        }
    }

    public function testAWebhookOfATypeThatIsNotKnownYetIsGenuine(): void
    {
        $secret = Site::fact('signing_secret');
        $event = ['id' => 'evt_1', 'type' => 'payout.made', 'created_at' => '', 'environment' => 'sandbox', 'sequence' => 1];
        $body = json_encode($event + ['previous_status' => 'PENDING', 'data' => ['payout_id' => 'p']], JSON_THROW_ON_ERROR);
        $headers = ['x-svc-hmac-signature' => hash_hmac('sha256', $body, $secret)];
        $received = Webhooks::verifySvcSignature($headers, $body, [$secret]);
        self::assertSame(['payout.made', ['payout_id' => 'p']], [$received->type, $received->data]);
    }

    public function testTypesHaveTheFieldsOfTheOpenapiDocument(): void
    {
        $schemas = self::document('openapi.json')['components']['schemas'];
        $documented = [
            RegisteredOrder::class => $schemas['RegisterReply']['properties']['data'],
            DirectPayment::class => $schemas['DirectPaymentReply'],
            PaymentOrder::class => $schemas['PaymentOrder'],
            OrderExplanation::class => $schemas['OrderExplanation'],
            Refund::class => $schemas['Refund'],
            WebhookEvent::class => $schemas['WebhookEvent'],
            ErrorDetail::class => $schemas['ErrorDetail'],
        ];
        foreach ($documented as $class => $schema) {
            $properties = array_map(fn ($each) => $each->name, (new \ReflectionClass($class))->getProperties());
            self::assertSame(array_keys($schema['properties']), $properties, $class);
        }
        foreach (['RegisterRequest' => 'register', 'RefundRequest' => 'refund'] as $name => $method) {
            $parameters = (new \ReflectionMethod(Gatehouse::class, $method))->getParameters();
            $names = array_map(fn ($each) => $each->name, $parameters);
            self::assertSame([], array_diff(array_keys($schemas[$name]['properties']), $names));
        }
        $statuses = [
            [$schemas['PaymentOrder'], OrderStatus::cases()],
            [$schemas['Refund'], RefundStatus::cases()],
        ];
        foreach ($statuses as [$schema, $cases]) {
            self::assertEqualsCanonicalizing($schema['properties']['status']['enum'], array_column($cases, 'value'));
        }
    }

    public function testAWebhookOfTheRunningGatewayIsGenuineAndAChangedOneIsNot(): void
    {
        $url = Site::fact('mailbox_url') . '/' . Site::newNumber();
        $payment = Site::newPayment();
        $order = ['order_number' => $payment['order_number'], 'webhook_url' => $url];
        Site::client()->register(...[...Site::newOrder(), ...$order]);
        Site::client()->direct(...$payment);
        $deadline = time() + 120;
        do {
            self::assertLessThan($deadline, time(), 'no webhook has arrived');
            $arrived = json_decode((string) file_get_contents($url), true, 512, JSON_THROW_ON_ERROR);
        } while ($arrived === []);
        $headers = $arrived[0]['headers'];
        $body = base64_decode($arrived[0]['body_base64']);
        $secrets = [Site::fact('signing_secret')];

        $event = Webhooks::verifyWebhook($headers, $body, $secrets);

        self::assertSame('order.completed', $event->type);
        self::assertEquals(Site::client()->verify($payment['order_number']), $event->data);
        self::assertEquals($event, Webhooks::verifySvcSignature($headers, $body, $secrets));
        foreach (['verifyWebhook', 'verifySvcSignature'] as $verify) {
            $refused = self::failureOf(fn () => Webhooks::$verify($headers, "$body ", $secrets));
            self::assertInstanceOf(WebhookVerificationError::class, $refused);
        }
    }

    public function testTheFirstLinesOfTheReadmeRun(): void
    {
        $readme = (string) file_get_contents(__DIR__ . '/../README.md');
        self::assertSame(1, preg_match('/```php\n(.*?)```/s', $readme, $match));
        self::assertLessThanOrEqual(13, substr_count($match[1], "\n"));
        $folder = sys_get_temp_dir() . '/' . Site::newNumber();
        mkdir("$folder/vendor", 0700, true);
        try {
            $load = var_export(__DIR__ . '/autoload.php', true);
            file_put_contents("$folder/vendor/autoload.php", "<?php require $load;");
            file_put_contents("$folder/shop.php", str_replace('0911223344', Site::newPhone(), $match[1]));
            $env = ['API_KEY' => Site::fact('test_key'), 'GATEHOUSE' => Site::fact('sandbox_url')] + getenv();
            $run = [PHP_BINARY, '-d', 'display_errors=1', '-d', 'error_reporting=-1', 'shop.php'];
            $process = proc_open($run, [1 => ['pipe', 'w']], $pipes, $folder, $env);
            self::assertIsResource($process);
            self::assertSame("COMPLETED 150.00\n", stream_get_contents($pipes[1]));
            self::assertSame(0, proc_close($process));
        } finally {
            array_map('unlink', (array) glob("$folder/{vendor/*,shop.php}", GLOB_BRACE));
            rmdir("$folder/vendor");
            rmdir($folder);
        }
    }

    private static function failureOf(callable $call): GatehouseError
    {
        try {
            $call();
        } catch (GatehouseError $error) {
            return $error;
        }
        self::fail('it gave no error');
    }

    /** A client that is neither Guzzle nor Symfony's own, and knows nothing of the time limits of this package. */
    private static function psr18(float $timeoutSeconds = 120): Psr18Client
    {
        return new Psr18Client(HttpClient::create(['max_redirects' => 0, 'max_duration' => $timeoutSeconds]));
    }

    /** @return array<string, mixed> */
    private static function document(string $name): array
    {
        $text = (string) file_get_contents(__DIR__ . "/../../$name");
        return json_decode($text, true, 512, JSON_THROW_ON_ERROR);
    }
}
