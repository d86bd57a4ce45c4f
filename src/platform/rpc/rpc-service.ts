import type { DescService } from '@bufbuild/protobuf';
import { createServiceImplSpec } from '@connectrpc/connect';
import type { ServiceImpl, ServiceImplSpec } from '@connectrpc/connect';

/** The roles that may call a method. 'any role' accepts every service token, and 'anyone' needs no token, but refuses an unknown one. */
export type Access<Role extends string = string> = readonly Role[] | 'any role' | 'anyone';

/** A service for any protocol: its implementation, and the roles that may call each method. */
export interface RpcService {
  readonly spec: ServiceImplSpec;
  readonly access: ReadonlyMap<string, Access>;
}

/** Joins an implementation to its contract. A method without an entry in `access` does not compile. */
export function rpcService<S extends DescService, Role extends string = string>(
  service: S,
  implementation: ServiceImpl<S>,
  access: { readonly [Method in keyof S['method']]: Access<Role> },
): RpcService {
  return {
    spec: createServiceImplSpec<S>(service, implementation),
    access: new Map(Object.entries<Access>(access)),
  };
}
