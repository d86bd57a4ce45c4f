import { hasSensitive } from './mask-sensitive.ts';

/**
 * Whether a text can be written into logs and headers as the id of a request. It must consist of 1 to 64 letters, digits, dots, hyphens and
 * underscores. No part may look like a phone number, a key or a token.
 */
export const isRequestId = (text: string): boolean => /^[\w.-]{1,64}$/.test(text) && !hasSensitive(text);
