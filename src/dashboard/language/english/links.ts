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
    nameHint: 'For a new account: as your colleagues know you. With an account, leave it empty.',
    nameMissing: 'Enter your name for a new account, or the password of the account you have.',
    password: 'Password',
    passwordHint:
      'If you have an account here, enter its password. If not, choose one of at least 12 characters: a few unrelated words are easy to remember and hard to guess.',
    submit: 'Join',
    wrong: {
      title: 'This password cannot be used for the invitation',
      body: 'If you have an account here, enter the password of that account.',
    },
  },
  password: {
    hint: 'At least 12 characters. A few unrelated words are easy to remember and hard to guess.',
    weak: 'This password is too easy to guess: it is common, repeats itself, or is made of your own name or address. If you have an account here, enter its password.',
  },
  ask: {
    title: 'Choose a new password',
    lead: 'Enter the address you sign in with. We send a link to it, with which you choose a new password.',
    submit: 'Send the link',
    sentTitle: 'Look into your mail',
    sentBody: 'If that address has an account, a link is on its way to it. It works for one hour.',
    noMail:
      'This Gatehouse sends no mail. Two operators together can give you a link to choose a new password. The first one asks for it on the page Users, or with:',
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
