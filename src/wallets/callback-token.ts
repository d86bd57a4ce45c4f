import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';

/**
 * The unguessable part of the callback URLs of one wallet in one environment. It contains the merchant, and proves that
 * Gatehouse issued it for this attempt or reversal at this wallet.
 */
export interface CallbackTokens {
  readonly make: (merchantId: string, requestId: string) => string;
  /** The merchant; undefined for a token that was not issued for this request. */
  readonly merchantOf: (requestId: string, token: string) => string | undefined;
}

/**
 * @param wallet the wallet's name in callback URLs, such as `walleta-sandbox`. A token is valid only for one wallet and
 * environment, because another one's operator may not be trusted with it.
 */
export function createCallbackTokens(key: Buffer, wallet: string): CallbackTokens {
  // A Buffer as the key would make each HMAC take seven times as long.
  const secret = createSecretKey(key);
  const macOf = (merchantId: string, requestId: string): string =>
    createHmac('sha256', secret)
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
