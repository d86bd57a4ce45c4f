<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** The explanation of an order: the fact that it waits for, and the next step. `text` is for people; programs read the other fields. New words may be added. */
final class OrderExplanation
{
    /**
     * @param string $waiting_for the one fact that the order waits for, such as payer_confirmation, or nothing
     * @param string $held_by who can change that fact now, such as payer, wallet or merchant
     * @param string $wallet the id of the wallet that the fact concerns; empty without one
     * @param string $reason why the latest payment did not pay the order; empty otherwise
     * @param string $next what happens next, such as wallet_queried or order_expires
     * @param string $next_at empty when the next step happens at once, and when a person decides its time
     */
    public function __construct(
        public readonly string $order_id,
        public readonly string $order_number,
        public readonly OrderStatus $status,
        public readonly string $waiting_for,
        public readonly string $held_by,
        public readonly string $wallet,
        public readonly string $reason,
        public readonly string $next,
        public readonly string $next_at,
        public readonly string $since,
        public readonly string $text,
    ) {
    }

    /** @internal */
    public static function of(Fields $fields): self
    {
        return new self(
            $fields->text('order_id'),
            $fields->text('order_number'),
            OrderStatus::from($fields->text('status')),
            $fields->text('waiting_for'),
            $fields->text('held_by'),
            $fields->text('wallet'),
            $fields->text('reason'),
            $fields->text('next'),
            $fields->text('next_at'),
            $fields->text('since'),
            $fields->text('text'),
        );
    }
}
