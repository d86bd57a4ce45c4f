<?php

declare(strict_types=1);

namespace Gatehouse\Client\Tests;

use Gatehouse\Client\Gatehouse;

/** The gateway that `npm test -- test/clients` starts. GATEHOUSE_TEST_SITE holds its addresses and keys as JSON. */
final class Site
{
    public static function fact(string $name): string
    {
        return json_decode((string) getenv('GATEHOUSE_TEST_SITE'), true, 512, JSON_THROW_ON_ERROR)[$name];
    }

    public static function newNumber(): string
    {
        return 'php-' . bin2hex(random_bytes(8));
    }

    public static function newPhone(): string
    {
        return sprintf('+25191%07d', random_int(0, 9_999_999));
    }

    /** @return array<string, string> */
    public static function newOrder(): array
    {
        return [
            'order_number' => self::newNumber(),
            'return_url' => 'https://shop.example/thanks',
            'amount' => '100.50',
            'currency' => 'ETB',
            'reason' => 'ሦስት መጻሕፍት',
            'customer_phone' => '0911223344',
        ];
    }

    /** @return array<string, string> */
    public static function newPayment(): array
    {
        return [
            'payment_option' => 'walleta_ussd',
            'order_number' => self::newNumber(),
            'amount' => '100.50',
            'currency' => 'ETB',
            'phone' => self::newPhone(),
        ];
    }

    public static function client(mixed ...$settings): Gatehouse
    {
        return new Gatehouse(...[
            'apiKey' => self::fact('test_key'),
            'baseUrl' => self::fact('sandbox_url'),
            ...$settings,
        ]);
    }

    /** @return array{string, string} the base URL of a gateway with a fault, and the name of the run */
    public static function faulty(string $fault): array
    {
        $run = self::newNumber();
        return [self::fact('faulty_url') . "/$fault/$run/", $run];
    }

    /** @return list<array{path: string, headers: array<string, string>, answered: int}> */
    public static function requestsOf(string $run): array
    {
        $seen = file_get_contents(self::fact('faulty_url') . "/requests/$run");
        return json_decode((string) $seen, true, 512, JSON_THROW_ON_ERROR);
    }
}
