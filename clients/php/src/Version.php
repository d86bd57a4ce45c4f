<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** The version of this package, and of the OpenAPI document that it was written for. */
final class Version
{
    public const VERSION = '1.0.0';
}
