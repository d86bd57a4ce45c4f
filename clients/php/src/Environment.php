<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** Sandbox: test keys, no real money. Production: live keys, real payments. */
enum Environment: string
{
    case Sandbox = 'sandbox';
    case Production = 'production';

    /** The kind of API key that this environment accepts, in words. */
    public function keyKind(): string
    {
        return match ($this) {
            self::Sandbox => 'test key (svc_test_…)',
            self::Production => 'live key (svc_live_…)',
        };
    }
}
