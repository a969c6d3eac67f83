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
export const fieldsOf = (transports: readonly Transport[]): Record<string, TransportField> =>
  Object.assign({}, ...transports.map(({ fields }) => fields));

/** The values that `source` has for the fields of the transports; anything else in it is left out. */
export function fieldValues(source: object, transports: readonly Transport[]): Record<string, string> {
  const fields = fieldsOf(transports);
  return Object.fromEntries(
    Object.entries(source).filter((entry): entry is [string, string] => {
      const [name, value] = entry as [string, unknown];
      return Object.hasOwn(fields, name) && typeof value === 'string';
    }),
  );
}

/** Every address that the fields name, in the order of the transports. */
export const addressesIn = (
  fields: Readonly<Record<string, string>>,
  transports: readonly Transport[],
): TransportAddress[] =>
  transports.flatMap((transport) => {
    const address = fields[transport.addressField];
    return address === undefined ? [] : [{ transport, address }];
  });
