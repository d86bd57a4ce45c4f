import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * The unguessable part of the callback URLs of one wallet in one environment. It names the merchant, and proves that we
 * made it for this attempt or reversal at this wallet.
 */
export interface CallbackTokens {
  readonly make: (merchantId: string, requestId: string) => string;
  /** The merchant, or undefined when we did not make the token for this request. */
  readonly merchantOf: (requestId: string, token: string) => string | undefined;
}

/**
 * @param wallet the wallet's name in callback URLs, such as `walleta-sandbox`. The token of one wallet or environment is
 *   no token of another, whose operator may not be trusted with it.
 */
export function createCallbackTokens(key: Buffer, wallet: string): CallbackTokens {
  const macOf = (merchantId: string, requestId: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([wallet, merchantId, requestId]))
      .digest('base64url');
  return {
    make: (merchantId, requestId) => `${merchantId}.${macOf(merchantId, requestId)}`,
    merchantOf(requestId, token) {
      const [merchantId = '', mac = '', ...rest] = token.split('.');
      const expected = Buffer.from(macOf(merchantId, requestId));
      const given = Buffer.from(mac);
      if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
        return undefined;
      return merchantId;
    },
  };
}
