<?php

declare(strict_types=1);

namespace Gatehouse\WooCommerce;

use Gatehouse\WooCommerce\Client\Environment;
use Gatehouse\WooCommerce\Client\Error\ApiError;
use Gatehouse\WooCommerce\Client\Error\ConfigurationError;
use Gatehouse\WooCommerce\Client\Error\GatehouseError;
use Gatehouse\WooCommerce\Client\Error\InvalidRequestError;
use Gatehouse\WooCommerce\Client\Error\NotFoundError;
use Gatehouse\WooCommerce\Client\Error\ServerError;
use Gatehouse\WooCommerce\Client\Error\TooManyRequestsError;
use Gatehouse\WooCommerce\Client\OrderStatus;
use Gatehouse\WooCommerce\Client\PaymentOrder;

/** Payments of WooCommerce orders. Of all attempts to pay an order, at most one is open at a time in each environment. */
final class Payments
{
    private const UNKNOWN_AFTER_SECONDS = 600;

    /** @param int $retries how often a request is repeated that got no answer */
    public function __construct(private readonly Settings $settings, private readonly int $retries = Settings::RETRIES)
    {
    }

    /**
     * Gives the URL to which the customer is redirected. It is the checkout page of the gateway, or the page of the order if it needs no
     * payment any more.
     *
     * @throws PaymentRefused with a message for the customer
     */
    public function start(int $orderId): string
    {
        try {
            $url = OrderLock::hold($orderId, $this->startLocked(...));
        } catch (OrderBusy $error) {
            Log::error("The payment of order $orderId did not start", $error);
            throw new PaymentRefused(
                __('Your order is being processed. Wait a few seconds and try again.', 'gatehouse-for-woocommerce'),
            );
        } catch (PaymentNotKept $error) {
            Log::error("The payment of order $orderId did not start", $error);
            throw new PaymentRefused(
                __('Your payment has arrived. The shop checks it before it processes your order. Do not pay again.', 'gatehouse-for-woocommerce'),
            );
        }
        return $url ?? throw new PaymentRefused(__('This order does not exist.', 'gatehouse-for-woocommerce'));
    }

    /**
     * Asks the gateway for the outcome of the attempts that can still pay the order. Gives the order as it is afterwards.
     *
     * @throws GatehouseError|PaymentRefused the first one, after all attempts were asked for
     */
    public function ask(int $orderId): ?\WC_Order
    {
        return OrderLock::hold($orderId, function (\WC_Order $order): \WC_Order {
            $failure = null;
            foreach (Attempts::of($order)->payable($this->settings->environment()) as $attempt) {
                try {
                    if ($this->askFor($order, $attempt) === null) {
                        $this->takeUpUnknown($order, $attempt);
                    }
                } catch (GatehouseError | PaymentRefused $error) {
                    $failure ??= $error;
                }
            }
            return $failure === null ? $order : throw $failure;
        });
    }

    /**
     * Applies what the gateway says of an attempt. What is final stays: an attempt that has ended is not changed again, so
     * repeats and older news have no effect. Only money that arrives all the same is noted, such as money that a restored
     * gateway finds. The order is locked.
     */
    public function apply(\WC_Order $order, PaymentOrder $found, Environment $environment): void
    {
        $attempts = Attempts::of($order);
        $isPaid = $found->status === OrderStatus::Completed;
        $attempt = $attempts->find($found->order_number, $environment);
        if ($attempt === null) {
            Log::warning("Order {$order->get_id()} knows no payment $found->order_number in the $environment->value");
            if (!$isPaid || $attempts->has($found->order_number) || !$attempts->isOwn($found->order_number)) {
                return;
            }
            // The database of the shop may be older than the attempt.
            $attempt = new Attempt($found->order_number, $environment, $found->amount, $found->currency, time(), status: Attempt::REJECTED);
        }
        $isExpected = $attempt->isOpen();
        if ($found->status === OrderStatus::Pending || (!$isExpected && !($isPaid && $attempt->status !== Attempt::PAID))) {
            return;
        }
        $isLast = $attempts->last()?->number === $attempt->number;
        $attempts->put($attempt->withStatus($found->status->value, $found->order_id));
        Log::info("Payment $found->order_number of order {$order->get_id()} is {$found->status->value}");
        if ($isPaid) {
            $this->applyPaid($order, $attempt, $found, $isExpected);
            return;
        }
        $hasFailed = $found->status === OrderStatus::Failed;
        /* translators: %s: the order number at the gateway */
        $failed = __('Gatehouse: payment %s failed. Nothing was paid. The customer can try again.', 'gatehouse-for-woocommerce');
        /* translators: %s: the order number at the gateway */
        $expired = __('Gatehouse: the time to pay for payment %s is over. Nothing was paid by it.', 'gatehouse-for-woocommerce');
        $note = $this->say($hasFailed ? $failed : $expired, $attempt->number);
        if ($hasFailed && $isLast && $order->has_status('pending')) {
            $order->update_status('failed', $note);
        } else {
            $order->add_order_note($note);
            $order->save();
        }
    }

