/** Whether an error is Fastify's refusal of an unreadable form. Users must not see its text. */
export const isUnreadableForm = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  'code' in thrown &&
  typeof thrown.code === 'string' &&
  thrown.code.startsWith('FST_ERR_CTP_');
