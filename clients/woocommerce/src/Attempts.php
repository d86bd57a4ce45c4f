<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Environment;

/** The registrations of a WooCommerce order. They are stored with the order, and saved by `$order->save()`. */
final class Attempts
{
    private const META = '_gatehouse_attempts';
    private const SITE_OPTION = 'gatehouse_site';

    /** @param array<string, Attempt> $attempts by number, the oldest first */
    private function __construct(private readonly \WC_Order $order, private array $attempts)
    {
    }

    public static function of(\WC_Order $order): self
    {
        $stored = $order->get_meta(self::META);
        $attempts = [];
        foreach (is_array($stored) ? $stored : [] as $each) {
            $attempts[$each['number']] = Attempt::of($each);
        }
        return new self($order, $attempts);
    }

    public function last(): ?Attempt
    {
        return $this->attempts === [] ? null : $this->attempts[array_key_last($this->attempts)];
    }

    public function find(string $number, Environment $environment): ?Attempt
    {
        $attempt = $this->attempts[$number] ?? null;
        return $attempt?->environment === $environment ? $attempt : null;
    }

    /** The attempt that paid the order. */
    public function paid(): ?Attempt
    {
        $paid = array_filter($this->attempts, fn (Attempt $each) => $each->status === Attempt::PAID);
        foreach ($paid as $attempt) {
            if ($attempt->gatewayId === $this->order->get_transaction_id()) {
                return $attempt;
            }
        }
        return $paid === [] ? null : $paid[array_key_last($paid)];
    }

    /** @return list<Attempt> */
    public function all(): array
    {
        return array_values($this->attempts);
    }

    public function hasOpen(): bool
    {
        return array_filter($this->attempts, fn (Attempt $each) => $each->isOpen()) !== [];
    }

    public function put(Attempt $attempt): void
    {
        $this->attempts[$attempt->number] = $attempt;
        $stored = array_map(fn (Attempt $each) => $each->toArray(), $this->all());
        $this->order->update_meta_data(self::META, $stored);
    }

    /**
     * The number of the next attempt. It follows from the order alone: two tabs that start a payment at the same time get the
     * same number, so the gateway registers one order.
     */
    public function nextNumber(): string
    {
        return sprintf('wc-%s-%d-%d', self::site(), $this->order->get_id(), count($this->attempts) + 1);
    }

    /** The WooCommerce order that an order number at the gateway belongs to; null when this plugin did not choose it. */
    public static function orderIdOf(string $number): ?int
    {
        return preg_match('/^wc-[0-9a-f]{8}-([0-9]{1,18})-[0-9]+\z/', $number, $match) === 1 ? (int) $match[1] : null;
    }

    /** Differs between shops, and between a shop and a copy of it at another address. */
    private static function site(): string
    {
        $site = get_option(self::SITE_OPTION);
        if (!is_string($site) || $site === '') {
            add_option(self::SITE_OPTION, bin2hex(random_bytes(8)), '', false);
            $site = (string) get_option(self::SITE_OPTION);
        }
        return substr(hash('sha256', $site . home_url()), 0, 8);
    }
}
