<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce\Tests;

use Automattic\WooCommerce\Caches\OrderCache;
use Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType;
use Automattic\WooCommerce\Utilities\FeaturesUtil;
use Gatehouse\WooCommerce\Amount;
use Gatehouse\WooCommerce\Attempts;
use Gatehouse\WooCommerce\Client\Environment;
use Gatehouse\WooCommerce\Client\Gatehouse;
use Gatehouse\WooCommerce\Log;
use Gatehouse\WooCommerce\RefundRecord;
use Gatehouse\WooCommerce\RefundRecords;
use Gatehouse\WooCommerce\WordPressTransport;
use PHPUnit\Framework\TestCase;

/** Runs against the gateway that `npm test -- test/clients` starts, which delivers its webhooks to this shop. */
final class PluginTest extends TestCase
{
    protected function setUp(): void
    {
        Shop::set();
        Shop::mayEditOrders(true);
        $_GET = $_POST = [];
    }

    public function testAPaymentIsRegisteredOncePaidByTheCustomerAndReportedByAWebhook(): void
    {
        $order = \WC_Order::create([]);
        $started = Shop::checkOut($order);
        self::assertSame('success', $started['result']);
        self::assertMatchesRegularExpression('#^https?://.+/c/.+#', $started['redirect']);
        self::assertSame($started, Shop::checkOut($order), 'a second tab leads to the same payment');
        self::assertCount(1, Attempts::of(Shop::now($order))->all());

        Shop::pay($order);
        Shop::waitUntil('the webhook arrives', fn () => Shop::now($order)->is_paid());
        Shop::waitUntil('the payment is noted', fn () => Shop::now($order)->notes() !== []);

        $paid = Shop::now($order);
        $notes = $paid->notes();
        self::assertMatchesRegularExpression('/^ord_/', $paid->get_transaction_id());
        self::assertStringContainsString('100.50 ETB paid', implode($notes));
        self::assertSame($paid->get_checkout_order_received_url(), Shop::checkOut($paid)['redirect']);
        $again = Shop::dataOf(Shop::number($order), 'COMPLETED', ['order_id' => $paid->get_transaction_id()]);
        self::assertSame(200, Shop::receive('order.completed', $again)[0]);
        self::assertSame(200, Shop::receive('order.expired', Shop::dataOf(Shop::number($order), 'EXPIRED'))[0]);
        $after = Shop::now($order);
        self::assertSame(['processing', 1, $notes], [$after->get_status(), $after->completions(), $after->notes()]);
        Log::warning('An answer with 0911223344, ' . Shop::fact('test_key') . ' and ' . Shop::fact('signing_secret'));
        foreach ([Shop::fact('test_key'), Shop::fact('signing_secret'), '911223344'] as $secret) {
            self::assertStringNotContainsString($secret, Shop::log());
        }
        self::assertStringContainsString(Shop::number($order), Shop::log());
    }

    public function testTwoTabsThatStartAPaymentAtTheSameTimeGetTheSameOne(): void
    {
        $order = \WC_Order::create([]);
        $tabs = array_map(function () use ($order): array {
            $command = [PHP_BINARY, __DIR__ . '/tab.php', (string) $order->get_id()];
            return [proc_open($command, [1 => ['pipe', 'w']], $pipes), $pipes[1]];
        }, [1, 2, 3]);
        $urls = array_map(fn ($tab) => stream_get_contents($tab[1]), $tabs);
        array_map(fn ($tab) => proc_close($tab[0]), $tabs);
        self::assertMatchesRegularExpression('#^https?://.+/c/.+#', $urls[0]);
        self::assertCount(1, array_unique($urls));
        self::assertCount(1, Attempts::of(Shop::now($order))->all());
    }

    public function testThePluginJoinsTheCheckoutBlockAndHighPerformanceOrderStorage(): void
    {
        FeaturesUtil::$declared = [];
        do_action('before_woocommerce_init');
        self::assertSame(['custom_order_tables', 'cart_checkout_blocks'], FeaturesUtil::$declared);
        $registry = new class () {
            public ?AbstractPaymentMethodType $registered = null;

            public function register(AbstractPaymentMethodType $type): void
            {
                $this->registered = $type;
            }
        };
        do_action('woocommerce_blocks_payment_method_type_registration', $registry);
        $type = $registry->registered;
        self::assertTrue($type?->is_active());
        self::assertSame(['gatehouse-blocks'], $type->get_payment_method_script_handles());
        self::assertSame(['title', 'description', 'supports'], array_keys($type->get_payment_method_data()));
        Shop::set(['enabled' => 'no']);
        self::assertFalse($type->is_active());
    }

