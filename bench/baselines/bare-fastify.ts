/**
 * The least work that answers with the JSON of verify: Fastify with the reply's schema, and a key looked up in a map.
 */
import Fastify from 'fastify';

const app = Fastify({ logger: false });
const keys = new Map([[process.env['API_KEY'] ?? '', 'merchant']]);
const order = {
  order_id: 'ord_01jd2x8m5vf7e8r0c3q6t9w1ya',
  order_number: '',
  status: 'PENDING',
  amount: '100.50',
  deducted: '0.00',
  currency: 'ETB',
  payment_option: '',
  payment_type: 'API',
  customer_phone: '0911223344',
  reason: 'Two pairs of shoes',
  created_timestamp: '2025-11-20T09:30:00.000Z',
  updated_timestamp: '2025-11-20T09:30:00.000Z',
};
const text = { type: 'string' };

app.post<{ Body: { order_number: string } }>(
  '/api/v1/verify',
  {
    schema: {
      body: { type: 'object', required: ['order_number'], properties: { order_number: text } },
      response: {
        200: {
          type: 'object',
          properties: {
            code: { type: 'integer' },
            message: text,
            data: {
              type: 'object',
              properties: Object.fromEntries(Object.keys(order).map((name) => [name, text])),
            },
          },
        },
      },
    },
  },
  async (request, reply) => {
    if (!keys.has(String(request.headers['apikey']))) return reply.code(401).send();
    return { code: 200, message: 'Order found', data: { ...order, order_number: request.body.order_number } };
  },
);
const origin = await app.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ msg: 'ready', origin }));
process.once('SIGTERM', () => void app.close());
