/** The page with which a developer begins. */
export const quickStart = {
  title: 'Quick start',
  lead: 'From your key to a first order that is paid, in the language of your program.',
  languages: 'Programming language',
  productionNote: 'This is production: orders you register here are paid with real money.',
  key: {
    title: '1. Your key, an order number and a phone number',
    body: 'Programs read them from their environment. Never put the key into a page, an app or a repository. Run the last two lines again for another order. Gatehouse limits how often it prompts one phone.',
    none: 'You have no key in this environment yet.',
    toKeys: 'To the API keys',
    ending: 'The rest of the key was shown when it was made. If nobody has it, make another.',
  },
  register: {
    title: '2. Register an order',
    body: 'The answer has the checkout_url to send your customer to. order_number is your own: one order has one, however often it is sent.',
  },
  pay: {
    title: '3. Pay it',
    sandbox: 'Open the checkout_url and pay: in the sandbox no real money moves.',
    production: 'Open the checkout_url and pay, with real money.',
  },
  direct: {
    title: '4. Or ask a phone at once',
    sandbox:
      'Without a page: the customer gets the prompt on the phone. In the sandbox every number pays, but +251900000001, say, has too little money.',
    production: 'Without a page: the customer gets the prompt on the phone. Set PHONE to your own number.',
  },
  ask: {
    title: '5. Ask where it stands',
    body: 'Your customer coming back is no proof of payment. Ask, or be told by a webhook.',
  },
  webhook: {
    title: '6. Be told',
    body: 'Add webhook_url to the order, and it is told there when it has ended. Check the signature before you believe anything:',
    toWebhooks: 'To your webhooks and their secrets',
  },
  reference: 'The whole API, to read:',
};
