/** The pages of users with access: a merchant's team, and the operators. */
export const team = {
  title: 'Team',
  lead: 'The users who can sign in for this merchant, and their roles.',
  columns: { who: 'User', role: 'Role', state: 'State', lastSignIn: 'Last signed in', actions: 'Actions' },
  you: 'you',
  search: {
    title: 'Search for users',
    text: 'Part of the e-mail address or name',
    submit: 'Search',
    all: 'All users',
    more: 'The list shows the first 500 users and invitations, by e-mail address. Search to find the others.',
    none: 'No user matches. An invited user has no name yet.',
  },
  states: { in: 'Enabled', out: 'Disabled', codes: 'One-time codes are on' },
  roleHints: {
    owner: 'Owner: everything, including this page and the audit log',
    developer: 'Developer: orders, refunds, payment links, keys, webhooks and the request log',
    viewer: 'Viewer: sees orders, refunds, payment links and reports, and changes nothing',
  },
  invite: {
    title: 'Invite a user',
    email: 'E-mail address',
    role: 'Role',
    submit: 'Invite',
    already: 'This address belongs to a user of this merchant, or to an operator of the gateway.',
    wrongEmail: 'Enter an e-mail address, such as sara@shop.example.',
    mailed: (email: string) => `${email} is invited. The link is sent by mail.`,
  },
  invited: {
    title: 'Open invitations',
    columns: { who: 'User', role: 'Role', until: 'Works until', actions: 'Actions' },
    withdraw: 'Withdraw',
    withdrawBody: 'The link stops working at once. You can invite the user again.',
    withdrawn: (email: string) => `The invitation of ${email} is withdrawn.`,
  },
  link: {
    title: 'The link for the invitation',
    lead: (email: string, until: string) =>
      `Give this link only to ${email}. The first person who uses it gets the access. It works once, until ${until}, and is not shown again.`,
    done: 'I have passed it on',
    notMailed: {
      'not-known': {
        title: 'The mail was not sent',
        body: 'The mail server did not accept it. The invitation is valid, so pass the link on yourself. The operator of the gateway finds the reason in the log, by the request number of this page.',
      },
      'too-many': {
        title: 'The mail was not sent',
        body: 'Too many mails are waiting for the mail server. The invitation is valid, so pass the link on yourself. Wait a few minutes before you invite more users.',
      },
    },
  },
  change: {
    open: 'Change role',
    role: 'New role',
    submit: 'Change role',
    done: (who: string, role: string) => `The role of ${who} is now ${role}.`,
    meanwhile: {
      title: 'Somebody else changed this first',
      body: 'Your change was not saved. The list shows the current roles.',
    },
  },
  remove: {
    open: 'Remove',
    body: 'The user loses access to this merchant at once. The account and its audit log entries remain.',
    submit: 'Remove',
    done: (who: string) => `${who} no longer has access.`,
  },
  lastOwner: {
    title: 'This is the last owner',
    body: 'A merchant always has an owner who can sign in. First give another user the role owner.',
  },
};
