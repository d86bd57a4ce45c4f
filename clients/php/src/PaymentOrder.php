<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** A payment order. Amounts are decimal text, and times are ISO 8601 in UTC. */
final class PaymentOrder
{
    public function __construct(
        public readonly string $order_id,
        public readonly string $order_number,
        public readonly OrderStatus $status,
        public readonly string $amount,
        public readonly string $deducted,
        public readonly string $currency,
        public readonly string $payment_option,
        public readonly string $payment_type,
        public readonly string $customer_phone,
        public readonly string $reason,
        public readonly string $created_timestamp,
        public readonly string $updated_timestamp,
    ) {
    }

    /** @internal */
    public static function of(Fields $fields): self
    {
        return new self(
            $fields->text('order_id'),
            $fields->text('order_number'),
            OrderStatus::from($fields->text('status')),
            $fields->text('amount'),
            $fields->text('deducted'),
            $fields->text('currency'),
            $fields->text('payment_option'),
            $fields->text('payment_type'),
            $fields->text('customer_phone'),
            $fields->text('reason'),
            $fields->text('created_timestamp'),
            $fields->text('updated_timestamp'),
        );
    }
}
