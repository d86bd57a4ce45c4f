<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** A customer has paid, and another plugin prevents WooCommerce from marking the order as paid. The message is for the shop. */
final class PaymentNotKept extends \RuntimeException
{
}
