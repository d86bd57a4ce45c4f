import { parseAmount } from '../amount.ts';
import { standardDelaysMs } from '../delays.ts';
import type { Payment } from '../payment.ts';
import { FabricError } from './fabric-error.ts';
import type { Fields } from './signing.ts';
import type { Telebirr } from './telebirr-state.ts';

/** The receipts of telebirr are ten letters and digits. */
export const newReceipt = (randomBytes: (count: number) => Buffer): string =>
  randomBytes(8)
    .toString('base64url')
    .replace(/[^A-Za-z0-9]/g, '0')
    .toUpperCase()
    .slice(0, 10);

/** @throws FabricError */
export function preOrder({ context, payments }: Telebirr, content: Fields): Payment {
  const { randomBytes, now, delaysMs } = context;
  const requestId = String(content['merch_order_id']);
  // telebirr does not document this case. The refusal makes a client that repeats an order fail.
  if (payments.find('payment', requestId) !== undefined) {
    throw new FabricError(299, '60310003', 'merch_order_id is duplicated');
  }
  const timeout = textOf(content['timeout_express']) ?? '120m';
  const minutes = Math.min(120, Math.max(1, Number.parseInt(timeout, 10)));
  const timeScale = delaysMs.promptExpiry / standardDelaysMs.promptExpiry;
  const amount = parseAmount(String(content['total_amount']));
  if (amount <= 0n) throw new FabricError(400, '49401024995', 'parameter type mismatch [total_amount]');
  const { redirect_url: redirectUrl, callback_info: info } = content;
  const payment = payments.open({
    kind: 'payment',
    requestId,
    reference: newReceipt(randomBytes),
    payer: '',
    amount,
    currency: 'ETB',
    description: String(content['title']),
    channel: 'page',
    merchantReference: requestId,
    callbackUrl: String(content['notify_url']),
    details: {
      prepay_id: randomBytes(19).toString('hex'),
      payment_order_id: randomBytes(12).readBigUInt64BE().toString().slice(0, 18),
      timeout_express: timeout,
      ...(typeof redirectUrl === 'string' && redirectUrl !== '' ? { redirect_url: redirectUrl } : {}),
      ...(typeof info === 'string' ? { callback_info: info } : {}),
    },
    expiresAt: new Date(now().getTime() + minutes * 60_000 * timeScale),
    awaitsPerson: true,
  });
  payments.scheduleOutcome(payment);
  return payment;
}

/** @throws FabricError */
export function findOrder({ payments }: Telebirr, content: Fields): Payment {
  const prepayId = textOf(content['prepay_id']);
  const found =
    payments.find('payment', textOf(content['merch_order_id']) ?? '') ??
    (prepayId === undefined ? undefined : payments.findByDetail('prepay_id', prepayId));
  if (found !== undefined) return found;
  throw new FabricError(299, '60330006', 'The order was not found.');
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
