/** The pages of API keys. */
export const keys = {
  title: 'API keys',
  lead: 'Your programs prove with a key that they are yours. A key opens one environment, and is shown once, when it is made.',
  columns: { name: 'Key', state: 'State', created: 'Made', lastUsed: 'Last used', actions: 'Actions' },
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
    body: 'Make one, and your program can register its first order.',
  },
  issue: {
    title: 'Make a key',
    label: 'What it is for',
    hint: 'So that you can tell it from others later, such as “web shop” or “app server 2”.',
    submit: 'Make key',
    tooMany: 'There are 20 keys that work. Revoke one that is not needed before you make another.',
  },
  made: {
    title: 'Your new key',
    lead: 'Copy it now and keep it where your program finds it: it is not shown again. Whoever has it can act for you.',
    replaced: (when: string) =>
      `The key it replaces works until ${when}. Put the new one in its place before.`,
    done: 'I have kept it',
  },
  rotate: {
    open: 'Replace',
    body: 'A new key is made. The one it replaces goes on working for a while, so that nothing stops.',
    overlap: 'The old key works for another',
    overlaps: { hour: '1 hour', day: '24 hours', week: '7 days', month: '30 days' },
    submit: 'Make the new key',
  },
  revoke: {
    open: 'Revoke',
    body: 'Programs that use this key are refused within five seconds. It cannot be undone.',
    submit: 'Revoke for good',
    done: (name: string) => `${name} is revoked.`,
  },
};