    public function testTheReturnPageAsksTheGatewayAndBelievesNoQuery(): void
    {
        $order = \WC_Order::create([]);
        Shop::checkOut($order);
        $open = Shop::returnPage($order, $order->get_order_key());
        self::assertStringContainsString('not confirmed yet', $open);
        self::assertMatchesRegularExpression('#<a href="https?://[^"]+/c/[^"]+">#', $open);
        self::assertSame('pending', Shop::now($order)->get_status());

        // No webhook can arrive meanwhile: the shop has no secret.
        Shop::set(['sandbox_secrets' => '', 'production_secrets' => '']);
        Shop::pay($order);
        self::assertSame(503, Shop::receive('order.completed', Shop::dataOf(Shop::number($order), 'COMPLETED'))[0]);
        self::assertStringContainsString('not confirmed yet', Shop::returnPage($order, 'wrong'));
        self::assertSame('Thank you.', Shop::returnPage($order, $order->get_order_key()));
        self::assertSame([true, 1], [Shop::now($order)->is_paid(), Shop::now($order)->completions()]);

        $expired = \WC_Order::create([]);
        Shop::set();
        Shop::checkOut($expired);
        $number = Shop::number($expired);
        self::assertSame(200, Shop::receive('order.expired', Shop::dataOf($number, 'EXPIRED'))[0]);
        $text = Shop::returnPage($expired, $expired->get_order_key());
        self::assertStringContainsString('not paid. No money was taken. <a href=', $text);
        self::assertSame('pending', Shop::now($expired)->get_status());
        self::assertSame('success', Shop::checkOut($expired)['result']);
        self::assertNotSame($number, Shop::number($expired));
        // The first attempt has ended, and says nothing of the second.
        self::assertSame(200, Shop::receive('order.failed', Shop::dataOf($number, 'FAILED'))[0]);
        self::assertSame('pending', Shop::now($expired)->get_status());
        self::assertSame(200, Shop::receive('order.failed', Shop::dataOf(Shop::number($expired), 'FAILED'))[0]);
        self::assertSame('failed', Shop::now($expired)->get_status());
        Shop::checkOut($expired);
        self::assertSame(200, Shop::receive('order.failed', Shop::dataOf(Shop::number($expired), 'FAILED'))[0]);
        $failed = 'payment ' . Shop::number($expired) . ' failed';
        self::assertStringContainsString($failed, implode(Shop::now($expired)->notes()));
        $expired->update_status('on-hold');
        $text = Shop::returnPage($expired, $expired->get_order_key());
        self::assertStringContainsString('not paid. No money was taken.', $text, 'the owner put it on hold');
        foreach (['cancelled', 'refunded', 'shipped'] as $status) {
            $order->update_status($status);
            self::assertSame('Thank you.', Shop::returnPage($order, $order->get_order_key()), "paid, then $status");
        }
        Shop::checkOut($late = \WC_Order::create([]));
        foreach (['asks again' => 600, 'Reload this page' => 901] as $promise => $age) {
            $text = Shop::returnPage($late, $late->get_order_key(), ['gatehouse_visited_at' => (string) (time() - $age)]);
            self::assertStringContainsString($promise, $text);
        }
    }

    public function testAWebhookIsRefusedUnlessItIsGenuineAndNew(): void
    {
        $order = \WC_Order::create([]);
        Shop::checkOut($order);
        $number = Shop::number($order);
        $paid = Shop::dataOf($number, 'COMPLETED');
        $forger = 'whsec_' . base64_encode('forger');
        self::assertSame(401, Shop::receive('order.completed', $paid, secret: $forger)[0]);
        [$status, $message] = Shop::receive('order.completed', $paid, age: 301);
        self::assertSame([401, true], [$status, str_contains($message, 'too old')]);
        // The secret of one environment signs nothing of the other.
        $asLive = Shop::receive('order.completed', $paid, environment: Environment::Production);
        self::assertNotSame(200, $asLive[0]);
        $ofLive = Shop::receive('order.completed', $paid, Shop::LIVE_SECRET, environment: Environment::Production);
        self::assertSame(200, $ofLive[0], 'it is genuine, and of no attempt');
        self::assertSame('pending', Shop::now($order)->get_status());
        $copy = preg_replace('/^wc-[0-9a-f]{8}/', 'wc-00000000', $number);
        foreach (['order-of-another-system', $copy, preg_replace('/-\d+-1$/', '-7-1', $number)] as $unknown) {
            self::assertSame(200, Shop::receive('order.completed', Shop::dataOf($unknown, 'COMPLETED'))[0]);
        }
        self::assertSame(200, Shop::receive('webhook.test', Shop::dataOf('test', 'PENDING'))[0]);
        self::assertSame(200, Shop::receive('order.returned', ['order_number' => $number])[0], 'a type of a newer gateway');
        self::assertSame('pending', Shop::now($order)->get_status());
        Shop::set(['sandbox_secrets' => "$forger " . Shop::fact('signing_secret')]);
        self::assertSame(200, Shop::receive('order.completed', $paid)[0], 'with two secrets, during a rotation');
        self::assertSame('processing', Shop::now($order)->get_status());
    }

