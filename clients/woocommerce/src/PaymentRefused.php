<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** The payment cannot start. The message is for the customer. */
final class PaymentRefused extends \RuntimeException
{
}
