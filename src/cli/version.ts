/** The version of this release of Gatehouse, which CHANGELOG.md describes and `gatehouse --version` prints. */
export const gatehouseVersion = '0.1.0';
