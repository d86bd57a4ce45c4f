/** The pages behind one-time links: invitations, and new passwords. */
export const links = {
  notUsable: {
    title: 'This link does not work any more',
    body: 'Links work once, and for a limited time; a newer one ends those before it. Ask whoever sent it for another.',
    signIn: 'To the sign-in page',
  },
  invitation: {
    title: 'You are invited',
    lead: (place: string, role: string) => `Join ${place} as: ${role}.`,
    operatorLead: 'Join those who run this gateway, as an operator.',
    forAddress: 'For',
    name: 'Your name',
    nameHint: 'As your colleagues know you.',
    newPassword: 'Choose a password',
    ownPassword: 'Your password',
    ownPasswordHint: 'You have an account already: the invitation is added to it.',
    submit: 'Join',
    wrong: { title: 'That is not the password of this account', body: 'Check it and try again.' },
  },
  password: {
    hint: 'At least 12 characters. A few unrelated words are easy to remember and hard to guess.',
    weak: 'This one is too easy to guess: it is common, repeats itself, or is made of your own name or address.',
  },
  ask: {
    title: 'Choose a new password',
    lead: 'Enter the address you sign in with. We send a link to it, with which you choose a new password.',
    submit: 'Send the link',
    sentTitle: 'Look into your mail',
    sentBody: 'If that address has an account, a link is on its way to it. It works for one hour.',
    noMail:
      'This Gatehouse sends no mail. Whoever runs it can give you a link with which you choose a new password:',
    back: 'Back to signing in',
  },
  reset: {
    title: 'Choose a new password',
    lead: 'All your other sessions end, and you sign in with the new password.',
    field: 'New password',
    submit: 'Set the password',
    done: 'Your new password is set. Sign in with it.',
  },
};
