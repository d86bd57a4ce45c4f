/** Signing in, confirming the identity again, and resuming an interrupted action. */
export const signIn = {
  title: 'Sign in',
  email: 'E-mail address',
  password: 'Password',
  submit: 'Sign in',
  forgot: 'Forgot your password?',
  wrong: {
    title: 'Wrong e-mail address or password',
    body: 'Check both and try again.',
  },
  tooMany: { title: 'Too many attempts', body: (wait: string) => `Wait ${wait} before you try again.` },
  kept: 'Your session has expired. Your entries are kept. Sign in to continue.',
  ended: 'Sign in to continue.',
  signedOut: 'You have signed out.',
  code: {
    title: 'Enter your code',
    lead: 'Open your authenticator app and enter the six digits that it shows for Gatehouse.',
    field: 'Code',
    hint: 'You can use one of your recovery codes instead.',
    submit: 'Continue',
    wrong: {
      title: 'Wrong code',
      body: 'The code of the app changes every 30 seconds. Every code works once, recovery codes too. Enter the next code of the app, or another recovery code.',
    },
    other: 'Sign in with another account',
    recoveryLeft: (count: number) =>
      count === 0
        ? 'That was your last recovery code. To get new ones, turn one-time codes off and on again on the page Account and security.'
        : `You used a recovery code. ${count} ${String(count) === '1' ? 'is' : 'are'} left.`,
  },
  confirm: {
    title: 'Confirm that it is you',
    lead: 'This action affects keys, secrets or access. Confirm your identity. The confirmation lasts ten minutes.',
    submit: 'Confirm',
    wrongPassword: { title: 'Wrong password', body: 'Check it and try again.' },
    cancel: 'Cancel',
  },
  carryOn: {
    title: 'Continue your action',
    lead: 'Your entries have not been sent yet. Send them now, or discard them.',
    nothing: 'This action has no entries to show.',
    submit: 'Send now',
    leave: 'Discard',
  },
  nowhere: {
    title: 'No merchant yet',
    body: 'Your account belongs to no merchant. Ask an owner of your merchant to invite you.',
  },
};