    public function testMoneyThatAPersonMustLookAtPutsTheOrderOnHold(): void
    {
        $late = \WC_Order::create([]);
        Shop::checkOut($late);
        $late->update_status('cancelled');
        Shop::pay($late);
        Shop::waitUntil('late money arrives', fn () => Shop::now($late)->has_status('on-hold'));
        self::assertStringContainsString('after the order got the status "Cancelled"', implode(Shop::now($late)->notes()));
        self::assertNotSame('', Shop::now($late)->get_transaction_id());
        self::assertTrue(Shop::gateway()->can_refund_order(Shop::now($late)));
        self::assertStringContainsString('Do not pay again', Shop::returnPage($late, $late->get_order_key()));

        $wrong = [['deducted' => '99.50'], ['amount' => '1.00', 'deducted' => '1.00'], ['currency' => 'USD']];
        foreach ($wrong as $changes) {
            $order = \WC_Order::create([]);
            Shop::checkOut($order);
            Shop::receive('order.completed', Shop::dataOf(Shop::number($order), 'COMPLETED', $changes));
            self::assertSame('on-hold', Shop::now($order)->get_status());
            self::assertStringContainsString('but 100.50 ETB was asked for', implode(Shop::now($order)->notes()));
        }
        $changed = \WC_Order::create([]);
        Shop::checkOut($changed);
        $changed->set_total('120.00');
        $changed->save();
        $refused = Shop::checkOut($changed);
        self::assertSame('failure', $refused['result']);
        self::assertStringContainsString('100.50 ETB for this order is still open', implode($GLOBALS['notices']));
        Shop::receive('order.completed', Shop::dataOf(Shop::number($changed), 'COMPLETED'));
        self::assertSame('on-hold', Shop::now($changed)->get_status());

        $cash = \WC_Order::create([]);
        Shop::checkOut($cash);
        $cash->payment_complete('paid in cash');
        Shop::receive('order.completed', Shop::dataOf(Shop::number($cash), 'COMPLETED'));
        self::assertStringContainsString('a second payment of 100.50 ETB', implode(Shop::now($cash)->notes()));
        self::assertSame(['processing', 1], [Shop::now($cash)->get_status(), Shop::now($cash)->completions()]);
        self::assertFalse(Shop::gateway()->can_refund_order(Shop::now($cash)));
        Shop::receive('refund.completed', self::refundData($cash, 'r-1', 'COMPLETED', '100.50'));
        self::assertStringContainsString('got back 100.50 ETB', implode(Shop::now($cash)->notes()));
        self::assertSame(['processing', []], [Shop::now($cash)->get_status(), Shop::now($cash)->get_refunds()]);

        $refused = \WC_Order::create(['phone' => '12']);
        Shop::checkOut($refused);
        $restored = \WC_Order::create([]);
        Shop::checkOut($restored);
        $fromBackup = Shop::now($restored);
        $fromBackup->update_meta_data('_gatehouse_attempts', []);
        $expired = \WC_Order::create([]);
        Shop::checkOut($expired);
        $ended = Shop::number($expired);
        Shop::receive('order.expired', Shop::dataOf($ended, 'EXPIRED'));
        Shop::checkOut($expired);
        $surprises = [[$refused, Shop::number($refused)], [$fromBackup, Shop::number($restored)], [$expired, $ended]];
        foreach ($surprises as [$order, $number]) {
            $order->save();
            foreach ([1, 2] as $delivery) {
                Shop::receive('order.completed', Shop::dataOf($number, 'COMPLETED'));
            }
            self::assertSame('on-hold', Shop::now($order)->get_status());
            self::assertSame(1, substr_count(implode(Shop::now($order)->notes()), "payment $number, which the shop did not expect"));
            self::assertTrue(Shop::gateway()->can_refund_order(Shop::now($order)));
        }

        $kept = Shop::now($expired)->get_transaction_id();
        Shop::receive('order.completed', Shop::dataOf(Shop::number($expired), 'COMPLETED'));
        self::assertStringContainsString('a second payment of 100.50 ETB', implode(Shop::now($expired)->notes()));
        self::assertSame(['on-hold', $kept], [Shop::now($expired)->get_status(), Shop::now($expired)->get_transaction_id()]);

        $test = \WC_Order::create([]);
        Shop::checkOut($test);
        Shop::set(['sandbox' => 'no']);
        Shop::receive('order.completed', Shop::dataOf(Shop::number($test), 'COMPLETED'));
        self::assertSame('pending', Shop::now($test)->get_status());
        self::assertStringContainsString('It is no money', implode(Shop::now($test)->notes()));
    }

