<?php

declare(strict_types=1);

namespace Automattic\WooCommerce\Blocks\Payments\Integrations {
    abstract class AbstractPaymentMethodType
    {
        protected $name = '';
        protected $settings = [];

        abstract public function is_active();
    }
}

namespace Automattic\WooCommerce\Utilities {
    final class FeaturesUtil
    {
        /** @var list<string> */
        public static array $declared = [];

        public static function declare_compatibility(string $feature, string $file, bool $isCompatible): void
        {
            if ($isCompatible && is_file($file)) {
                self::$declared[] = $feature;
            }
        }
    }
}
