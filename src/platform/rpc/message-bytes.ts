import { toBinary } from '@bufbuild/protobuf';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';

/*
 * protobuf-es writes each message into an array of 128 bytes, which it replaces by one of twice the size whenever it is full. An
 * event of an order took four arrays and a copy, which was most of the cost of writing it. So `encodeMessage` lends every
 * writer the same array, and copies the result into Node's pool of small Buffers.
 *
 * The library has no option for that. So two methods of its writer are extended, and work as before outside of `encodeMessage`.
 */

/** The members of a writer that are used here. The library does not declare them. */
interface Writer {
  buffer: Uint8Array;
  viewCache: DataView;
  pos: number;
  stackPos: number[];
  ensureCapacity: (size: number) => void;
  finish: () => Uint8Array;
}

/** Larger than almost every message. The writer replaces it for a larger message. */
const lentBytes = 64 * 1024;
const lent = Buffer.alloc(lentBytes);
/** Whether the next writer gets `lent`. Encoding is synchronous, so that it is never used twice at once. */
let isOffered = false;

/** @throws when this version of protobuf-es keeps its bytes elsewhere, so that the problem shows at start */
function newWriter(): Writer {
  const writer: object = new BinaryWriter();
  if (!isWriter(writer))
    throw new Error('this version of protobuf-es has no writer of the expected form; see message-bytes.ts');
  return writer;
}

function isWriter(value: object): value is Writer {
  const members = ['buffer', 'viewCache', 'pos', 'stackPos', 'ensureCapacity', 'finish'];
  return members.every((name) => name in value);
}

function extendWriter({ buffer: noBytes, viewCache: noView }: Writer, prototype: Writer): void {
  const { ensureCapacity, finish } = prototype;
  prototype.ensureCapacity = function (this: Writer, size) {
    if (isOffered && this.buffer.length === 0) {
      isOffered = false;
      this.buffer = lent;
    }
    if (this.pos + size > this.buffer.length) ensureCapacity.call(this, size);
  };
  prototype.finish = function (this: Writer) {
    if (this.buffer !== lent) return finish.call(this);
    const result = Buffer.allocUnsafe(this.pos);
    lent.copy(result, 0, 0, this.pos);
    this.buffer = noBytes;
    this.viewCache = noView;
    this.pos = 0;
    this.stackPos = [];
    return result;
  };
}

extendWriter(newWriter(), BinaryWriter.prototype as object as Writer);

/** A message in protobuf's binary form, as a Buffer for grpc-js and pg. */
export function encodeMessage<D extends DescMessage>(desc: D, message: MessageShape<D>): Buffer {
  isOffered = true;
  try {
    const bytes = toBinary(desc, message);
    return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  } finally {
    isOffered = false;
  }
}