    public function testARegistrationWhoseAnswerIsLostIsTakenUpAgain(): void
    {
        $order = \WC_Order::create([]);
        $run = 'run-' . bin2hex(random_bytes(6));
        Shop::set(['sandbox_address' => Shop::fact('faulty_url') . "/first-answer-lost/$run"]);
        self::assertSame('success', Shop::checkOut($order)['result']);
        self::assertCount(1, Attempts::of(Shop::now($order))->all());

        $lost = \WC_Order::create([]);
        Shop::set(['sandbox_address' => 'http://127.0.0.1:1']);
        self::assertSame('failure', Shop::checkOut($lost)['result']);
        self::assertStringContainsString('nothing was paid. Try again', implode($GLOBALS['notices']));
        $number = Shop::number($lost);
        Shop::set();
        self::assertSame('success', Shop::checkOut($lost)['result']);
        self::assertSame($number, Shop::number($lost));

        // The gateway got this registration, and the shop got no answer.
        $registered = \WC_Order::create([]);
        Shop::set(['sandbox_address' => 'http://127.0.0.1:1']);
        Shop::checkOut($registered);
        $client = new Gatehouse(Shop::fact('test_key'), Shop::fact('sandbox_url'), http: new WordPressTransport());
        $url = $client->register(...Attempts::of(Shop::now($registered))->last()?->fields)->checkout_url;
        Shop::set();
        self::assertSame($url, Shop::checkOut($registered)['redirect']);
        self::assertSame([], Attempts::of(Shop::now($registered))->last()->fields, 'no phone number stays with the attempt');

        $wrong = \WC_Order::create(['phone' => '12']);
        self::assertSame('failure', Shop::checkOut($wrong)['result']);
        self::assertStringContainsString('Enter it like 0911223344', implode($GLOBALS['notices']));
        self::assertSame([], Attempts::of(Shop::now($wrong))->payable(Environment::Sandbox));
        self::assertSame('failure', Shop::checkOut(\WC_Order::create(['phone' => '']))['result']);
    }

    public function testAPaymentThatARestoredGatewayHasLostIsRegisteredAgainUnderTheSameNumber(): void
    {
        $order = \WC_Order::create([]);
        // The attempt is one of another merchant of the gateway, so this one does not know it.
        Shop::set(['sandbox_key' => Shop::fact('key_without_refunds')]);
        Shop::checkOut($order);
        $lost = Shop::now($order);
        $stored = $lost->get_meta('_gatehouse_attempts');
        $lost->update_meta_data('_gatehouse_attempts', [[...$stored[0], 'createdAt' => time() - 700]]);
        $lost->save();
        Shop::set();
        self::assertFalse(apply_filters('woocommerce_cancel_unpaid_order', true, Shop::now($order)));
        $client = new Gatehouse(Shop::fact('test_key'), Shop::fact('sandbox_url'), http: new WordPressTransport());
        self::assertSame('100.50', $client->verify($stored[0]['number'])->amount);
        [$again] = Attempts::of(Shop::now($order))->all();
        self::assertNotSame($stored[0]['checkoutUrl'], $again->checkoutUrl);
        self::assertSame($again->checkoutUrl, Shop::checkOut($order)['redirect']);
        self::assertSame($stored[0]['number'], Shop::number($order));
    }

    public function testAnOrderThatAnotherRequestHasPaidIsNeitherCancelledNorPaidAgain(): void
    {
        $order = \WC_Order::create([]);
        Shop::checkOut($order);
        $read = wc_get_order($order->get_id());
        Shop::receive('order.completed', Shop::dataOf(Shop::number($order), 'COMPLETED'));
        $stale = clone $read;
        wc_get_container()->get(OrderCache::class)->set($stale);
        self::assertFalse(apply_filters('woocommerce_cancel_unpaid_order', true, $stale));
        wc_get_container()->get(OrderCache::class)->set($stale);
        Shop::checkOut($stale);
        self::assertCount(1, Attempts::of(Shop::now($order))->all());
    }

    public function testATestPaymentThatIsOpenDoesNotStopTheOrderOfALiveShop(): void
    {
        $order = \WC_Order::create([]);
        Shop::checkOut($order);
        Shop::set(['sandbox' => 'no', 'sandbox_key' => '']);
        self::assertTrue(apply_filters('woocommerce_cancel_unpaid_order', true, Shop::now($order)));
        self::assertStringContainsString('not paid.', Shop::returnPage($order, $order->get_order_key()));
        // Production refuses this shop, because its address is not https. So there is a second attempt, which is REJECTED.
        Shop::checkOut($order);
        self::assertSame(Environment::Production, Attempts::of(Shop::now($order))->last()?->environment);
    }

    public function testAPaymentThatWooCommerceCouldNotRecordIsReportedAgain(): void
    {
        // WooCommerce says that it has completed the payment of an order in another status, and does nothing.
        $draft = \WC_Order::create([]);
        Shop::checkOut($draft);
        foreach (['checkout-draft' => 500, 'pending' => 200] as $status => $answer) {
            self::assertStringNotContainsString('paid', implode(Shop::now($draft)->notes()));
            $draft->update_status($status);
            self::assertSame($answer, Shop::receive('order.completed', Shop::dataOf(Shop::number($draft), 'COMPLETED'))[0]);
        }
        self::assertTrue(Shop::now($draft)->is_paid());

        $order = \WC_Order::create([]);
        Shop::checkOut($order);
        $prevented = 0;
        add_action('woocommerce_pre_payment_complete', function (int $orderId) use ($order, &$prevented): void {
            if ($orderId === $order->get_id() && $prevented++ < 2) {
                throw new \Exception('another plugin');
            }
        });
        Shop::set(['sandbox_secrets' => '', 'production_secrets' => '']);
        Shop::pay($order);
        for ($asked = 0; $asked < 2; $asked++) {
            self::assertFalse(Shop::now($order)->is_paid());
            if ($asked === 0) {
                self::assertSame('failure', Shop::checkOut(Shop::now($order))['result']);
                self::assertStringContainsString('Do not pay again', implode($GLOBALS['notices']));
            }
            do_action('woocommerce_order_action_gatehouse_ask', Shop::now($order));
        }
        self::assertTrue(Shop::now($order)->is_paid());
        self::assertSame(1, substr_count(implode(Shop::now($order)->notes()), '100.50 ETB paid'));
    }

