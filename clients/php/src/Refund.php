<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** A refund. Amounts are decimal text, and times are ISO 8601 in UTC. */
final class Refund
{
    public function __construct(
        public readonly string $refund_id,
        public readonly string $refund_number,
        public readonly string $order_number,
        public readonly RefundStatus $status,
        public readonly string $amount,
        public readonly string $currency,
        public readonly string $reason,
        public readonly string $created_timestamp,
        public readonly string $updated_timestamp,
    ) {
    }

    /** @internal */
    public static function of(Fields $fields): self
    {
        return new self(
            $fields->text('refund_id'),
            $fields->text('refund_number'),
            $fields->text('order_number'),
            RefundStatus::from($fields->text('status')),
            $fields->text('amount'),
            $fields->text('currency'),
            $fields->text('reason'),
            $fields->text('created_timestamp'),
            $fields->text('updated_timestamp'),
        );
    }
}
