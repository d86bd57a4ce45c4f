import type { Payment } from '../payment.ts';
import { birr, noticeStatus } from './orders.ts';
import { signFields, signType } from './signing.ts';
import type { Telebirr } from './telebirr-state.ts';

/** A notification of a payment's end. An armed fault changes its form. */
export function notification(
  { context, credentials, takeFault }: Pick<Telebirr, 'context' | 'credentials' | 'takeFault'>,
  payment: Payment,
  tells: 'truth' | 'failure' | 'forged',
): { readonly contentType: string; readonly body: string } {
  const status = { truth: noticeStatus(payment), failure: 'Failure', forged: 'Completed' }[tells];
  const at = payment.endedAt ?? context.now();
  const { callback_info: info } = payment.details;
  const fields = {
    notify_url: payment.callbackUrl,
    appid: credentials.merchantAppId,
    notify_time: String(context.now().getTime()),
    merch_code: credentials.merchantCode,
    merch_order_id: payment.requestId,
    payment_order_id: String(payment.details['payment_order_id']),
    total_amount: birr(payment.amount),
    ...(status === 'Completed' ? { trans_id: payment.reference } : {}),
    trans_currency: payment.currency,
    trade_status: status,
    trans_end_time: String(at.getTime()),
    ...(typeof info === 'string' ? { callback_info: info } : {}),
  };
  const signature = signFields(fields, credentials.telebirrPrivateKey);
  const signed = {
    ...fields,
    sign: tells === 'forged' ? Buffer.alloc(256, 7).toString('base64') : signature,
    sign_type: signType,
  };
  const form = 'application/x-www-form-urlencoded';
  if (takeFault('notification_as_form')) {
    return { contentType: form, body: new URLSearchParams(signed as Record<string, string>).toString() };
  }
  if (takeFault('notification_as_field_name')) {
    return { contentType: form, body: `${encodeURIComponent(JSON.stringify(signed))}=` };
  }
  return { contentType: 'application/json', body: JSON.stringify(signed) };
}
