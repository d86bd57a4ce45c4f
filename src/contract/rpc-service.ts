import type { DescService } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { rpcService as joinService } from '../platform/rpc/rpc-service.ts';
import type { Access, RpcService } from '../platform/rpc/rpc-service.ts';
import type { Role } from './roles.ts';

/** Joins an implementation to its contract. A method without an entry in `access`, or with an unknown role, does not compile. */
export const rpcService = <S extends DescService>(
  service: S,
  implementation: ServiceImpl<S>,
  access: { readonly [Method in keyof S['method']]: Access<Role> },
): RpcService => joinService(service, implementation, access);
