/** The error pages: what happened, and what to do next. */
export const problems = {
  badRequest: {
    title: 'We could not read your request',
    body: 'Nothing was changed. Go back, refresh the page and try again.',
  },
  forbidden: {
    title: 'Your role does not allow this',
    body: 'Nothing was changed. An owner of the merchant can do it, or give you another role.',
  },
  foreignForm: {
    title: 'This request did not come from our page',
    body: 'For your safety nothing was changed. The page may be out of date, for example after you signed out in another tab, or your browser may block our cookies. Open the page again and retry.',
  },
  notFound: {
    title: 'Page not found',
    body: 'The address may be wrong, or you may not have access to this page. Check the address, or start at your home page.',
  },
  changedMeanwhile: {
    title: 'Somebody else changed this first',
    body: 'Your change was not saved, so that the other change is not lost. Check the current values, then decide again.',
  },
  refused: {
    title: 'That is not possible at the moment',
    body: 'Nothing was changed. Refresh the page to see the current state.',
  },
  sentBefore: {
    title: 'This form was already sent',
    body: 'We received this form before, so nothing was done this time. Open the page again to see the result. A new key, secret or link is shown only once. If you did not see it, create another one.',
  },
  tooManyRequests: {
    title: 'Too many attempts',
    body: 'Nothing was changed. Wait a moment before you try again.',
  },
  unexpected: {
    title: 'Something went wrong on our side',
    body: 'If you were changing something, check whether the change was saved before you try again. If the error persists, give your operator the request number below.',
  },
  insecureConnection: {
    title: 'The connection is not known to be secure',
    body: 'This dashboard requires https, but the request did not arrive over https. Open the dashboard at its https address. If you did, the operator must list the proxy in front of it in GATEHOUSE_TRUSTED_PROXIES.',
  },
  recovering: {
    title: 'The gateway was restored from a backup',
    body: 'Gatehouse first asks the wallets what happened after the backup. New payments, refunds and approvals wait for their answers. An order or refund that is missing may come back. Nothing was changed.',
  },
  unavailable: {
    title: 'We cannot reach our systems at the moment',
    body: 'Payments may still work. If you were changing something, check whether the change was saved before you try again.',
  },
  tryAgainIn: (wait: string) => `You can try again in ${wait}.`,
  tryAgain: 'Try again',
  openAgain: 'Open the page again',
  home: 'Go to your home page',
};
