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

    /** The attempt of an environment that is open. There is at most one. */
    public function open(Environment $environment): ?Attempt
    {
        foreach (array_reverse($this->attempts) as $attempt) {
            if ($attempt->isOpen() && $attempt->environment === $environment) {
                return $attempt;
            }
        }
        return null;
    }

    /** @return list<Attempt> those that are open, and whose payment pays an order of a shop in this environment */
    public function payable(Environment $shop): array
    {
        return array_values(array_filter($this->attempts, fn (Attempt $each) => $each->isOpen() && $each->counts($shop)));
    }

    /** Whether money of an attempt has arrived. */
    public function hasMoney(Environment $shop): bool
    {
        $paid = fn (Attempt $each) => $each->status === Attempt::PAID && $each->counts($shop);
        return array_filter($this->attempts, $paid) !== [];
    }

    public function find(string $number, Environment $environment): ?Attempt
    {
        $attempt = $this->attempts[$number] ?? null;
        return $attempt?->environment === $environment ? $attempt : null;
    }

    /** Whether there is an attempt with this number in any environment. */
    public function has(string $number): bool
    {
        return isset($this->attempts[$number]);
    }

    /** The attempt that paid the order. A second payment of the order is none, and neither is an ignored test payment. */
    public function paid(): ?Attempt
    {
        foreach ($this->attempts as $attempt) {
            if ($attempt->status === Attempt::PAID && $attempt->gatewayId === $this->order->get_transaction_id()) {
                return $attempt;
            }
        }
        return null;
    }

    /** @return list<Attempt> */
    public function all(): array
    {
        return array_values($this->attempts);
    }

    public function put(Attempt $attempt): void
    {
        $this->attempts[$attempt->number] = $attempt;
        $stored = array_map(fn (Attempt $each) => $each->toArray(), $this->all());
        $this->order->update_meta_data(self::META, $stored);
    }

    /**
     * The number of the next attempt. It follows from the order alone. Two tabs that start a payment at the same time get the same number,
     * so the gateway registers one order.
     */
    public function nextNumber(): string
    {
        $next = count($this->attempts) + 1;
        // An attempt that the gateway reported may be further on.
        while (isset($this->attempts[$this->numberOf($next)])) {
            $next++;
        }
        return $this->numberOf($next);
    }

    /** Whether this shop chose an order number at the gateway for this order. */
    public function isOwn(string $number): bool
    {
        return str_starts_with($number, $this->numberOf('')) && self::orderIdOf($number) === $this->order->get_id();
    }

    private function numberOf(int|string $attempt): string
    {
        return sprintf('wc-%s-%d-%s', self::site(), $this->order->get_id(), $attempt);
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
