import { Argument } from 'commander';
import type { Command } from 'commander';
import { EnvironmentSchema, OrderSchema, OrderStatusSchema } from '../gen/gatehouse/v1/order_pb.js';
import { limitOption, pageTokenOption, showEnvironment } from './options.ts';
import type { Runner } from './output.ts';
import { collectPages, showMore } from './paging.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { table } from './table.ts';
import { showTime } from './time.ts';

/** `order find` */
export function addOrderFindCommand(order: Command, run: Runner): void {
  order
    .command('find')
    .description('find orders of all merchants, in both environments, by what a customer or merchant reports')
    .addArgument(
      new Argument(
        '<text>',
        "an order number, ord_…, a wallet's transaction, or the phone of a customer or payer",
      ),
    )
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .action((text: string, options: PageOptions) =>
      run(async ({ orders }) => {
        const transactions = new Map<string, string>();
        const phones = new Map<string, string>();
        const page = await collectPages(options, async (request) => {
          const reply = await orders.findOrders({ ...request, text });
          for (const [id, found] of Object.entries(reply.providerTransactionIds)) transactions.set(id, found);
          for (const [id, found] of Object.entries(reply.payerPhones)) phones.set(id, found);
          return { items: reply.orders, nextPageToken: reply.nextPageToken };
        });
        const columns = [
          { head: 'ORDER NUMBER, ORDER, MERCHANT', wraps: true },
          { head: 'STATUS' },
          { head: 'AMOUNT', right: true },
          { head: 'TRANSACTION, PAYER', wraps: true },
          { head: 'CREATED' },
        ];
        const rows = page.items.map((each) => [
          `${each.orderNumber}\n${each.orderId}\n${each.merchantId}`,
          wordOf(OrderStatusSchema, each.status) ?? '',
          `${each.amount} ${each.currency}`,
          [transactions.get(each.orderId) ?? 'none', phones.get(each.orderId) ?? ''].join('\n').trim(),
          `${showTime(each.createTime)}\n${showEnvironment(each.environment)}`,
        ]);
        return {
          json: {
            orders: page.items.map((each) => ({
              ...plainJson(OrderSchema, each),
              environment: wordOf(EnvironmentSchema, each.environment) ?? null,
              provider_transaction_id: transactions.get(each.orderId) ?? null,
              payer_phone: phones.get(each.orderId) ?? null,
            })),
            next_page_token: page.nextPageToken,
          },
          text: (width) =>
            rows.length === 0
              ? 'No orders match. Numbers match exactly only, and phones in any usual form.'
              : `${table(columns, rows, width)}${showMore(page)}`,
        };
      }),
    );
}
