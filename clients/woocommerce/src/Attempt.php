<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Environment;

/** A registration of a WooCommerce order at the gateway. */
final class Attempt
{
    /** The gateway has refused the registration, so nobody should be able to pay it. */
    public const REJECTED = 'REJECTED';
    public const OPEN = 'PENDING';
    public const PAID = 'COMPLETED';

    /**
     * @param string $number the order number at the gateway
     * @param string $checkoutUrl empty until the gateway has given it
     * @param string $status PENDING, COMPLETED, FAILED, EXPIRED or REJECTED
     * @param string $gatewayId the gateway's id of the order; empty until it is paid
     * @param array<string, string> $fields the registration, until the gateway has answered: a repeat sends the same
     */
    public function __construct(
        public readonly string $number,
        public readonly Environment $environment,
        public readonly string $amount,
        public readonly string $currency,
        public readonly int $createdAt,
        public readonly string $checkoutUrl = '',
        public readonly string $status = self::OPEN,
        public readonly string $gatewayId = '',
        public readonly array $fields = [],
    ) {
    }

    public function isOpen(): bool
    {
        return $this->status === self::OPEN;
    }

    /** Whether it can still pay an order of a shop in this environment. A test payment never pays an order of a live shop. */
    public function counts(Environment $shop): bool
    {
        return $this->environment === Environment::Production || $shop === Environment::Sandbox;
    }

    /** @param array<string, string> $fields */
    public function withFields(array $fields): self
    {
        return new self(...[...get_object_vars($this), 'fields' => $fields]);
    }

    public function withCheckoutUrl(string $url): self
    {
        return new self(...[...get_object_vars($this), 'checkoutUrl' => $url, 'fields' => []]);
    }

    public function withStatus(string $status, string $gatewayId = ''): self
    {
        return new self(...[
            ...get_object_vars($this),
            'status' => $status,
            'gatewayId' => $gatewayId,
            'checkoutUrl' => '',
            'fields' => [],
        ]);
    }

    /** @return array<string, mixed> */
    public function toArray(): array
    {
        return [...get_object_vars($this), 'environment' => $this->environment->value];
    }

    /**
     * An attempt as it is stored. A newer version of the plugin, which was installed before, may have added values.
     *
     * @param array<string, mixed> $stored
     */
    public static function of(array $stored): self
    {
        $known = array_intersect_key($stored, get_class_vars(self::class));
        return new self(...[...$known, 'environment' => Environment::from($stored['environment'])]);
    }
}