    public function testARefundIsShownAtOnceAndFollowsTheWallet(): void
    {
        $order = Shop::paidOrder();
        $refund = wc_create_refund(self::refundOf($order, '40'));
        self::assertInstanceOf(\WC_Order_Refund::class, $refund);
        Shop::waitUntil('the refund is made', fn () => self::statusesOf($order) === ['COMPLETED']);
        self::assertStringContainsString('the refund of 40.00 ETB is requested', implode(Shop::now($order)->notes()));
        Shop::waitUntil('it is noted', fn () => str_contains(implode(Shop::now($order)->notes()), 'got back 40.00 ETB'));
        self::assertCount(1, Shop::now($order)->get_refunds());
        ob_start();
        do_action('woocommerce_admin_order_data_after_billing_address', Shop::now($order));
        self::assertStringContainsString('Refund of 40.00 ETB: COMPLETED', (string) ob_get_clean());

        $number = RefundRecords::of(Shop::now($order))->all()[0]->number;
        $elsewhere = self::refundData($order, "$number-dashboard", 'COMPLETED', '10.00');
        self::assertSame(200, Shop::receive('refund.completed', $elsewhere)[0]);
        self::assertSame(200, Shop::receive('refund.completed', $elsewhere)[0]);
        self::assertSame(200, Shop::receive('refund.failed', self::refundData($order, $number, 'FAILED', '40.00'))[0]);
        self::assertCount(2, Shop::now($order)->get_refunds(), 'one of them was made in the dashboard of the gateway');

        Shop::set(['sandbox_key' => Shop::fact('key_without_refunds')]);
        $refused = wc_create_refund(self::refundOf($order, '5'));
        self::assertInstanceOf(\WP_Error::class, $refused);
        self::assertMatchesRegularExpression('/not accept the refund: .*(403|404)/', $refused->get_error_message());
        Shop::set(['sandbox_address' => 'http://127.0.0.1:1']);
        $lost = wc_create_refund(self::refundOf($order, '5'));
        self::assertStringContainsString('refund the same amount again', $lost->get_error_message());
        // The answer of a wrong address does not say that the refund was lost.
        Shop::set(['sandbox_address' => Shop::fact('sandbox_url') . '/shop']);
        do_action('woocommerce_order_action_gatehouse_ask', Shop::now($order));
        self::assertStringContainsString('path does not exist', implode(Shop::now($order)->notes()));
        Shop::set();
        $other = wc_create_refund(self::refundOf($order, '6'));
        self::assertStringContainsString('an earlier refund of 5.00 ETB was lost', $other->get_error_message());
        self::assertInstanceOf(\WC_Order_Refund::class, wc_create_refund(self::refundOf($order, '5')));
        self::assertCount(3, Shop::now($order)->get_refunds());
    }

    public function testWhatANewerVersionOfThePluginHasStoredIsRead(): void
    {
        $order = Shop::paidOrder();
        wc_create_refund(self::refundOf($order, '40'));
        $newer = Shop::now($order);
        foreach (['_gatehouse_attempts', '_gatehouse_refunds'] as $meta) {
            $newer->update_meta_data($meta, array_map(fn (array $each) => [...$each, 'added' => true], $newer->get_meta($meta)));
        }
        self::assertNotNull(Attempts::of($newer)->paid());
        self::assertCount(1, RefundRecords::of($newer)->all());
    }

    public function testARefundWhoseAnswerWasLostIsNotMadeTwiceWhateverItsRepeatGets(): void
    {
        $order = Shop::paidOrder();
        $faulty = Shop::fact('faulty_url') . '/answer-lost-then-limited/run-' . bin2hex(random_bytes(6));
        $tries = [
            'no answer and then 429' => ['sandbox_address' => $faulty],
            'an unknown key' => ['sandbox_key' => 'svc_test_unknown'],
            'the key of another merchant' => ['sandbox_key' => Shop::fact('key_without_refunds')],
            'no key' => ['sandbox_key' => ''],
        ];
        foreach ($tries as $try => $settings) {
            // No webhook tells the outcome meanwhile: the shop has no secret.
            Shop::set(['sandbox_secrets' => '', 'production_secrets' => '', ...$settings]);
            $lost = wc_create_refund(self::refundOf($order, '40'));
            self::assertInstanceOf(\WP_Error::class, $lost, $try);
            self::assertStringContainsString('refund the same amount again', $lost->get_error_message(), $try);
            self::assertSame(['UNKNOWN'], self::statusesOf($order), $try);
        }
        Shop::set(['sandbox_secrets' => '', 'production_secrets' => '']);
        self::assertInstanceOf(\WC_Order_Refund::class, wc_create_refund(self::refundOf($order, '40')));
        self::assertCount(1, RefundRecords::of(Shop::now($order))->all(), 'refunds at the gateway');
    }

