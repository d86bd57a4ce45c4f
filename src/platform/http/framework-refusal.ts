/**
 * Whether an error is Fastify's refusal of a request, such as an unreadable form or a QUERY without a Content-Type. Users must
 * not see its text.
 */
export const isFrameworkRefusal = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  'code' in thrown &&
  typeof thrown.code === 'string' &&
  thrown.code.startsWith('FST_ERR_') &&
  'statusCode' in thrown &&
  typeof thrown.statusCode === 'number' &&
  thrown.statusCode < 500;
