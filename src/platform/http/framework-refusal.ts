/** Whether an error is Fastify's refusal of a form that it could not read. Its texts are not for our readers. */
export const isUnreadableForm = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  'code' in thrown &&
  typeof thrown.code === 'string' &&
  thrown.code.startsWith('FST_ERR_CTP_');
