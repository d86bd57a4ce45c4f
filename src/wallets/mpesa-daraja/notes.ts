import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { canonicalDecimal } from '../../contract/decimal-text.ts';
import { isReceipt, pushCallbackSchema, resultCallbackSchema } from './messages.ts';
import { parseJson } from '../../platform/parse-json.ts';

const Text = (maxLength = 64) => Type.String({ maxLength });
const Decimal = Type.String({ pattern: '^[0-9]{1,18}(\\.[0-9]{1,6})?$' });

/** The contents of the callback of a payment request. */
const pushNote = Type.Object(
  {
    about: Type.Literal('push'),
    checkout: Text(),
    code: Text(32),
    receipt: Type.Optional(Text(20)),
  },
  { additionalProperties: false },
);
export type PushNote = Static<typeof pushNote>;

/** The result of one of our queries or reversals. */
const resultNote = Type.Object(
  {
    about: Type.Literal('result'),
    /** Both conversation ids, in any order. */
    ids: Type.Array(Text(), { maxItems: 2 }),
    code: Text(32),
    /** The transaction of a reversal. */
    transaction: Type.Optional(Text(20)),
    /** The transaction that a status query found. */
    receipt: Type.Optional(Text(20)),
    status: Type.Optional(Text(32)),
    amount: Type.Optional(Decimal),
    /** The charge of the payer. */
    fee: Type.Optional(Decimal),
    /** The transaction that was reversed. */
    original: Type.Optional(Text(20)),
  },
  { additionalProperties: false },
);
export type ResultNote = Static<typeof resultNote>;

/** A confirmation of a payment that named the account reference of the attempt. */
const confirmationNote = Type.Object(
  { about: Type.Literal('confirmation'), code: Type.Literal('0'), receipt: Text(20) },
  { additionalProperties: false },
);
export type ConfirmationNote = Static<typeof confirmationNote>;

const noteSchema = Type.Union([pushNote, resultNote, confirmationNote]);
export type Note = PushNote | ResultNote | ConfirmationNote;

/** The callbacks of M-Pesa Ethiopia are inside an envelope. */
const envelope = Type.Object({ Envelope: Type.Unknown() });

/** The note of a callback of M-Pesa; undefined for any other message. */
export function noteOf(message: unknown): Note | undefined {
  const content = Value.Check(envelope, message) ? message.Envelope : message;
  const note = pushNoteOf(content) ?? resultNoteOf(content);
  return Value.Check(noteSchema, note) ? note : undefined;
}

export const writeNote = (note: Note): string => JSON.stringify(note);

/** The readable notes, in their order. */
export function readNotes(texts: readonly string[]): readonly Note[] {
  return texts.flatMap((text) => {
    const note = parseJson(text);
    return Value.Check(noteSchema, note) ? [note] : [];
  });
}

export const pushNotes = (notes: readonly Note[]): readonly PushNote[] =>
  notes.filter((note) => note.about === 'push');
export const resultNotes = (notes: readonly Note[]): readonly ResultNote[] =>
  notes.filter((note) => note.about === 'result');

/** The receipts that confirmations gave for the attempt. */
export const confirmedReceipts = (notes: readonly Note[]): readonly string[] =>
  notes.flatMap((note) => (note.about === 'confirmation' ? [note.receipt] : []));

function pushNoteOf(message: unknown): Note | undefined {
  if (!Value.Check(pushCallbackSchema, message)) return undefined;
  const {
    CheckoutRequestID: checkout,
    ResultCode: code,
    CallbackMetadata: metadata,
  } = message.Body.stkCallback;
  const receipt = metadata?.Item.find(({ Name }) => Name === 'MpesaReceiptNumber')?.Value;
  return {
    about: 'push',
    checkout,
    code: String(code),
    ...(typeof receipt === 'string' && isReceipt(receipt) ? { receipt } : {}),
  };
}

function resultNoteOf(message: unknown): Note | undefined {
  if (!Value.Check(resultCallbackSchema, message)) return undefined;
  const { Result: result } = message;
  const parameters = [result.ResultParameters?.ResultParameter ?? []].flat();
  const parameter = (key: string): string => {
    const value = parameters.find(({ Key }) => Key === key)?.Value;
    return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  };
  const receiptIn = (name: string, text: string) => (isReceipt(text) ? { [name]: text } : {});
  const decimalIn = (name: string, text: string) => {
    const decimal = canonicalDecimal(text);
    return decimal === undefined ? {} : { [name]: decimal };
  };
  const status = parameter('TransactionStatus');
  return {
    about: 'result',
    ids: [result.OriginatorConversationID ?? '', result.ConversationID ?? ''].filter((id) => id !== ''),
    code: String(result.ResultCode),
    ...receiptIn('transaction', result.TransactionID ?? ''),
    ...receiptIn('receipt', parameter('ReceiptNo')),
    ...receiptIn('original', parameter('OriginalTransactionID')),
    ...decimalIn('amount', parameter('Amount')),
    ...decimalIn('fee', parameter('DebitPartyCharges').split('|').at(-1) ?? ''),
    ...(status === '' ? {} : { status: status.slice(0, 32) }),
  };
}
