import type { MessageInitShape } from '@bufbuild/protobuf';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import type {
  RegisterOrderRequestSchema,
  StartDirectPaymentRequestSchema,
} from '../../src/gen/gatehouse/v1/order_service_pb.js';

type Registration = MessageInitShape<typeof RegisterOrderRequestSchema> & { merchantId: string };
type DirectPayment = MessageInitShape<typeof StartDirectPaymentRequestSchema> & { merchantId: string };

/** A valid registration. A test names the values that matter to it. */
export const registration = (own: Registration): Registration => ({
  environment: Environment.SANDBOX,
  orderNumber: 'A-1',
  amount: '100.50',
  currency: 'ETB',
  reason: 'Two pairs of shoes',
  customerPhone: '0911223344',
  returnUrl: 'https://shop.example/return',
  webhookUrl: 'https://shop.example/hook',
  businessName: 'Shoes & Co',
  ...own,
});

/** A valid direct payment. */
export const directPayment = (own: DirectPayment): DirectPayment => ({
  environment: Environment.SANDBOX,
  orderNumber: 'D-1',
  amount: '100.50',
  currency: 'ETB',
  phone: '0911223344',
  paymentOption: 'walleta_ussd',
  ...own,
});

/** The name of an order of the sandbox. */
export const orderNamed = (merchantId: string, orderNumber: string) =>
  ({
    merchantId,
    environment: Environment.SANDBOX,
    key: { case: 'orderNumber', value: orderNumber },
  }) as const;
