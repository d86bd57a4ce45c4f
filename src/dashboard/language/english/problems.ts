/** The pages about what is wrong: a title, and what to do. */
export const problems = {
  badRequest: {
    title: 'We could not read that',
    body: 'Nothing was changed. Go back, load the page again and try once more.',
  },
  forbidden: {
    title: 'Your role does not allow this',
    body: 'Nothing was changed. An owner of the merchant can do it, or give you another role.',
  },
  foreignForm: {
    title: 'This did not come from our page',
    body: 'For your safety nothing was changed. Your browser may have kept an old page, or keeps back our cookies. Open the page again and try once more.',
  },
  notFound: {
    title: 'There is nothing here',
    body: 'The address may be incomplete, or what it led to is not yours to see. Check it, or begin at your home page.',
  },
  changedMeanwhile: {
    title: 'Somebody changed this meanwhile',
    body: 'Your change was not made, so that theirs is not lost. Look at how it is now, then decide again.',
  },
  refused: {
    title: 'That is not possible at the moment',
    body: 'Nothing was changed.',
  },
  tooManyRequests: {
    title: 'Too many tries',
    body: 'Nothing was changed. Wait a little before you try again.',
  },
  unexpected: {
    title: 'Something went wrong on our side',
    body: 'We do not know whether your change was made: look before you try again. If it stays like this, give your operator the request number below.',
  },
  insecureConnection: {
    title: 'The connection cannot be told to be secure',
    body: 'This dashboard is set up for https, but the request did not arrive as such. Whoever runs it has to name the proxy in front of it in GATEHOUSE_TRUSTED_PROXIES.',
  },
  unavailable: {
    title: 'We cannot reach our systems at the moment',
    body: 'Payments may go on as ever; only this page is missing. If you were changing something, look whether it was done before you try again.',
  },
  tryAgainIn: (wait: string) => `You can try again in ${wait}.`,
  home: 'To your home page',
};
