<?php

declare(strict_types=1);

/** Loads what the tests need: what Composer has installed in `vendor`, or else Debian's packages. */
$installed = __DIR__ . '/../vendor/autoload.php';
if (is_file($installed)) {
    require_once $installed;
} else {
    $packages = ['GuzzleHttp', 'GuzzleHttp/Psr7', 'Nyholm/Psr7', 'Psr/Http/Client', 'Symfony/Component/HttpClient'];
    foreach ($packages as $package) {
        require_once "/usr/share/php/$package/autoload.php";
    }
    spl_autoload_register(function (string $class): void {
        $prefix = 'Gatehouse\\Client\\';
        if (!str_starts_with($class, $prefix) || str_starts_with($class, $prefix . 'Tests\\')) {
            return;
        }
        $file = __DIR__ . '/../src/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (is_file($file)) {
            require_once $file;
        }
    });
}
require_once __DIR__ . '/Site.php';
