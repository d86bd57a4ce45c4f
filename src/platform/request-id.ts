import { hasSensitive } from './mask-sensitive.ts';

/**
 * Whether a text can be written into logs and headers as the id of a request. It must have 1 to 64 letters, digits, dots, hyphens
 * and underscores, and no part in the form of a phone number, a key or a token.
 */
export const isRequestId = (text: string): boolean => /^[\w.-]{1,64}$/.test(text) && !hasSensitive(text);
