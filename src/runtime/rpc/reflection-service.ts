import { createRegistry, toBinary } from '@bufbuild/protobuf';
import type { DescFile, DescService, MessageInitShape } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.js';
import type {
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from '../../gen/grpc/reflection/v1/reflection_pb.js';
import { roles } from './service-tokens.ts';
import { rpcService } from './rpc-service.ts';
import type { RpcService } from './rpc-service.ts';

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

/**
 * grpc.reflection.v1, answered from the generated descriptors, so that grpcurl and `buf curl` need no .proto files.
 * Ours rather than a package's for the same reason as the health service: one implementation for gRPC and Connect.
 */
export function reflectionService(services: readonly DescService[]): RpcService {
  const files = collectFiles(services.map((service) => service.file));
  const byName = new Map(files.map((file) => [`${file.name}.proto`, file]));
  const registry = createRegistry(...files);

  const fileOfSymbol = (symbol: string): DescFile | undefined => {
    const owner = registry.get(symbol) ?? registry.get(symbol.slice(0, symbol.lastIndexOf('.')));
    return owner?.file;
  };
  const descriptors = (file: DescFile | undefined, asked: string): Answer =>
    file === undefined
      ? notFound(asked)
      : {
          case: 'fileDescriptorResponse',
          value: {
            fileDescriptorProto: collectFiles([file]).map((each) =>
              toBinary(FileDescriptorProtoSchema, each.proto),
            ),
          },
        };
  const answer = ({ messageRequest }: ServerReflectionRequest): Answer => {
    switch (messageRequest.case) {
      case 'listServices':
        return {
          case: 'listServicesResponse',
          value: { service: services.map(({ typeName }) => ({ name: typeName })) },
        };
      case 'fileByFilename':
        return descriptors(byName.get(messageRequest.value), messageRequest.value);
      case 'fileContainingSymbol':
        return descriptors(fileOfSymbol(messageRequest.value), messageRequest.value);
      case 'fileContainingExtension':
        return notFound(`an extension of ${messageRequest.value.containingType}`);
      case 'allExtensionNumbersOfType':
        return notFound(`extensions of ${messageRequest.value}`);
      case undefined:
        return {
          case: 'errorResponse',
          value: { errorCode: Code.InvalidArgument, errorMessage: 'the request asks for nothing' },
        };
    }
  };

  return rpcService(
    ServerReflection,
    {
      async *serverReflectionInfo(requests) {
        for await (const request of requests) {
          yield { validHost: request.host, originalRequest: request, messageResponse: answer(request) };
        }
      },
    },
    { serverReflectionInfo: roles },
  );
}

const notFound = (asked: string): Answer => ({
  case: 'errorResponse',
  value: { errorCode: Code.NotFound, errorMessage: `this server does not know ${asked}` },
});

/** The files and everything they import, each once, imports first. */
function collectFiles(roots: readonly DescFile[]): DescFile[] {
  const found = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    if (found.has(file)) return;
    file.dependencies.forEach(visit);
    found.add(file);
  };
  roots.forEach(visit);
  return [...found];
}
