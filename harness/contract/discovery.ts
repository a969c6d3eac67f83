/** The discovery file of a loopback Device API (specification section 5). */
import Type, { type Static } from 'typebox';
import { shape } from './shape.ts';

/** Content of the file: the port on 127.0.0.1 and the bearer token. */
export const discoveryFile = shape(
  'DiscoveryFile',
  Type.Object({ port: Type.Integer({ minimum: 1, maximum: 65_535 }), token: Type.String({ minLength: 1 }) }),
);
export type DiscoveryFile = Static<typeof discoveryFile.schema>;
