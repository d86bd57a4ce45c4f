<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** Every error of this package. */
class GatehouseError extends \RuntimeException
{
}
