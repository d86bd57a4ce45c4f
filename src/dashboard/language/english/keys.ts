/** The pages of API keys. */
export const keys = {
  title: 'API keys',
  lead: 'Your server authenticates with an API key. A key is valid in one environment. It is shown once, when it is created.',
  columns: { name: 'Key', state: 'State', created: 'Created', lastUsed: 'Last used', actions: 'Actions' },
  unnamed: 'Without a name',
  states: {
    active: 'Active',
    ending: (when: string) => `Works until ${when}`,
    expired: 'Expired',
    revoked: 'Revoked',
  },
  neverUsed: 'Never',
  empty: {
    title: 'No key yet',
    body: 'Create a key, so that your server can register its first order.',
  },
  issue: {
    title: 'Create a key',
    label: 'Purpose',
    hint: 'It distinguishes this key from others, such as “web shop” or “app server 2”.',
    refunds: 'This key may refund orders',
    submit: 'Create key',
    tooMany: 'You already have 20 valid keys, which is the limit. Revoke an unused key first.',
  },
  made: {
    title: 'Your new key',
    lead: 'Copy it now to the settings of your server. It is not shown again. Keep it secret: anyone with this key can act for you.',
    replaced: (when: string) =>
      `The previous key works until ${when}. Switch your server to the new key before then.`,
    done: 'I have saved it',
  },
  rotate: {
    open: 'Replace',
    body: 'This creates a new key. The old key continues to work for the time that you choose, so that no request fails.',
    overlap: 'The old key continues to work for',
    overlaps: { hour: '1 hour', day: '24 hours', week: '7 days', month: '30 days' },
    submit: 'Create the new key',
    tooMany:
      'You already have 40 valid keys, and replaced keys count until they end. Revoke an unused key first.',
  },
  refunds: {
    may: 'May refund orders',
    allow: {
      open: 'Allow refunds',
      body: 'Within 5 seconds requests with this key can return the money of your completed orders.',
      submit: 'Allow refunds',
    },
    forbid: {
      open: 'Forbid refunds',
      body: 'Within 5 seconds Gatehouse rejects refund requests with this key. Its other requests still work.',
      submit: 'Forbid refunds',
    },
    allowed: (name: string) => `${name} may now refund orders.`,
    forbidden: (name: string) => `${name} may no longer refund orders.`,
  },
  revoke: {
    open: 'Revoke',
    body: 'Within 5 seconds Gatehouse rejects every request with this key. This cannot be undone.',
    submit: 'Revoke permanently',
    done: (name: string) => `${name} is revoked.`,
  },
};
