<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** Amounts as decimal text. They are compared without floating point. */
final class Amount
{
    public static function isSame(string $one, string $other): bool
    {
        return self::plain($one) === self::plain($other);
    }

    /** The amount as WooCommerce rounds it, in the form that Gatehouse accepts. */
    public static function of(float|string $amount): string
    {
        return wc_format_decimal($amount, wc_get_price_decimals());
    }

    private static function plain(string $amount): string
    {
        [$whole, $decimals] = [...explode('.', $amount, 2), ''];
        $whole = ltrim($whole, '0');
        $decimals = rtrim($decimals, '0');
        return ($whole === '' ? '0' : $whole) . ($decimals === '' ? '' : ".$decimals");
    }
}
