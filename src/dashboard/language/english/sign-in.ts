/** Signing in, proving who one is again, and carrying on with what was interrupted. */
export const signIn = {
  title: 'Sign in',
  email: 'E-mail address',
  password: 'Password',
  submit: 'Sign in',
  forgot: 'Forgot your password?',
  wrong: {
    title: 'That address and password do not belong together',
    body: 'Check both and try again.',
  },
  tooMany: { title: 'Too many tries', body: (wait: string) => `Wait ${wait} before you try again.` },
  kept: 'Your session had ended. What you were sending is kept, and you can carry on after signing in.',
  ended: 'Sign in to go on.',
  signedOut: 'You have signed out.',
  code: {
    title: 'Enter your code',
    lead: 'Open your authenticator app and enter the six digits it shows for Gatehouse.',
    field: 'Code',
    hint: 'You can use one of your recovery codes instead.',
    submit: 'Go on',
    wrong: {
      title: 'That code is not right',
      body: 'Codes change every 30 seconds and work once: wait for the next one.',
    },
    other: 'Sign in as somebody else',
    recoveryLeft: (count: number) =>
      count === 0
        ? 'That was your last recovery code. For new ones, turn one-time codes off and on again on the page of your account.'
        : `You used a recovery code; ${count} ${String(count) === '1' ? 'is' : 'are'} left.`,
  },
  confirm: {
    title: 'Confirm that it is you',
    lead: 'Keys and secrets open the way to payments. Prove who you are once more, and you can go on for ten minutes.',
    submit: 'Confirm',
    wrongPassword: { title: 'That is not your password', body: 'Check it and try again.' },
    cancel: 'Cancel',
  },
  carryOn: {
    title: 'Carry on where you were',
    lead: 'This was not done yet. Send it now, or leave it.',
    nothing: 'It has nothing to show.',
    submit: 'Send it now',
    leave: 'Leave it',
  },
  nowhere: {
    title: 'No merchant yet',
    body: 'Your account belongs to no merchant. Ask an owner of yours to invite you.',
  },
};