    /** @param bool $isExpected whether the attempt was open */
    private function applyPaid(\WC_Order $order, Attempt $attempt, PaymentOrder $found, bool $isExpected): void
    {
        $money = "$found->deducted $found->currency";
        if (!$attempt->counts($this->settings->environment())) {
            /* translators: %s: an amount with its currency */
            $note = __('Gatehouse: a test payment of %s arrived after the shop went live. It is no money, and was ignored.', 'gatehouse-for-woocommerce');
            $order->add_order_note($this->say($note, $money));
            $order->save();
            return;
        }
        // An order can be on hold because of its first payment.
        if ($order->is_paid() || ($order->has_status('on-hold') && Attempts::of($order)->paid() !== null)) {
            if ($order->get_transaction_id() !== $found->order_id) {
                /* translators: 1: an amount with its currency, 2: the order number at the gateway */
                $note = __('Gatehouse: a second payment of %1$s arrived (%2$s), although this order is paid. Return it in the dashboard of the gateway.', 'gatehouse-for-woocommerce');
                $order->add_order_note($this->say($note, $money, $attempt->number));
                Log::warning("Order {$order->get_id()} was paid twice: $attempt->number");
            }
            $order->save();
            return;
        }
        /* translators: 1: an amount with its currency, 2: the order number at the gateway */
        $surprise = __('Gatehouse: %1$s was paid by payment %2$s, which the shop did not expect any more. Compare it with the order before you fulfil the order.', 'gatehouse-for-woocommerce');
        $doubt = $isExpected ? $this->doubtIn($order, $attempt, $found) : $this->say($surprise, $money, $attempt->number);
        if ($doubt === null) {
            // Another plugin may prevent it, and WooCommerce does nothing with an order of a status that it does not expect. Then
            // nothing is saved, so the gateway must report the payment again.
            if (!$order->payment_complete($found->order_id) || $order->get_transaction_id() !== $found->order_id) {
                throw new PaymentNotKept("WooCommerce could not mark order {$order->get_id()} as paid: see the notes of the order");
            }
            /* translators: 1: an amount with its currency, 2: the order number at the gateway */
            $note = __('Gatehouse: %1$s paid (%2$s).', 'gatehouse-for-woocommerce');
            $order->add_order_note($this->say($note, $money, $attempt->number));
            return;
        }
        $order->set_transaction_id($found->order_id);
        $order->update_status('on-hold', $doubt);
        Log::warning("Order {$order->get_id()} is on hold: $doubt");
    }

    /** Why the money needs a person's decision; null when the order is simply paid. */
    private function doubtIn(\WC_Order $order, Attempt $attempt, PaymentOrder $found): ?string
    {
        $asked = "$attempt->amount $attempt->currency";
        $isWhole = Amount::isSame($found->amount, $attempt->amount) && Amount::isSame($found->deducted, $attempt->amount);
        if (!$isWhole || $found->currency !== $attempt->currency) {
            /* translators: 1: the paid amount, 2: the amount that was asked for */
            $text = __('Gatehouse: %1$s was paid, but %2$s was asked for. Compare them before you fulfil the order.', 'gatehouse-for-woocommerce');
            return $this->say($text, "$found->deducted $found->currency", $asked);
        }
        if (!Amount::isSame(Amount::of($order->get_total()), $attempt->amount) || $order->get_currency() !== $attempt->currency) {
            /* translators: %s: the paid amount */
            $text = __('Gatehouse: %s was paid, but the total of the order has changed since the payment started. Compare them before you fulfil the order.', 'gatehouse-for-woocommerce');
            return $this->say($text, $asked);
        }
        if (!$order->has_status(['pending', 'on-hold', 'failed', 'checkout-draft'])) {
            /* translators: 1: the paid amount, 2: the status of the order */
            $text = __('Gatehouse: %1$s was paid after the order got the status "%2$s". Check the stock. Then fulfil the order, or refund the payment.', 'gatehouse-for-woocommerce');
            return $this->say($text, $asked, wc_get_order_status_name($order->get_status()));
        }
        return null;
    }

    private function startLocked(\WC_Order $order): string
    {
        $environment = $this->settings->environment();
        // An attempt of the other environment takes no part: its gateway may not exist any more.
        $open = Attempts::of($order)->open($environment);
        try {
            if ($open !== null) {
                $found = $this->askFor($order, $open);
                $open = Attempts::of($order)->open($environment);
                if ($open !== null && $found !== null) {
                    return $this->continue($order, $open);
                }
            }
            if ($order->is_paid() || $order->has_status(['on-hold', 'cancelled', 'refunded'])) {
                return $order->get_checkout_order_received_url();
            }
            return $this->register($order, $this->newAttempt($order, $environment, $open));
        } catch (GatehouseError $error) {
            Log::error("The payment of order {$order->get_id()} did not start", $error);
            throw new PaymentRefused($this->adviceFor($error));
        }
    }

