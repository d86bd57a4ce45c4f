import type { KeyObject } from 'node:crypto';
import { callbackExchange } from '../connector/callback-exchange.ts';
import type { CallbackHint, CallbackRequest } from '../connector/wallet-connector.ts';
import { verifyMessage } from './signature.ts';
import { parseJson } from '../../platform/parse-json.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a notification: JSON, a form, or a form whose only field has the whole JSON as its name. Its signature is checked, but
 * even a valid signature only causes a query. A notification without one is recorded as such, and announces nothing.
 */
export function readNotification(
  callback: CallbackRequest,
  key: KeyObject,
  secrets: readonly string[],
): CallbackHint {
  const fields = readFields(Buffer.from(callback.body).toString('utf8'));
  const isSigned = fields !== undefined && verifyMessage(fields, key) !== undefined;
  const problem =
    fields === undefined
      ? 'the notification is neither JSON nor a form'
      : isSigned
        ? undefined
        : 'the signature is missing or not valid';
  return {
    queryNow: true,
    announced: fields === undefined ? 'unreadable' : isSigned ? announcedBy(fields) : 'other',
    reply: { status: 200, body: '{"code":0,"msg":"success"}' },
    exchange: callbackExchange(callback, secrets, problem),
  };
}

function announcedBy(fields: Fields): CallbackHint['announced'] {
  const told = fields['trade_status'];
  const status = typeof told === 'string' ? told.toUpperCase() : '';
  if (status === 'COMPLETED' || status === 'PAY_SUCCESS') return 'completed';
  return status === 'FAILURE' || status === 'PAY_FAILED' ? 'failed' : 'other';
}

function readFields(body: string): Fields | undefined {
  const json = parseObject(body);
  if (json !== undefined) return json;
  const form = [...new URLSearchParams(body)];
  const [only] = form;
  if (form.length === 1 && only !== undefined) {
    // The form is split at the first "=", which may be the padding of the signature within the JSON.
    const whole = parseObject(only[0]) ?? parseObject(only[1] === '' ? only[0] : `${only[0]}=${only[1]}`);
    if (whole !== undefined) return whole;
  }
  return form.some(([name]) => name === 'merch_order_id') ? Object.fromEntries(form) : undefined;
}

function parseObject(text: string): Fields | undefined {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}
