/** The role that a caller of an open method expects to have. With another role, all its other calls would be refused. */
export const expectedRoleHeader = 'x-gatehouse-role';