    public function testARefundThatWasRefusedForTheLimitAloneDoesNotStopARefundOfAnotherAmount(): void
    {
        $order = Shop::paidOrder();
        Shop::set(['sandbox_address' => Shop::fact('faulty_url') . '/limited-without-time/run-' . bin2hex(random_bytes(6))]);
        $refused = wc_create_refund(self::refundOf($order, '40'));
        self::assertStringContainsString('did not accept the refund', $refused->get_error_message());
        self::assertSame(['REJECTED'], self::statusesOf($order));
        Shop::set();
        self::assertInstanceOf(\WC_Order_Refund::class, wc_create_refund(self::refundOf($order, '5')));
    }

    public function testARefundThatWasReportedAfterItsAnswerWasLostIsNotMadeAgainByTheNextTry(): void
    {
        $order = Shop::paidOrder();
        Shop::set(['sandbox_address' => 'http://127.0.0.1:1']);
        wc_create_refund(self::refundOf($order, '40'));
        $number = RefundRecords::of(Shop::now($order))->all()[0]->number;
        Shop::set();
        $made = self::refundData($order, $number, 'COMPLETED', '40.00');
        self::assertSame(200, Shop::receive('refund.completed', $made)[0]);
        self::assertCount(1, Shop::now($order)->get_refunds());

        $again = wc_create_refund(self::refundOf($order, '40'));
        self::assertInstanceOf(\WP_Error::class, $again);
        self::assertStringContainsString('earlier refund of 40.00 ETB was made', $again->get_error_message());
        self::assertSame(['COMPLETED'], self::statusesOf($order));
        self::assertInstanceOf(\WC_Order_Refund::class, wc_create_refund(self::refundOf($order, '40')), 'it is wanted');
        self::assertCount(2, Shop::now($order)->get_refunds());
    }

    public function testARefundThatNeverArrivedIsForgottenOnceItCannotArriveAnyMore(): void
    {
        $order = Shop::paidOrder();
        Shop::set(['sandbox_address' => 'http://127.0.0.1:1']);
        wc_create_refund(self::refundOf($order, '40'));
        Shop::set();
        do_action('woocommerce_order_action_gatehouse_ask', Shop::now($order));
        self::assertSame(['UNKNOWN'], self::statusesOf($order), 'the request may still be on its way');

        $asLongAgo = Shop::now($order);
        $records = RefundRecords::of($asLongAgo);
        $records->put(new RefundRecord(...[...get_object_vars($records->all()[0]), 'sentAt' => time() - 601]));
        $asLongAgo->save();
        do_action('woocommerce_order_action_gatehouse_ask', Shop::now($order));
        self::assertSame(['REJECTED'], self::statusesOf($order));
    }

    public function testARefundIsKeptAlthoughAnotherRequestHoldsTheOrderAfterTheMoneyWasReturned(): void
    {
        $order = Shop::paidOrder();
        // The webhook about the refund must not arrive between the lines below: the shop has no secret.
        Shop::set(['sandbox_secrets' => '', 'production_secrets' => '']);
        $holder = null;
        add_action('wc_test_refund_requested', function (int $orderId) use ($order, &$holder): void {
            $holder = $orderId === $order->get_id() && $holder === null ? Shop::holdOrder($order) : $holder;
        });
        $refund = wc_create_refund(self::refundOf($order, '40'));
        $holder();
        self::assertInstanceOf(\WC_Order_Refund::class, $refund);
        self::assertCount(1, Shop::now($order)->get_refunds());
        self::assertStringContainsString("Order {$order->get_id()} is being changed by another request", Shop::log());

        // The refund failed, and whoever noted that ended before it had taken the refund back.
        $failed = Shop::now($order);
        $records = RefundRecords::of($failed);
        $records->put($records->all()[0]->with('FAILED'));
        $failed->save();
        do_action('woocommerce_order_action_gatehouse_ask', Shop::now($order));
        self::assertSame([], Shop::now($order)->get_refunds());
    }

