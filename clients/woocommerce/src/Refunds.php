<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Environment;
use Gatehouse\WooCommerce\Client\Error\ConfigurationError;
use Gatehouse\WooCommerce\Client\Error\ForbiddenError;
use Gatehouse\WooCommerce\Client\Error\GatehouseError;
use Gatehouse\WooCommerce\Client\Error\IdempotencyConflictError;
use Gatehouse\WooCommerce\Client\Error\InvalidRequestError;
use Gatehouse\WooCommerce\Client\Error\NotFoundError;
use Gatehouse\WooCommerce\Client\Error\TooManyRequestsError;
use Gatehouse\WooCommerce\Client\Error\UnauthorizedError;
use Gatehouse\WooCommerce\Client\Refund;
use Gatehouse\WooCommerce\Client\RefundStatus;

/** Refunds from the page of an order. The wallet decides them, often after WooCommerce has recorded them. */
final class Refunds
{
    /** Whatever was on its way to the gateway has arrived after this time, or never will. */
    private const UNKNOWN_AFTER_SECONDS = 600;

    /** The refund that WooCommerce is creating in this request. */
    private static ?\WC_Order_Refund $creating = null;

    public function __construct(private readonly Settings $settings)
    {
    }

    public static function connect(): void
    {
        add_action('woocommerce_create_refund', function (mixed $refund): void {
            self::$creating = $refund instanceof \WC_Order_Refund ? $refund : null;
        });
        add_action('woocommerce_order_refunded', self::checkRecorded(...), 10, 2);
    }

    /**
     * A webhook can report the failure while WooCommerce still records the refund. WooCommerce deletes the refund after an
     * exception, although the money was returned.
     */
    private static function checkRecorded(int $orderId, int $wcRefundId): void
    {
        self::$creating = null;
        $find = fn (\WC_Order $order) => RefundRecords::of($order)->findByWcRefund($wcRefundId);
        try {
            $order = OrderLock::read($orderId);
            // Refunds of other payment methods wait for no lock.
            if ($order === null || $find($order) === null) {
                return;
            }
            OrderLock::hold($orderId, function (\WC_Order $order) use ($find): void {
                $record = $find($order);
                if ($record?->status === RefundStatus::Failed->value) {
                    (new self(Settings::load()))->undo($order, $record);
                }
            });
        } catch (\Throwable $error) {
            Log::error("A refund of order $orderId was not checked. Ask Gatehouse for the outcome", $error);
        }
    }

    /** @return true|\WP_Error an error that says what to do */
    public function create(int $orderId, string $amount, string $reason): bool|\WP_Error
    {
        try {
            $created = OrderLock::hold($orderId, fn (\WC_Order $order) => $this->createLocked($order, $amount, $reason));
        } catch (OrderBusy) {
            $created = null;
        }
        return $created ?? self::error(
            __('The order is being changed by another request. Try again in a few seconds.', 'gatehouse-for-woocommerce'),
        );
    }

