import { toBinary } from '@bufbuild/protobuf';
import type { DescFile, DescService } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.js';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.js';
import type { ServerReflectionRequest } from '../../gen/grpc/reflection/v1/reflection_pb.js';
import { ServerReflection as ServerReflectionV1alpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.js';
import type { ServerReflectionRequest as ServerReflectionRequestV1alpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.js';
import { Health } from '../../gen/health/v1/health_pb.js';
import { rpcService } from './rpc-service.ts';
import type { RpcService } from './rpc-service.ts';

type Question = (ServerReflectionRequest | ServerReflectionRequestV1alpha)['messageRequest'];

/** The answer of both versions. Their messages differ only in the package name. */
type Answer =
  | { readonly case: 'fileDescriptorResponse'; readonly value: { fileDescriptorProto: Uint8Array[] } }
  | { readonly case: 'listServicesResponse'; readonly value: { service: { name: string }[] } }
  | {
      readonly case: 'allExtensionNumbersResponse';
      readonly value: { baseTypeName: string; extensionNumber: number[] };
    }
  | { readonly case: 'errorResponse'; readonly value: { errorCode: Code; errorMessage: string } };

/**
 * grpc.reflection.v1 and v1alpha, answered from the generated descriptors, so that grpcurl and `buf curl` need no .proto
 * files. Older clients need v1alpha: older versions of grpcurl, and libraries that ask for nothing else.
 * Ours rather than a package's for the same reason as the health service: one implementation for gRPC and Connect.
 * Both describe the given services, the services of every process, and the messages in its errors.
 */
export function reflectionServices(ownServices: readonly DescService[]): readonly RpcService[] {
  const answer = describeServices([...ownServices, Health, ServerReflection, ServerReflectionV1alpha]);
  return [
    rpcService(
      ServerReflection,
      {
        async *serverReflectionInfo(requests) {
          for await (const request of requests)
            yield {
              validHost: request.host,
              originalRequest: request,
              messageResponse: answer(request.messageRequest),
            };
        },
      },
      { serverReflectionInfo: 'any role' },
    ),
    rpcService(
      ServerReflectionV1alpha,
      {
        async *serverReflectionInfo(requests) {
          for await (const request of requests)
            yield {
              validHost: request.host,
              originalRequest: request,
              messageResponse: answer(request.messageRequest),
            };
        },
      },
      { serverReflectionInfo: 'any role' },
    ),
  ];
}

function describeServices(services: readonly DescService[]): (question: Question) => Answer {
  const files = collectFiles([...services.map(({ file }) => file), file_google_rpc_error_details]);
  const byName = new Map(files.map((file) => [`${file.name}.proto`, file]));
  const bySymbol = new Map(files.flatMap((file) => symbolsOf(file).map((symbol) => [symbol, file] as const)));
  const types = files.flatMap((file) => [...nestedTypes(file)]);
  const messages = new Set(types.filter(({ kind }) => kind === 'message').map(({ typeName }) => typeName));
  const extensions = types.filter((type) => type.kind === 'extension');

  const descriptors = (file: DescFile | undefined, asked: string): Answer =>
    file === undefined
      ? notFound(asked)
      : {
          case: 'fileDescriptorResponse',
          value: {
            // As other servers do. Clients such as ghz take the first file for the one that they asked for.
            fileDescriptorProto: collectFiles([file])
              .toReversed()
              .map((each) => toBinary(FileDescriptorProtoSchema, each.proto)),
          },
        };
  return (question) => {
    switch (question.case) {
      case 'listServices':
        return {
          case: 'listServicesResponse',
          value: { service: services.map(({ typeName }) => ({ name: typeName })) },
        };
      case 'fileByFilename':
        return descriptors(byName.get(question.value), question.value);
      case 'fileContainingSymbol':
        return descriptors(bySymbol.get(question.value), question.value);
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = question.value;
        const found = extensions.find(
          ({ extendee, number }) => extendee.typeName === containingType && number === extensionNumber,
        );
        return descriptors(found?.file, `extension ${extensionNumber} of ${containingType}`);
      }
      case 'allExtensionNumbersOfType': {
        const extended = question.value;
        if (!messages.has(extended)) return notFound(extended);
        const own = extensions.filter(({ extendee }) => extendee.typeName === extended);
        return {
          case: 'allExtensionNumbersResponse',
          value: { baseTypeName: extended, extensionNumber: own.map(({ number }) => number) },
        };
      }
      case undefined:
        return {
          case: 'errorResponse',
          value: {
            errorCode: Code.InvalidArgument,
            errorMessage: 'the request is empty; set one of its fields, such as list_services',
          },
        };
    }
  };
}

const notFound = (asked: string): Answer => ({
  case: 'errorResponse',
  value: { errorCode: Code.NotFound, errorMessage: `this server does not know ${asked}` },
});

/** The full names that a file declares. An enum's values are siblings of the enum, as in C++. */
function symbolsOf(file: DescFile): string[] {
  return [...nestedTypes(file)].flatMap((type) => {
    const inside = (names: readonly { readonly name: string }[], scope = type.typeName): string[] =>
      names.map(({ name }) => `${scope}.${name}`);
    switch (type.kind) {
      case 'message':
        return [type.typeName, ...inside(type.fields), ...inside(type.oneofs)];
      case 'enum':
        return [type.typeName, ...inside(type.values, type.parent?.typeName ?? file.proto.package)];
      case 'service':
        return [type.typeName, ...inside(type.methods)];
      case 'extension':
        return [type.typeName];
    }
  });
}

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
