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

namespace Automattic\WooCommerce\Caches {
    /** The orders that this process has read. Another process that saves one does not change it. */
    final class OrderCache
    {
        /** @var array<int, \WC_Data> */
        private array $orders = [];

        public function get(int $id): ?\WC_Data
        {
            return isset($this->orders[$id]) ? clone $this->orders[$id] : null;
        }

        public function set(\WC_Data $order): void
        {
            $this->orders[$order->get_id()] = clone $order;
        }

        public function remove(int $id): bool
        {
            unset($this->orders[$id]);
            return true;
        }
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