    private function createLocked(\WC_Order $order, string $amount, string $reason): bool|\WP_Error
    {
        $paid = Attempts::of($order)->paid();
        if ($paid === null) {
            return self::error(__('Gatehouse has no payment of this order that it could return.', 'gatehouse-for-woocommerce'));
        }
        $records = RefundRecords::of($order);
        $record = $records->unknown();
        if ($record !== null && !Amount::isSame($record->amount, $amount)) {
            /* translators: %s: an amount with its currency */
            $text = __('The answer to an earlier refund of %s was lost. Refund that amount again first. It is not returned twice.', 'gatehouse-for-woocommerce');
            return self::error(sprintf($text, "$record->amount $paid->currency"));
        }
        $unannounced = $record === null ? $records->unannounced($amount) : null;
        if ($unannounced !== null) {
            $records->put($unannounced->told(true));
            $order->save();
            /* translators: %s: an amount with its currency */
            $text = __('The earlier refund of %s was made, although its answer was lost. Reload this page. Refund again only if you want to return this amount once more.', 'gatehouse-for-woocommerce');
            return self::error(sprintf($text, "$unannounced->amount $paid->currency"));
        }
        $isRepeat = $record !== null;
        // A process that ended during its request has left its refund in WooCommerce. The refund of this request replaces it.
        if ($record !== null && $record->wcRefundId !== self::$creating?->get_id()) {
            self::findInWooCommerce($record)?->delete(true);
        }
        /* translators: %s: the number of the order */
        $default = sprintf(__('Refund of order %s', 'gatehouse-for-woocommerce'), $order->get_order_number());
        $given = trim(preg_replace('/[\p{C}\s]+/u', ' ', $reason) ?? '');
        $record ??= new RefundRecord($records->nextNumber($paid->number), $amount, mb_substr($given === '' ? $default : $given, 0, 255));
        // The process may end before the gateway answers, and WooCommerce has stored its refund already.
        $record = $record->sentNow(self::$creating?->get_id() ?? 0);
        $records->put($record);
        $order->save();
        try {
            $refund = $this->settings->client($paid->environment)->refund(
                order_number: $paid->number,
                refund_number: $record->number,
                amount: $record->amount,
                reason: $record->reason,
                idempotencyKey: $record->number,
            );
        } catch (GatehouseError $error) {
            return $this->refused($order, $records, $record, $error, $isRepeat);
        }
        if ($refund->status === RefundStatus::Failed) {
            $records->put($record->with($refund->status->value, 0));
            $order->save();
            return self::error(__('The wallet refused the refund. No money was returned.', 'gatehouse-for-woocommerce'));
        }
        $records->put($record->with($refund->status->value));
        $order->add_order_note($this->noteOn($record, $paid->currency, $refund->status));
        $order->save();
        return true;
    }

    private function refused(
        \WC_Order $order,
        RefundRecords $records,
        RefundRecord $record,
        GatehouseError $error,
        bool $isRepeat,
    ): \WP_Error {
        Log::error("Refund $record->number of order {$order->get_id()} was not accepted", $error);
        // WooCommerce deletes its refund after this.
        $isRefused = self::isCertainlyRefused($error, $isRepeat);
        $records->put($record->with($isRefused ? RefundRecord::REJECTED : RefundRecord::UNKNOWN, 0));
        $order->save();
        if (!$isRefused) {
            /* translators: %s: why the gateway gave no outcome */
            $text = __('It is not known whether the money is returned (%s). Reload this page in a minute. If the refund is not there, refund the same amount again. It is not returned twice.', 'gatehouse-for-woocommerce');
            return self::error(sprintf($text, $error->getMessage()));
        }
        /* translators: %s: the answer of the gateway */
        $text = __('The gateway did not accept the refund: %s', 'gatehouse-for-woocommerce');
        return self::error(sprintf($text, $error->getMessage()));
    }

    /**
     * Whether the gateway has not made the refund, and never will. It checks the key and the limits before it looks for the
     * refund, so 401, 403 and 429 say nothing of an earlier try. A 404 may come from a key of another merchant.
     */
    private static function isCertainlyRefused(GatehouseError $error, bool $isRepeat): bool
    {
        if ($error instanceof InvalidRequestError || $error instanceof IdempotencyConflictError) {
            return true;
        }
        $isNotAllowed = $error instanceof UnauthorizedError || $error instanceof ForbiddenError
            || $error instanceof TooManyRequestsError || $error instanceof ConfigurationError
            || ($error instanceof NotFoundError && $error->isUnknownNumber());
        return $isNotAllowed && !$isRepeat && !$error->mayHaveHappened();
    }

