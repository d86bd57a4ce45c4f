/** The page of who runs the gateway. What it shares with a merchant's team is in team.ts. */
export const operatorUsers = {
  title: 'Users',
  lead: 'Who runs this gateway. Operators see every merchant and belong to none; a merchant’s own people are in its team.',
  invite: {
    title: 'Invite an operator',
    already:
      'Whoever has this address is an operator already, or belongs to a merchant: operators belong to none.',
  },
  help: {
    title: 'Help somebody',
    lead: 'For anybody with an account, at whichever merchant. Be sure of who asks before you help.',
    email: 'E-mail address',
    reset: 'Make a link to a new password',
    disable: 'Keep out',
    enable: 'Let in again',
    nobody: 'Nobody with this address has an account that could be let in.',
    disabled: (email: string) => `${email} is kept out, and every session of theirs has ended.`,
    enabled: (email: string) => `${email} may sign in again.`,
  },
  reset: {
    title: 'The link to a new password',
    lead: (email: string, until: string) =>
      `Give this link to ${email}, and to nobody else. It works once, until ${until}, and is not shown again. One-time codes stay as they are.`,
    done: 'I have passed it on',
  },
  lastOperator: {
    title: 'This is the last operator who can sign in',
    body: 'Invite another one first.',
  },
  tooMany: {
    title: 'Too many links were asked for',
    body: 'Wait an hour, or use the command line: user reset.',
  },
};
