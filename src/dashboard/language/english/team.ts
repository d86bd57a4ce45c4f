/** The pages of who has access: a merchant's team, and the operators. */
export const team = {
  title: 'Team',
  lead: 'Who signs in for this merchant, and what they may do.',
  columns: { who: 'Who', role: 'Role', state: 'State', lastSignIn: 'Last signed in', actions: 'Actions' },
  you: 'you',
  states: { in: 'May sign in', out: 'Kept out', codes: 'One-time codes are on' },
  roleHints: {
    owner: 'Owner: everything, with this page and the audit log',
    developer: 'Developer: orders, payment links, keys, webhooks and the request log',
    viewer: 'Viewer: looks, and changes nothing',
  },
  invite: {
    title: 'Invite somebody',
    email: 'E-mail address',
    role: 'Role',
    submit: 'Invite',
    already: 'Whoever has this address is here already, or runs the gateway.',
    wrongEmail: 'Enter an e-mail address, such as sara@shop.example.',
    mailed: (email: string) => `${email} is invited: the link is on its way by mail.`,
  },
  invited: {
    title: 'Invitations nobody has taken up',
    columns: { who: 'Who', role: 'Role', until: 'Works until', actions: 'Actions' },
    takeBack: 'Take back',
    takeBackBody: 'The link stops working at once. You can invite them again.',
    takenBack: (email: string) => `The invitation of ${email} is taken back.`,
  },
  link: {
    title: 'The link for the invitation',
    lead: (email: string, until: string) =>
      `Give this link to ${email}, and to nobody else: whoever opens it first has the access. It works once, until ${until}, and is not shown again.`,
    done: 'I have passed it on',
    notMailed: {
      title: 'The mail has not gone out',
      body: 'The mail server has not taken it. The invitation is made: pass the link on yourself. Whoever runs the gateway finds the reason in the log, by the number of this request.',
    },
  },
  change: {
    open: 'Change role',
    role: 'New role',
    submit: 'Change role',
    done: (who: string, role: string) => `${who}: the role is ${role} now.`,
    meanwhile: {
      title: 'Somebody else has changed this in the meantime',
      body: 'Nothing was changed by you. The list shows how it is now.',
    },
  },
  remove: {
    open: 'Remove',
    body: 'They lose access to this merchant at once. Their account, and what they did, stay on record.',
    submit: 'Remove',
    done: (who: string) => `${who} has no access any more.`,
  },
  lastOwner: {
    title: 'This is the last owner',
    body: 'A merchant always has an owner who can sign in. Make somebody else an owner first.',
  },
};
