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

    /**
     * The amount as WooCommerce rounds it, in the form that Gatehouse accepts. A shop may calculate with more decimals than the
     * currency has, and Gatehouse refuses even zeros there.
     */
    public static function of(float|string $amount): string
    {
        $rounded = wc_format_decimal($amount, wc_get_price_decimals());
        return preg_replace('/(\.[0-9]{2})0+\z/', '$1', $rounded) ?? $rounded;
    }

    private static function plain(string $amount): string
    {
        [$whole, $decimals] = [...explode('.', $amount, 2), ''];
        $whole = ltrim($whole, '0');
        $decimals = rtrim($decimals, '0');
        return ($whole === '' ? '0' : $whole) . ($decimals === '' ? '' : ".$decimals");
    }
}
