<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** A webhook. New types may be added: ignore unknown ones. */
final class WebhookEvent
{
    /**
     * @param string $id the same in every repeat
     * @param string $type such as order.completed, payment_link.created or refund.failed
     * @param PaymentOrder|Refund|array<mixed> $data an array with the JSON, if this version does not know the type
     * @param int $sequence the number of the event among all events of its order: it only grows
     */
    public function __construct(
        public readonly string $id,
        public readonly string $type,
        public readonly string $created_at,
        public readonly Environment $environment,
        public readonly int $sequence,
        public readonly string $previous_status,
        public readonly PaymentOrder|Refund|array $data,
    ) {
    }

    /** @internal */
    public static function of(Fields $fields): self
    {
        $data = $fields->object('data');
        return new self(
            $fields->text('id'),
            $fields->text('type'),
            $fields->text('created_at'),
            Environment::from($fields->text('environment')),
            $fields->number('sequence'),
            $fields->text('previous_status'),
            match ($fields->text('type')) {
                'order.completed', 'order.failed', 'order.expired', 'webhook.test',
                'payment_link.created', 'payment_link.completed', 'payment_link.failed', 'payment_link.expired' => PaymentOrder::of($data),
                'refund.completed', 'refund.failed' => Refund::of($data),
                default => $data->all(),
            },
        );
    }
}
