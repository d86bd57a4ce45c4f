import { create } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { WalletExchangeSchema } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletExchange } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { RawExchange } from './connector/raw-exchange.ts';

/** An exchange in the contract's form. Connectors have already masked it. */
export function exchangeMessage(exchange: RawExchange): WalletExchange {
  return create(WalletExchangeSchema, {
    purpose: exchange.purpose,
    startTime: timestampFromDate(exchange.startedAt),
    duration: durationFromMs(Math.max(0, exchange.endedAt.getTime() - exchange.startedAt.getTime())),
    method: exchange.method,
    url: exchange.url,
    requestBody: exchange.requestBody,
    status: exchange.status ?? 0,
    responseBody: exchange.responseBody,
    error: exchange.problem ?? '',
  });
}
