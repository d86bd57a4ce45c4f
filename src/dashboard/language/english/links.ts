/** The pages that one-time links open: invitations and new passwords. */
export const links = {
  notUsable: {
    title: 'This link is no longer valid',
    body: 'A link works once, for a limited time, and until a newer link replaces it. Ask the person who sent it for a new one.',
    resetBody: 'A link works once, for a limited time, and until your password changes. Request a new one.',
    requestReset: 'Request a new link',
    signIn: 'Go to the sign-in page',
  },
  invitation: {
    title: 'You are invited',
    lead: (place: string, role: string) => `Join ${place} with the role ${role}.`,
    operatorLead: 'Join this gateway as an operator.',
    forAddress: 'For',
    name: 'Your name',
    nameHint: 'Only for a new account. Leave it empty if you already have an account.',
    nameMissing: 'For a new account, enter your name. If you already have an account, enter its password.',
    password: 'Password',
    passwordHint:
      'If you have an account here, enter its password. Otherwise choose a password of at least 12 characters. A few unrelated words are easy to remember and hard to guess.',
    submit: 'Join',
    wrong: {
      title: 'This password is not accepted',
      body: 'If you have an account here, enter the password of that account.',
    },
  },
  password: {
    hint: 'At least 12 characters. A few unrelated words are easy to remember and hard to guess.',
    weak: 'This password is too easy to guess. It is common, repeats itself, or contains your name or e-mail address. If you have an account here, enter its password.',
  },
  ask: {
    title: 'Choose a new password',
    lead: 'Enter the e-mail address of your account. We send you a link to choose a new password.',
    submit: 'Send the link',
    sentTitle: 'Check your e-mail',
    sentBody: 'If this address has an account, we have sent a link to it. The link works for one hour.',
    noMail:
      'This Gatehouse sends no mail. Two operators can give you a link to choose a new password. The first operator requests it on the page Users, or with:',
    back: 'Back to signing in',
  },
  reset: {
    title: 'Choose a new password',
    lead: 'This ends all your sessions. Then sign in with the new password.',
    field: 'New password',
    submit: 'Set the password',
    done: 'Your new password is set. Sign in with it.',
  },
};
