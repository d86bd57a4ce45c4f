<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** The result of a registration. */
final class RegisteredOrder
{
    /** @param string $checkout_url the URL of the checkout page: redirect the customer to it */
    public function __construct(public readonly string $checkout_url)
    {
    }

    /** @internal */
    public static function of(Fields $fields): self
    {
        return new self($fields->text('checkout_url'));
    }
}
