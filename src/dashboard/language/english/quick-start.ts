/** The page with which a developer starts. */
export const quickStart = {
  title: 'Quick start',
  lead: 'From an API key to a first paid order, in your programming language.',
  languages: 'Programming language',
  productionNote: 'This is production: orders you register here are paid with real money.',
  key: {
    title: '1. Your key, an order number and a phone number',
    body: 'The programs below read them from environment variables. Never put the key into a page, an app or a repository. For another order, run the last two lines again. Gatehouse limits how often it prompts one phone.',
    none: 'You have no key in this environment yet.',
    toKeys: 'Go to API keys',
    whoHas: 'Owners and developers of this merchant manage its keys.',
    ending: 'The whole key was shown once, when it was created. If you did not save it, create another.',
  },
  register: {
    title: '2. Register an order',
    body: 'The answer contains the checkout_url. Send your customer to it. order_number identifies the order. Sending it again returns the same order.',
  },
  pay: {
    title: '3. Pay it',
    sandbox: 'Open the checkout_url and pay. No real money moves in the sandbox.',
    production: 'Open the checkout_url and pay, with real money.',
  },
  direct: {
    title: '4. Or prompt a phone directly',
    sandbox:
      'A direct payment needs no page. The customer gets the prompt on the phone. In the sandbox, payments from all numbers succeed, except test numbers such as +251900000001, which has insufficient funds.',
    production:
      'A direct payment needs no page. The customer gets the prompt on the phone. Set PHONE to your own number.',
    none: 'None of your wallets can prompt a phone in this environment, so direct payments are not possible.',
    toWallets: 'Go to wallets',
  },
  ask: {
    title: '5. Verify the payment',
    body: 'The return of your customer does not prove the payment. Verify the order, or wait for its webhook.',
  },
  webhook: {
    title: '6. Receive a webhook',
    body: 'Add webhook_url to the order. Gatehouse sends a webhook there when the order ends. Verify the signature before you use the content:',
    toWebhooks: 'Go to webhooks and signing secrets',
  },
  reference: 'API reference:',
};
