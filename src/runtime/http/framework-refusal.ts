/** What a form or a link was that Fastify could not make a request of. */
export type FrameworkRefusal = 'MALFORMED_URL' | 'BAD_FORM';

/** Which refusal of Fastify's an error is: by its code, as its texts are not for our readers. Undefined for any other error. */
export function frameworkRefusalOf(thrown: unknown): FrameworkRefusal | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown) || typeof thrown.code !== 'string') return undefined;
  if (thrown.code === 'FST_ERR_BAD_URL' || thrown.code === 'FST_ERR_MAX_PARAM_LENGTH') return 'MALFORMED_URL';
  return thrown.code.startsWith('FST_ERR_CTP_') ? 'BAD_FORM' : undefined;
}