    /** Leads the customer to the attempt that is open already. A second one could take the money twice. */
    private function continue(\WC_Order $order, Attempt $attempt): string
    {
        $isSame = Amount::isSame($attempt->amount, Amount::of($order->get_total()));
        if (!$isSame || $attempt->currency !== $order->get_currency()) {
            throw new PaymentRefused($this->say(
                /* translators: %s: an amount with its currency */
                __('A payment of %s for this order is still open. Complete it, or try again after half an hour.', 'gatehouse-for-woocommerce'),
                "$attempt->amount $attempt->currency",
            ));
        }
        // With fields, the answer to the registration was lost. The same registration gives the URL.
        return $attempt->fields === [] && $attempt->checkoutUrl !== '' ? $attempt->checkoutUrl : $this->register($order, $attempt);
    }

    /** @param Attempt|null $unknown an open attempt that the gateway does not know. It is sent again */
    private function newAttempt(\WC_Order $order, Environment $environment, ?Attempt $unknown): Attempt
    {
        $number = $unknown?->number ?? Attempts::of($order)->nextNumber();
        $amount = Amount::of($order->get_total());
        $attempt = new Attempt($number, $environment, $amount, $order->get_currency(), time(), $unknown?->checkoutUrl ?? '');
        return $attempt->withFields($this->fieldsOf($order, $attempt));
    }

    /**
     * The registration of an attempt.
     *
     * @return array<string, string>
     * @throws PaymentRefused without a phone number
     */
    private function fieldsOf(\WC_Order $order, Attempt $attempt): array
    {
        $phone = preg_replace('/[\s().\/-]+/', '', $order->get_billing_phone()) ?? '';
        $phone = str_starts_with($phone, '00') ? '+' . substr($phone, 2) : $phone;
        if ($phone === '') {
            throw new PaymentRefused(
                __('Enter your phone number: the payment is made with it.', 'gatehouse-for-woocommerce'),
            );
        }
        /* translators: 1: the number of the order, 2: the name of the shop */
        $reason = $this->say(__('Order %1$s at %2$s', 'gatehouse-for-woocommerce'), $order->get_order_number(), wp_specialchars_decode(get_bloginfo('name'), ENT_QUOTES));
        return [
            'order_number' => $attempt->number,
            'return_url' => esc_url_raw($order->get_checkout_order_received_url()),
            'webhook_url' => WebhookRoute::url(),
            'amount' => $attempt->amount,
            'currency' => $attempt->currency,
            'reason' => mb_substr(trim(preg_replace('/[\p{C}\s]+/u', ' ', $reason) ?? ''), 0, 255),
            'customer_phone' => $phone,
        ];
    }

    /** Stores the attempt before the gateway hears of it, so that a lost answer does not lose the payment. */
    private function register(\WC_Order $order, Attempt $attempt): string
    {
        $attempts = Attempts::of($order);
        $attempts->put($attempt);
        $order->save();
        try {
            $client = $this->settings->client($attempt->environment, $this->retries);
            $registered = $client->register(...$attempt->fields, idempotencyKey: $attempt->number);
        } catch (ApiError | ConfigurationError $error) {
            // After a 5xx, or a 429 to a repeat, the gateway may have registered it.
            if (!$error instanceof ServerError && !$error instanceof TooManyRequestsError) {
                $attempts->put($attempt->withStatus(Attempt::REJECTED));
                $order->save();
            }
            throw $error;
        }
        $attempts->put($attempt->withCheckoutUrl($registered->checkout_url));
        $order->save();
        Log::info("Payment $attempt->number of order {$order->get_id()} is registered in the {$attempt->environment->value}");
        return $registered->checkout_url;
    }

    /** @return PaymentOrder|null null when the gateway knows no such order */
    private function askFor(\WC_Order $order, Attempt $attempt): ?PaymentOrder
    {
        try {
            $found = $this->settings->client($attempt->environment, $this->retries)->verify($attempt->number);
        } catch (NotFoundError $error) {
            return $error->isUnknownNumber() ? null : throw $error;
        }
        $this->apply($order, $found, $attempt->environment);
        return $found;
    }

    /** Decides about an attempt that the gateway does not know. */
    private function takeUpUnknown(\WC_Order $order, Attempt $attempt): void
    {
        if ($attempt->checkoutUrl !== '') {
            // The gateway knew it, and has lost it in a restore. The customer may have paid it. The same registration finds that.
            $this->register($order, $attempt->fields === [] ? $attempt->withFields($this->fieldsOf($order, $attempt)) : $attempt);
        } elseif (time() - $attempt->createdAt > self::UNKNOWN_AFTER_SECONDS) {
            // Whatever was on its way to the gateway has arrived by now, or never will.
            Attempts::of($order)->put($attempt->withStatus(Attempt::REJECTED));
            $order->save();
        }
    }

    private function adviceFor(GatehouseError $error): string
    {
        $fields = $error instanceof InvalidRequestError ? array_column($error->details, 'field') : [];
        return in_array('customer_phone', $fields, true)
            ? __('The phone number is not valid. Enter it like 0911223344, or with the code of your country like +251911223344.', 'gatehouse-for-woocommerce')
            : __('The payment could not start, and nothing was paid. Try again in a minute, or choose another way to pay.', 'gatehouse-for-woocommerce');
    }

    private function say(string $text, string ...$values): string
    {
        return sprintf($text, ...$values);
    }
}
