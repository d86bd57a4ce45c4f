import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { encodeMessage } from '../../../src/platform/rpc/message-bytes.ts';

const eventOf = (reason: string, requestId: string) =>
  create(OrderEventSchema, { requestId, sequence: 7n, order: { reason, amount: '100.50', environment: 1 } });

test('a message of any size has the same bytes as from protobuf-es', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.nat(90_000).map((length) => 'ü'.repeat(length)),
  );
  const kept: { readonly bytes: Buffer; readonly wanted: Uint8Array }[] = [];
  fc.assert(
    fc.property(text, fc.string(), (reason, requestId) => {
      const message = eventOf(reason, requestId);
      const bytes = encodeMessage(OrderEventSchema, message);
      const wanted = toBinary(OrderEventSchema, message);
      expect(bytes.equals(wanted)).toBe(true);
      expect(fromBinary(OrderEventSchema, bytes)).toEqual(message);
      kept.push({ bytes, wanted });
    }),
    { numRuns: 60 },
  );
  // A later message does not overwrite an earlier one.
  for (const { bytes, wanted } of kept) expect(bytes.equals(wanted)).toBe(true);
});

test('a message that cannot be written leaves no bytes to the next one', () => {
  const broken = Object.assign(eventOf('shoes', 'r-1'), { sequence: 'no number' });
  expect(() => encodeMessage(OrderEventSchema, broken as never)).toThrow('sequence');
  const message = eventOf('boots', 'r-2');
  expect(encodeMessage(OrderEventSchema, message)).toEqual(Buffer.from(toBinary(OrderEventSchema, message)));
});

test('another writer has bytes of its own', () => {
  const writer = new BinaryWriter();
  writer.uint32(1);
  encodeMessage(OrderEventSchema, eventOf('shoes', 'r-1'));
  expect([...writer.uint32(2).finish()]).toEqual([1, 2]);
  expect([...writer.uint32(3).finish()]).toEqual([3]);
});