    public function testARefundWhoseProcessEndedBeforeTheAnswerIsInWooCommerceOnceOrNotAtAll(): void
    {
        foreach (['COMPLETED' => 1, 'FAILED' => 0] as $outcome => $kept) {
            $order = Shop::paidOrder();
            $run = 'run-' . bin2hex(random_bytes(6));
            Shop::set(['sandbox_address' => Shop::fact('faulty_url') . "/silent/$run"]);
            $command = [PHP_BINARY, __DIR__ . '/refund.php', json_encode(self::refundOf($order, '40'), JSON_THROW_ON_ERROR)];
            $process = proc_open($command, [1 => ['pipe', 'w']], $pipes);
            $seen = fn () => file_get_contents(Shop::fact('faulty_url') . "/requests/$run");
            Shop::waitUntil('the gateway is asked', fn () => str_contains((string) $seen(), '/refund'));
            proc_terminate($process, 9);
            proc_close($process);
            Shop::set();
            self::assertCount(1, Shop::now($order)->get_refunds());
            $number = RefundRecords::of(Shop::now($order))->all()[0]->number;
            $type = 'refund.' . strtolower($outcome);
            self::assertSame(200, Shop::receive($type, self::refundData($order, $number, $outcome, '40.00'))[0]);
            self::assertCount($kept, Shop::now($order)->get_refunds(), $outcome);
        }
    }

    public function testARefundOfAnotherPaymentMethodDoesNotWaitForTheLockOfItsOrder(): void
    {
        $order = \WC_Order::create(['method' => 'cash', 'status' => 'processing']);
        $release = Shop::holdOrder($order);
        $refund = wc_create_refund(['refund_payment' => false] + self::refundOf($order, '40'));
        $release();
        self::assertInstanceOf(\WC_Order_Refund::class, $refund);
        self::assertStringNotContainsString("Order {$order->get_id()} is being changed", Shop::log());
    }

    public function testARefundThatTheWalletRefusesIsTakenBack(): void
    {
        // This payer's wallet reverses no payment.
        $order = Shop::paidOrder('+251900000022');
        $refund = wc_create_refund(self::refundOf($order, '100.50'));
        self::assertInstanceOf(\WC_Order_Refund::class, $refund);
        Shop::waitUntil('the refund fails', fn () => self::statusesOf($order) === ['FAILED']);
        Shop::waitUntil('it is taken back', fn () => Shop::now($order)->has_status('on-hold'));
        self::assertSame([], Shop::now($order)->get_refunds());
        self::assertStringContainsString('No money was returned', implode(Shop::now($order)->notes()));
    }

    public function testAnUnpaidOrderIsNotCancelledWhileItCanBePaid(): void
    {
        $order = \WC_Order::create([]);
        Shop::checkOut($order);
        self::assertFalse(apply_filters('woocommerce_cancel_unpaid_order', true, Shop::now($order)));
        Shop::receive('order.expired', Shop::dataOf(Shop::number($order), 'EXPIRED'));
        self::assertTrue(apply_filters('woocommerce_cancel_unpaid_order', true, Shop::now($order)));
        $other = \WC_Order::create(['method' => 'cash']);
        self::assertTrue(apply_filters('woocommerce_cancel_unpaid_order', true, $other));

        $run = 'run-' . bin2hex(random_bytes(6));
        $open = [\WC_Order::create([]), \WC_Order::create([])];
        array_map(Shop::checkOut(...), $open);
        Shop::set(['sandbox_address' => Shop::fact('faulty_url') . "/always-unavailable/$run"]);
        foreach ($open as $each) {
            self::assertFalse(apply_filters('woocommerce_cancel_unpaid_order', true, Shop::now($each)));
        }
        $requests = json_decode((string) file_get_contents(Shop::fact('faulty_url') . "/requests/$run"));
        self::assertCount(1, $requests, 'a gateway that does not answer is asked once');
    }

    public function testTheOwnerOfTheShopCanAskForTheOutcome(): void
    {
        $order = \WC_Order::create([]);
        Shop::checkOut($order);
        $actions = apply_filters('woocommerce_order_actions', [], Shop::now($order));
        self::assertSame(['gatehouse_ask'], array_keys($actions));
        Shop::set(['sandbox_secrets' => '', 'production_secrets' => '']);
        Shop::pay($order);
        do_action('woocommerce_order_action_gatehouse_ask', Shop::now($order));
        self::assertTrue(Shop::now($order)->is_paid());
        Shop::mayEditOrders(false);
        ob_start();
        do_action('woocommerce_admin_order_data_after_billing_address', Shop::now($order));
        self::assertSame('', ob_get_clean());
    }

