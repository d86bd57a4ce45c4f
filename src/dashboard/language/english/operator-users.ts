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
    reset: 'Ask for a new password',
    removeCodes: 'Ask to remove one-time codes',
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
  asked: {
    title: 'Waiting for a second operator',
    lead: 'Two different operators have to agree before an account is opened for its user. Ask the user in person whether this is right.',
    columns: { who: 'User', what: 'What', by: 'Asked by', until: 'Ends', actions: 'Actions' },
    kinds: { password: 'A new password', codes: 'Remove the one-time codes' },
    approve: 'Approve',
    reject: 'Withdraw',
    own: 'Another operator has to approve it.',
    mailed: (email: string) => `A link to a new password goes to ${email} by mail.`,
    waits: (email: string) => `Another operator has to approve the help for ${email} within 24 hours.`,
    codesRemoved: (email: string) =>
      `The one-time codes of ${email} are removed, and every session has ended.`,
    withdrawn: (email: string) => `The request for ${email} is withdrawn.`,
  },
  refusals: {
    SECOND_OPERATOR_NEEDED: {
      title: 'This needs another operator',
      body: 'The operator who asked cannot approve, and nobody can help their own account.',
    },
    OPERATOR_TOO_NEW: {
      title: 'An operator is too new for this',
      body: 'Both operators must have been operators for at least 24 hours.',
    },
    MAILED_TO_USER: {
      title: 'The link goes to the user by mail',
      body: 'This gateway sends mail, so nobody else is given the link.',
    },
    ACCOUNT_HELP_NOT_FOUND: {
      title: 'This request is not there any more',
      body: 'It was approved, withdrawn, mailed to the user, or has ended.',
    },
    TOTP_NOT_ENABLED: {
      title: 'This user has no one-time codes',
      body: 'Nothing has to be removed.',
    },
  },
};