    /** Asks the gateway for the outcome of the open refunds. The order is locked. */
    public function ask(\WC_Order $order): void
    {
        $paid = Attempts::of($order)->paid();
        foreach ($paid === null ? [] : RefundRecords::of($order)->all() as $record) {
            $isMade = $record->status !== RefundStatus::Failed->value && $record->status !== RefundRecord::REJECTED;
            if (!$isMade && self::findInWooCommerce($record) !== null) {
                $this->undo($order, $record);
            }
            if (!$record->isOpen()) {
                continue;
            }
            try {
                $refund = $this->settings->client($paid->environment)->verifyRefund($record->number);
                $this->apply($order, $refund, $paid->environment);
            } catch (NotFoundError $error) {
                if (!$error->isUnknownNumber()) {
                    throw $error;
                }
                if (time() - $record->sentAt <= self::UNKNOWN_AFTER_SECONDS) {
                    continue;
                }
                $records = RefundRecords::of($order);
                $records->put($record->with(RefundRecord::REJECTED));
                $order->save();
                if (self::findInWooCommerce($record) !== null) {
                    $this->undo($order, $record);
                }
            }
        }
    }

    /** Applies what the gateway says of a refund. A refund that has ended is not changed again. The order is locked. */
    public function apply(\WC_Order $order, Refund $refund, Environment $environment): void
    {
        $attempt = Attempts::of($order)->find($refund->order_number, $environment);
        $records = RefundRecords::of($order);
        // Somebody may have refunded in the dashboard of the gateway.
        $known = $records->find($refund->refund_number);
        $record = $known ?? new RefundRecord($refund->refund_number, $refund->amount, $refund->reason);
        if ($attempt === null || $record->hasOutcome() || $refund->status === RefundStatus::Pending) {
            return;
        }
        $record = $record->with($refund->status->value);
        if ($refund->status === RefundStatus::Completed && $known !== null && $known->status !== RefundStatus::Pending->value) {
            $record = $record->told(false);
        }
        // The money of a second payment goes back, and the order stays paid by the first.
        $isOfOrder = $known !== null || Attempts::of($order)->paid()?->number === $attempt->number;
        if ($refund->status === RefundStatus::Completed && $isOfOrder && self::findInWooCommerce($record) === null) {
            // WooCommerce does not know that the money was returned.
            $records->put($record);
            $order->save();
            $created = wc_create_refund([
                'order_id' => $order->get_id(),
                'amount' => $refund->amount,
                'reason' => $refund->reason,
                'refund_payment' => false,
            ]);
            $record = $record->with($record->status, is_wp_error($created) ? 0 : $created->get_id());
            if (is_wp_error($created)) {
                Log::warning("Refund $record->number is not in WooCommerce: {$created->get_error_message()}");
            }
        }
        $records->put($record);
        $order->add_order_note($this->noteOn($record, $refund->currency, $refund->status));
        $order->save();
        if ($refund->status === RefundStatus::Failed && $record->wcRefundId !== 0) {
            $this->undo($order, $record);
        }
    }

    /** Takes a refund out of WooCommerce that the wallet did not make. */
    private function undo(\WC_Order $order, RefundRecord $record): void
    {
        self::findInWooCommerce($record)?->delete(true);
        if ($order->has_status('refunded')) {
            $order->update_status('on-hold', __('Gatehouse: the refund failed, so the customer has not got the money.', 'gatehouse-for-woocommerce'));
        }
    }

    private static function findInWooCommerce(RefundRecord $record): ?\WC_Order_Refund
    {
        $wcRefund = $record->wcRefundId === 0 ? false : wc_get_order($record->wcRefundId);
        return $wcRefund instanceof \WC_Order_Refund ? $wcRefund : null;
    }

    private function noteOn(RefundRecord $record, string $currency, RefundStatus $status): string
    {
        /* translators: 1: an amount with its currency, 2: the refund number at the gateway */
        $text = match ($status) {
            RefundStatus::Pending => __('Gatehouse: the refund of %1$s is requested (%2$s). The wallet decides it, or a second person approves it first. The outcome will be noted here.', 'gatehouse-for-woocommerce'),
            RefundStatus::Completed => __('Gatehouse: the customer has got back %1$s (%2$s).', 'gatehouse-for-woocommerce'),
            RefundStatus::Failed => __('Gatehouse: the refund of %1$s failed (%2$s). No money was returned. You can refund again.', 'gatehouse-for-woocommerce'),
        };
        return sprintf($text, "$record->amount $currency", $record->number);
    }

    private static function error(string $message): \WP_Error
    {
        return new \WP_Error('gatehouse_refund', $message);
    }
}
