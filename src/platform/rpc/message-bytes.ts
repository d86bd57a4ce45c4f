import { toBinary } from '@bufbuild/protobuf';
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';

/** A message in protobuf's binary form, as a Buffer for grpc-js and pg, without a copy. */
export function encodeMessage<D extends DescMessage>(desc: D, message: MessageShape<D>): Buffer {
  const bytes = toBinary(desc, message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
