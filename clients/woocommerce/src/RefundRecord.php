<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\RefundStatus;

/** A refund at the gateway. */
final class RefundRecord
{
    /** The gateway was asked, and its answer was lost. */
    public const UNKNOWN = 'UNKNOWN';
    /** The gateway did not accept the refund. */
    public const REJECTED = 'REJECTED';

    /**
     * @param string $number the refund number at the gateway
     * @param string $status UNKNOWN, REJECTED, PENDING, COMPLETED or FAILED
     * @param int $wcRefundId the refund in WooCommerce; 0 when there is none
     * @param int $sentAt when the gateway was asked last, in seconds since 1970; 0 for a refund made elsewhere
     * @param bool $mustBeTold the refund was made although its answer was lost, and nobody was told yet
     */
    public function __construct(
        public readonly string $number,
        public readonly string $amount,
        public readonly string $reason,
        public readonly string $status = self::UNKNOWN,
        public readonly int $wcRefundId = 0,
        public readonly int $sentAt = 0,
        public readonly bool $mustBeTold = false,
    ) {
    }

    /**
     * A record as it is stored. A newer version of the plugin, which was installed before, may have added values.
     *
     * @param array<string, mixed> $stored
     */
    public static function ofStored(array $stored): self
    {
        return new self(...array_intersect_key($stored, get_class_vars(self::class)));
    }

    public function isOpen(): bool
    {
        return $this->status === self::UNKNOWN || $this->status === 'PENDING';
    }

    /** Whether the wallet has decided the refund. A REJECTED one may be decided nevertheless, if its request arrived late. */
    public function hasOutcome(): bool
    {
        return $this->status === RefundStatus::Completed->value || $this->status === RefundStatus::Failed->value;
    }

    public function with(string $status, ?int $wcRefundId = null): self
    {
        return new self(...[
            ...get_object_vars($this),
            'status' => $status,
            'wcRefundId' => $wcRefundId ?? $this->wcRefundId,
        ]);
    }

    public function sentNow(int $wcRefundId): self
    {
        return new self(...[
            ...get_object_vars($this),
            'status' => self::UNKNOWN,
            'wcRefundId' => $wcRefundId,
            'sentAt' => time(),
        ]);
    }

    public function told(bool $isTold): self
    {
        return new self(...[...get_object_vars($this), 'mustBeTold' => !$isTold]);
    }
}
