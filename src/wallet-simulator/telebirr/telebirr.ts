import type { FastifyInstance } from 'fastify';
import { createPayments } from '../payments.ts';
import type { Payments } from '../payments.ts';
import { sendCallback } from '../send-callback.ts';
import type { SimulatedProtocol, SimulatedWallet, WalletContext } from '../simulated-wallet.ts';
import { addCheckoutPage } from './checkout-page.ts';
import { credentialsSchema, readCredentials } from './credentials.ts';
import type { TelebirrCredentials } from './credentials.ts';
import { addGateway } from './gateway.ts';
import { notification } from './notification.ts';
import { orderStatus } from './orders.ts';
import { outcomeOfNumber } from './outcomes.ts';
import { faults } from './telebirr-state.ts';
import type { Fault, Telebirr } from './telebirr-state.ts';

/** telebirr's Fabric gateway, and the page on which the payer types a number. */
export const telebirr: SimulatedProtocol = {
  credentials: credentialsSchema,
  mount: async (scope, context) => mount(scope, context, readCredentials(context.credentials)),
};

async function mount(
  scope: FastifyInstance,
  context: WalletContext,
  credentials: TelebirrCredentials,
): Promise<SimulatedWallet> {
  const { takeFault, arm } = armFaults();
  const payments: Payments = createPayments({
    ...context,
    wallet: context.id,
    outcomeOf: outcomeOfNumber,
    codes: { declined: 'PAY_FAILED', expired: 'ORDER_CLOSED' },
    defaultPayer: '251911000000',
    shownStatus: (payment) => orderStatus(payment, payments.refundsOf(payment.requestId)),
    pageUrl: ({ details }) => `${context.basePath}/pay/${String(details['prepay_id'])}`,
    callBack: (payment, tells) =>
      sendCallback(context, {
        url: payment.callbackUrl ?? '',
        method: 'POST',
        ...notification({ context, credentials, takeFault }, payment, tells),
      }),
  });

  const telebirr: Telebirr = { context, credentials, payments, tokens: new Map(), takeFault };
  addGateway(scope, telebirr);
  await scope.register(async (child) => addCheckoutPage(child, { context, payments, credentials }));
  const { prompts, charges, balances, decide, close } = payments;
  return {
    id: context.id,
    prompts,
    charges,
    balances,
    decide,
    close,
    expireTokens: () => telebirr.tokens.clear(),
    arm,
  };
}

/** Faults that operators of the simulator arm. Each happens once. */
function armFaults(): Pick<Telebirr, 'takeFault'> & Required<Pick<SimulatedWallet, 'arm'>> {
  const armed: Fault[] = [];
  return {
    takeFault: (fault) => {
      const index = armed.indexOf(fault);
      if (index >= 0) armed.splice(index, 1);
      return index >= 0;
    },
    arm: (fault) => {
      const known = faults.find((each) => each === fault);
      if (known !== undefined) armed.push(known);
      return known !== undefined;
    },
  };
}
