<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** Logs that hold neither keys nor secrets nor customers' data. WooCommerce shows them under Status, Logs. */
final class Log
{
    public static function info(string $text): void
    {
        self::write('info', $text);
    }

    public static function warning(string $text): void
    {
        self::write('warning', $text);
    }

    public static function error(string $text, \Throwable $error): void
    {
        self::write('error', "$text: {$error->getMessage()}");
    }

    private static function write(string $level, string $text): void
    {
        // Whatever a gateway answers, a phone number or a key does not get into the logs.
        $safe = preg_replace(['/\b(whsec_|svc_(?:test|live)_)\S+/', '/\+?\b\d{9,15}\b/'], ['$1…', '…'], $text);
        wc_get_logger()->log($level, (string) $safe, ['source' => 'gatehouse']);
    }
}
