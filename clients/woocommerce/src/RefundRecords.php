<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

/** The refunds of a WooCommerce order at the gateway. They are stored with the order, and saved by `$order->save()`. */
final class RefundRecords
{
    private const META = '_gatehouse_refunds';

    /** @param array<string, RefundRecord> $records by number, the oldest first */
    private function __construct(private readonly \WC_Order $order, private array $records)
    {
    }

    public static function of(\WC_Order $order): self
    {
        $stored = $order->get_meta(self::META);
        $records = [];
        foreach (is_array($stored) ? $stored : [] as $each) {
            $records[$each['number']] = RefundRecord::ofStored($each);
        }
        return new self($order, $records);
    }

    /** @return list<RefundRecord> */
    public function all(): array
    {
        return array_values($this->records);
    }

    public function find(string $number): ?RefundRecord
    {
        return $this->records[$number] ?? null;
    }

    public function findByWcRefund(int $wcRefundId): ?RefundRecord
    {
        foreach ($this->records as $record) {
            if ($record->wcRefundId === $wcRefundId) {
                return $record;
            }
        }
        return null;
    }

    /** The refund whose answer was lost. */
    public function unknown(): ?RefundRecord
    {
        foreach ($this->records as $record) {
            if ($record->status === RefundRecord::UNKNOWN) {
                return $record;
            }
        }
        return null;
    }

    /** A refund of this amount that was made, and of which nobody was told. */
    public function unannounced(string $amount): ?RefundRecord
    {
        foreach ($this->records as $record) {
            if ($record->mustBeTold && Amount::isSame($record->amount, $amount)) {
                return $record;
            }
        }
        return null;
    }

    public function nextNumber(string $attemptNumber): string
    {
        return sprintf('%s-r%d', $attemptNumber, count($this->records) + 1);
    }

    public function put(RefundRecord $record): void
    {
        $this->records[$record->number] = $record;
        $this->order->update_meta_data(self::META, array_map('get_object_vars', $this->all()));
    }
}
