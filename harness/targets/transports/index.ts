/** The transports that Muster has. A target that names several addresses is reached by the first of these. */
import { loopback } from './loopback.ts';
import type { Transport, TransportAddress, TransportField } from './transport.ts';
import { unix } from './unix.ts';
import { url } from './url.ts';

/** In the order of preference. */
export const TRANSPORTS = [unix, loopback, url] as const;

type NamesOf<T> = T extends { fields: infer Fields } ? keyof Fields : never;
/** Names of all fields that name a target: `socket`, `discovery`, `url`, `token`. */
export type TransportFieldName = NamesOf<(typeof TRANSPORTS)[number]>;
/** The fields with their values, as options and target files have them. */
export type TransportFields = { [Name in TransportFieldName]?: string };

/** All fields of the transports, by name. */
export const fieldsOf = (transports: readonly Transport[]): Record<TransportFieldName, TransportField> =>
  Object.assign({}, ...transports.map(({ fields }) => fields));

/** Every address that `source` has fields for, in the order of the transports; anything else in it is left out. */
export const addressesIn = (source: object, transports: readonly Transport[]): TransportAddress[] =>
  transports.flatMap((transport) => {
    const { [transport.addressField]: address } = source as Record<string, unknown>;
    return typeof address === 'string' ? [{ transport, address }] : [];
  });
