<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

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
     */
    public function __construct(
        public readonly string $number,
        public readonly string $amount,
        public readonly string $reason,
        public readonly string $status = self::UNKNOWN,
        public readonly int $wcRefundId = 0,
    ) {
    }

    public function isOpen(): bool
    {
        return $this->status === self::UNKNOWN || $this->status === 'PENDING';
    }

    public function with(string $status, ?int $wcRefundId = null): self
    {
        return new self($this->number, $this->amount, $this->reason, $status, $wcRefundId ?? $this->wcRefundId);
    }
}
