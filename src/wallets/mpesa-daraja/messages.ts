import { Type } from '@sinclair/typebox';
import { receiptForm } from './daraja-capabilities.ts';

// The schemas of received messages contain only the properties that we use. M-Pesa may omit or add others.

const Id = Type.String({ minLength: 1, maxLength: 64, pattern: '^[\\x21-\\x7e]+$' });
/** Some codes are text in one message and a number in another. */
const Code = Type.Union([Type.String({ maxLength: 32 }), Type.Number()]);

/** The answer of the token endpoint. `expires_in` is text in most answers. */
export const tokenAnswerSchema = Type.Object({
  access_token: Type.String({ minLength: 1, maxLength: 4096, pattern: '^[\\x21-\\x7e]+$' }),
  expires_in: Type.Optional(
    Type.Union([Type.String({ pattern: '^[0-9]{1,9}$' }), Type.Number({ minimum: 0, maximum: 1e9 })]),
  ),
});

/** The acknowledgement of a payment request. */
export const pushAnswerSchema = Type.Object({
  MerchantRequestID: Id,
  CheckoutRequestID: Id,
  ResponseCode: Code,
});

/** The answer to a query of a payment request. */
export const pushStateSchema = Type.Object({
  CheckoutRequestID: Id,
  ResultCode: Code,
  ResultDesc: Type.Optional(Type.String()),
});

/** The acknowledgement of a request whose result comes by callback. Samples of the portal swap its two ids. */
export const conversationSchema = Type.Object({
  OriginatorConversationID: Id,
  ConversationID: Type.Optional(Id),
  ResponseCode: Code,
});

/** The callback of a payment request. */
export const pushCallbackSchema = Type.Object({
  Body: Type.Object({
    stkCallback: Type.Object({
      CheckoutRequestID: Id,
      ResultCode: Code,
      CallbackMetadata: Type.Optional(
        Type.Object({
          Item: Type.Array(Type.Object({ Name: Type.String(), Value: Type.Optional(Type.Unknown()) }), {
            maxItems: 50,
          }),
        }),
      ),
    }),
  }),
});

const ResultParameter = Type.Object({ Key: Type.String(), Value: Type.Optional(Type.Unknown()) });

/** The result of a status query or of a reversal, sent to our ResultURL. */
export const resultCallbackSchema = Type.Object({
  Result: Type.Object({
    ResultCode: Code,
    OriginatorConversationID: Type.Optional(Id),
    ConversationID: Type.Optional(Id),
    TransactionID: Type.Optional(Type.String({ maxLength: 64 })),
    ResultParameters: Type.Optional(
      Type.Object({
        // A single parameter may come without its array.
        ResultParameter: Type.Union([Type.Array(ResultParameter, { maxItems: 100 }), ResultParameter]),
      }),
    ),
  }),
});

export const isReceipt = (text: string): boolean => receiptForm.pattern.test(text);
