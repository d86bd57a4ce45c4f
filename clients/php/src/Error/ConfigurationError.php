<?php

declare(strict_types=1);

namespace Gatehouse\Client\Error;

/** The client is set up or called wrongly. Nothing was sent. */
final class ConfigurationError extends GatehouseError
{
}
