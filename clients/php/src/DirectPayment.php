<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** The result of a direct payment. */
final class DirectPayment
{
    /** @param OrderStatus $payment_status Pending until the wallet has decided */
    public function __construct(
        public readonly string $message,
        public readonly OrderStatus $payment_status,
    ) {
    }

    /** @internal */
    public static function of(Fields $fields): self
    {
        return new self($fields->text('message'), OrderStatus::from($fields->text('payment_status')));
    }
}
