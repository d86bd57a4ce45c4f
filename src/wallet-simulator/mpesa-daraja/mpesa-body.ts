import { MpesaRefusal, badField } from './mpesa-reply.ts';
import { parseJson } from '../../platform/parse-json.ts';

/** The body of a request: an object whose fields are texts or numbers. */
export type MpesaBody = Readonly<Record<string, unknown>>;

/** @throws MpesaRefusal unless the text is a JSON object */
export function parseBody(text: string): MpesaBody {
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new MpesaRefusal(400, '400.002.05', 'Invalid Request Payload');
}

/** The text of a field, which may be sent as a number; empty when it is absent. */
export function textOf(body: MpesaBody, field: string): string {
  const value = body[field];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** @throws MpesaRefusal when the field does not match */
export function required(body: MpesaBody, field: string, pattern: RegExp): string {
  const text = textOf(body, field);
  if (!pattern.test(text)) throw badField(field);
  return text;
}

/** Words that M-Pesa refuses in URLs. */
const refusedWords = /mpesa|m-pesa|safaricom|exec?|cmd|sql|query/i;

/** The URL of a field. @throws MpesaRefusal when it is none, or contains a word that M-Pesa refuses */
export function requiredUrl(body: MpesaBody, field: string): string {
  const text = textOf(body, field);
  if (!URL.canParse(text) || !/^https?:/i.test(text) || refusedWords.test(text)) throw badField(field);
  return text;
}
