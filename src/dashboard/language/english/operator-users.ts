/** The page of the operators. The words that it shares with the page of a merchant's team are in team.ts. */
export const operatorUsers = {
  title: 'Users',
  lead: 'The operators of this gateway. Operators see every merchant and belong to none. The users of a merchant are on its page Team.',
  invite: {
    title: 'Invite an operator',
    already:
      'This address belongs to an operator, or to a user of a merchant. An operator cannot belong to a merchant.',
  },
  help: {
    title: 'Help a user',
    lead: 'These actions apply to any account, at any merchant. Verify the identity of the user before you help.',
    disableWarning:
      'A disabled user cannot sign in. If the user is the only owner of a merchant, nobody can manage that merchant until you enable the account or invite another owner.',
    email: 'E-mail address',
    reset: 'Request a new password',
    removeCodes: 'Request removal of one-time codes',
    disable: 'Disable account',
    enable: 'Enable account',
    unknownEmail: 'No account has this e-mail address. Check the address.',
    disabled: (email: string) => `The account of ${email} is disabled. All its sessions have ended.`,
    enabled: (email: string) => `The account of ${email} is enabled. The user can sign in again.`,
  },
  reset: {
    title: 'Password reset link',
    lead: (email: string, until: string) =>
      `Give this link only to ${email}. It works once, until ${until}, and is not shown again. One-time codes do not change.`,
    done: 'I have passed it on',
  },
  lastOperator: {
    title: 'This is the last operator who can sign in',
    body: 'Invite another one first.',
  },
  asked: {
    title: 'Waiting for a second operator',
    lead: 'A second operator must approve each request. Before you approve, ask the user in person whether the request is genuine.',
    columns: { who: 'User', what: 'Request', by: 'Requested by', until: 'Expires', actions: 'Actions' },
    kinds: { password: 'A new password', codes: 'Remove the one-time codes' },
    approve: 'Approve',
    reject: 'Withdraw',
    own: 'Another operator must approve this.',
    mailed: (email: string) => `Gatehouse mails a password reset link to ${email}.`,
    waits: (email: string) => `Another operator must approve the request for ${email} within 24 hours.`,
    codesRemoved: (email: string) =>
      `The one-time codes of ${email} are removed. All sessions of the user have ended.`,
    withdrawn: (email: string) => `The request for ${email} is withdrawn.`,
  },
  refusals: {
    SECOND_OPERATOR_NEEDED: {
      title: 'This needs another operator',
      body: 'The operator who made the request cannot approve it. An operator cannot make or approve a request for their own account.',
    },
    OPERATOR_TOO_NEW: {
      title: 'An operator account is too new',
      body: 'Both operators must have been operators for at least 24 hours.',
    },
    MAILED_TO_USER: {
      title: 'The link goes to the user by mail',
      body: 'This gateway sends mail, so operators do not receive the link.',
    },
    ACCOUNT_HELP_NOT_FOUND: {
      title: 'This request no longer exists',
      body: 'It was approved, withdrawn or mailed to the user, or it has expired.',
    },
    TOTP_NOT_ENABLED: {
      title: 'This user has no one-time codes',
      body: 'Nothing was changed.',
    },
  },
};