    public function testSettingsAreCheckedAndTheirErrorsSayWhatToDo(): void
    {
        $errors = function (array $form): array {
            \WC_Admin_Settings::$errors = [];
            $_POST = [];
            foreach ($form as $name => $value) {
                $_POST["woocommerce_gatehouse_$name"] = $value;
            }
            Shop::gateway()->process_admin_options();
            return \WC_Admin_Settings::$errors;
        };
        $good = [
            'enabled' => '1',
            'sandbox' => '1',
            'title' => 'Mobile money',
            'sandbox_address' => Shop::fact('sandbox_url') . '/',
            'sandbox_key' => Shop::fact('test_key'),
            'sandbox_secrets' => Shop::fact('signing_secret'),
        ];
        self::assertSame([], $errors($good));
        self::assertTrue(Shop::gateway()->is_available());
        $faulty = Shop::fact('faulty_url') . '/another-site/run';
        $wrong = [
            'begins with svc_test_' => ['sandbox_key' => Shop::fact('live_key')],
            'begins with https://' => ['sandbox_address' => 'pay.example'],
            'begins with whsec_' => ['sandbox_secrets' => 'secret'],
            'does not know the API key' => ['sandbox_key' => 'svc_test_unknown'],
            'does not answer' => ['sandbox_address' => 'http://127.0.0.1:1'],
            'is it a gateway?' => ['sandbox_address' => $faulty],
            'path does not exist' => ['sandbox_address' => Shop::fact('sandbox_url') . '/shop'],
            'do not see the payment method yet' => ['sandbox_key' => ''],
        ];
        foreach ($wrong as $text => $changes) {
            Shop::set();
            $found = $errors([...$good, ...$changes]);
            self::assertCount(1, $found, $text);
            self::assertStringContainsString($text, $found[0]);
            self::assertStringStartsWith('Gatehouse, Sandbox: ', $found[0]);
        }
        self::assertFalse(Shop::gateway()->is_available(), 'without a key');
    }

    public function testTheSettingsPageNamesEveryFieldAndTheAddressOfWebhooks(): void
    {
        ob_start();
        Shop::gateway()->admin_options();
        $page = (string) ob_get_clean();
        foreach (['sandbox_address', 'sandbox_key', 'production_key', 'production_secrets'] as $name) {
            self::assertStringContainsString("name=\"woocommerce_gatehouse_$name\"", $page);
        }
        self::assertStringContainsString('<code>' . esc_html(rest_url('gatehouse/v1/webhook')) . '</code>', $page);
    }

    public function testWithoutWooCommerceTheOwnerIsToldAndWebhooksWait(): void
    {
        $process = proc_open([PHP_BINARY, __DIR__ . '/without-woocommerce.php'], [1 => ['pipe', 'w']], $pipes);
        $said = (string) stream_get_contents($pipes[1]);
        self::assertSame(0, proc_close($process));
        self::assertStringStartsWith('503 <div class="notice notice-error"><p>', $said);
        self::assertStringContainsString('needs WooCommerce. Install and activate it.', $said);
    }

    public function testAmountsAreComparedByValueAsText(): void
    {
        foreach ([['100', '100.00'], ['0.10', '0.1'], ['999999999999.99', '999999999999.99']] as [$one, $other]) {
            self::assertTrue(Amount::isSame($one, $other));
        }
        foreach ([['100', '10'], ['1', '1.01'], ['999999999999.99', '999999999999.98']] as [$one, $other]) {
            self::assertFalse(Amount::isSame($one, $other));
        }
    }

    public function testAnAmountHasNoMoreDecimalsThanItsCurrencyNeeds(): void
    {
        try {
            foreach ([0 => '101', 2 => '100.50', 4 => '100.50'] as $decimals => $amount) {
                $GLOBALS['price_decimals'] = $decimals;
                self::assertSame($amount, Amount::of('100.50'));
            }
        } finally {
            unset($GLOBALS['price_decimals']);
        }
    }

    public function testDeletingThePluginDeletesTheKeysOfEverySite(): void
    {
        foreach (['false' => '1: ', 'true' => '1: 2: '] as $isNetwork => $deleted) {
            $network = "define('WP_UNINSTALL_PLUGIN', 1); function is_multisite() { return $isNetwork; } \$site = 1;"
                . 'function get_sites($query) { return $query["number"] === 0 ? [1, 2] : []; }'
                . 'function switch_to_blog($id) { $GLOBALS["site"] = $id; } function restore_current_blog() {}'
                . 'function delete_option($name) { echo $name === "woocommerce_gatehouse_settings" ? "$GLOBALS[site]: " : "?"; }';
            $code = $network . 'require getenv("GATEHOUSE_TEST_PLUGIN") . "/uninstall.php";';
            $process = proc_open([PHP_BINARY, '-r', $code], [1 => ['pipe', 'w']], $pipes);
            self::assertSame($deleted, stream_get_contents($pipes[1]));
            self::assertSame(0, proc_close($process));
        }
    }

    /** @return array<string, mixed> */
    private static function refundOf(\WC_Order $order, string $amount): array
    {
        return ['order_id' => $order->get_id(), 'amount' => $amount, 'reason' => '', 'refund_payment' => true];
    }

    /** @return list<string> */
    private static function statusesOf(\WC_Order $order): array
    {
        return array_column(RefundRecords::of(Shop::now($order))->all(), 'status');
    }

    /** @return array<string, string> */
    private static function refundData(\WC_Order $order, string $number, string $status, string $amount): array
    {
        return [
            'refund_id' => 'rfd_1',
            'refund_number' => $number,
            'order_number' => Shop::number($order),
            'status' => $status,
            'amount' => $amount,
            'currency' => 'ETB',
            'reason' => 'Came back',
            'created_timestamp' => '2026-01-01T00:00:00.000Z',
            'updated_timestamp' => '2026-01-01T00:00:00.000Z',
        ];
    }
}
